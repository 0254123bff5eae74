"""Killed at every disk call from the judge's question to the end of the change: the verdict
stands once, and what it says is done.
"""

import contextlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from gnomon.disk import SYSTEM_DISK, Disk
from gnomon.ledger.verify import verify
from gnomon.testing.clock import FakeClock
from gnomon.testing.crash import POINTS_WHEN, CrashDisk, Kill, Killed
from tests.change_kit import CANDIDATE, PARENT, a_change
from tests.court_kit import DEV, Court, a_court


@dataclass(frozen=True)
class Ending:
    """What the two hours under the candidate come to, and what is found in the end."""

    engagement: float
    by_hand: str | None
    outcome: str
    status: str
    text: str


ENDINGS = {
    "kept": Ending(0.7, None, "kept", "kept", CANDIDATE),
    "rolled back": Ending(0.3, None, "rolled_back", "reverted", PARENT),
    "voided": Ending(0.7, "By hand.", "voided", "voided", "By hand."),
}


async def until_the_verdict(root: Path, ending: Ending) -> FakeClock:
    """A home in which a change waits for its verdict, and the clock there."""
    court = a_court(root)
    await court.hours(2, 0.4, 0.5)
    await court.lab.changes.propose(a_change())
    await court.run()
    await court.hours(2, 0.4, ending.engagement)
    await court.close()
    if ending.by_hand is not None:
        court.lab.prompt.write_text(ending.by_hand)
    return court.clock


async def a_life(court: Court) -> None:
    """What a gateway does at its first beats: it finishes what was cut off, and judges."""
    await court.lab.changes.look()
    if court.desk.is_due():
        await court.run()


def opened(root: Path, clock: FakeClock, disk: Disk = SYSTEM_DISK) -> Court:
    return a_court(root, DEV, disk, FakeClock(clock.wall()))


async def points(root: Path, ending: Ending, clock: FakeClock) -> tuple[int, Sequence[str]]:
    """Where the life begins, and all of its disk calls."""
    disk = CrashDisk()
    court = opened(root, clock, disk)
    begun = len(disk.points)
    await a_life(court)
    called = tuple(disk.points)
    await court.close()
    assert court.outcomes()[-1] == ending.outcome
    return begun, called


@pytest.mark.parametrize("name", list(ENDINGS))
async def test_whenever_it_is_killed_the_verdict_stands_once(name: str, tmp_path: Path) -> None:
    ending = ENDINGS[name]
    ready = tmp_path / "ready"
    clock = await until_the_verdict(ready, ending)
    shutil.copytree(ready, tmp_path / "clean")
    begun, called = await points(tmp_path / "clean", ending, clock)
    assert len(called) - begun >= 4
    for at in range(begun, len(called)):
        for when in POINTS_WHEN:
            root = tmp_path / f"{at}-{when}"
            shutil.copytree(ready, root)
            disk = CrashDisk(Kill(at, when))
            dying = opened(root, clock, disk)
            with contextlib.suppress(Killed):
                await a_life(dying)
            where = f"{at} {when} {called[at]}"
            assert disk.dead, where
            disk.abandon()
            await found_in_order(opened(root, clock), ending, where)


async def found_in_order(after: Court, ending: Ending, where: str) -> None:
    assert after.lab.text() in {PARENT, CANDIDATE, ending.by_hand}, where
    await a_life(after)
    assert (after.status, after.lab.text()) == (ending.status, ending.text), where
    assert after.outcomes() == ["pending", ending.outcome], where
    await a_life(after)
    assert not after.desk.is_due(), where
    assert len(after.judgments()) == 2, where
    await after.close()
    assert verify(after.lab.stores.home).ok, where


async def test_a_kill_while_the_job_thinks_leaves_no_word_of_it(tmp_path: Path) -> None:
    """Between computing and appending there is no disk call: the job's answer is simply lost."""
    ending = ENDINGS["kept"]
    clock = await until_the_verdict(tmp_path / "home", ending)
    dying = opened(tmp_path / "home", clock)

    async def killed() -> None:
        raise Killed

    dying.meanwhile = killed
    with pytest.raises(Killed):
        await a_life(dying)
    assert dying.outcomes() == ["pending"]
    await dying.close()
    await found_in_order(opened(tmp_path / "home", clock), ending, "while it thinks")
