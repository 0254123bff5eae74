"""Killed at every disk call of a change's life: two texts are possible, and one end."""

import contextlib
from pathlib import Path

import pytest

from gnomon.domain.records_change import VerdictOutcome
from gnomon.ledger.verify import verify
from gnomon.testing.crash import POINTS_WHEN, CrashDisk, Kill, Killed, Lost
from tests.change_kit import CANDIDATE, PARENT, Laboratory, a_change, a_laboratory

LOSSES: dict[VerdictOutcome, tuple[Lost, ...]] = {
    "kept": ("nothing",),
    "rolled_back": ("nothing", "unsynced"),
    "voided": ("nothing",),
}
"""A power cut beside the kill for the one life that writes most."""
END: dict[VerdictOutcome, tuple[str, str]] = {
    "kept": ("kept", CANDIDATE),
    "rolled_back": ("reverted", PARENT),
    "voided": ("voided", PARENT),
}


async def lived(lab: Laboratory, outcome: VerdictOutcome) -> None:
    """From wherever it stands to its end."""
    await lab.changes.look()
    life = lab.changes.state().of("change-0001")
    if life is None:
        await lab.changes.propose(a_change())
        life = lab.changes.known("change-0001")
    if life.judgment is None:
        await lab.judged(outcome)


@pytest.mark.parametrize("outcome", list(END))
async def test_at_every_kill_there_are_two_texts_and_one_end(
    outcome: VerdictOutcome, tmp_path: Path
) -> None:
    begun, ended = await count(tmp_path / "clean", outcome)
    kills = [
        Kill(at, when, lost)
        for at in range(begun, ended)
        for when in POINTS_WHEN
        for lost in LOSSES[outcome]
    ]
    assert len(kills) >= 75 * len(LOSSES[outcome]), "with three verdicts, over 300"
    for kill in kills:
        await killed_and_found(tmp_path / f"{kill.at}-{kill.when}-{kill.lost}", kill, outcome)


async def count(root: Path, outcome: VerdictOutcome) -> tuple[int, int]:
    """The disk calls of the life itself, between opening the home and closing it."""
    await a_laboratory(root).close()
    disk = CrashDisk()
    lab = a_laboratory(root, disk)
    begun = len(disk.points)
    await lived(lab, outcome)
    ended = len(disk.points)
    await lab.close()
    return begun, ended


async def killed_and_found(root: Path, kill: Kill, outcome: VerdictOutcome) -> None:
    await a_laboratory(root).close()  # a home that is there
    where = f"{kill.at} {kill.when} {kill.lost}"
    disk = CrashDisk(kill)
    dying = a_laboratory(root, disk)
    with contextlib.suppress(Killed):
        await lived(dying, outcome)
    assert disk.dead, where
    disk.abandon()
    after = a_laboratory(root)
    assert after.text() in (PARENT, CANDIDATE), where
    await lived(after, outcome)
    status, text = END[outcome]
    life = after.changes.known("change-0001")
    assert (life.status, after.text()) == (status, text), where
    said = [(told.ledger, told.status) for told in life.told]
    assert said.count(("judgment-ledger", outcome)) == 1, where
    assert said.count(("refinement-ledger", status)) == 1, where
    assert len(said) == len(set(said)) == 5, where
    await after.close()
    assert verify(after.stores.home).ok, where
