"""After 30 and 90 days the operator is asked, once each, whether the numbers fit."""

from pathlib import Path
from typing import cast

import pytest

from gnomon.daemon.fitness.retune_notices import FILE, RetuneNotices, next_notice
from gnomon.daemon.inbox.surfaces import Asked, Surfaces
from gnomon.daemon.store.memo import Memo
from gnomon.disk import SYSTEM_DISK
from gnomon.domain.instants import DAY, Millis
from gnomon.domain.ledgers import BODIES
from gnomon.domain.records_referee import Gap
from gnomon.domain.views_referee import RetuneAnswer, Retuned
from gnomon.testing.clock import FakeClock
from gnomon.testing.ledger import MemoryLedger

FIRST = Millis(100 * DAY)


@pytest.mark.parametrize(
    ("first", "days", "told", "asked"),
    [
        (None, 0, (), None),
        (FIRST, 29.9, (), None),
        (FIRST, 30, (), 30),
        (FIRST, 89, (30,), None),
        (FIRST, 90, (30,), 90),
        (FIRST, 400, (), 90),
        (FIRST, 400, (90,), None),
        (FIRST, 31, (90,), None),
    ],
)
def test_each_is_asked_once_and_the_later_one_for_both(
    first: Millis | None, days: float, told: tuple[int, ...], asked: int | None
) -> None:
    assert next_notice(first, Millis(round(FIRST + days * DAY)), told) == asked


class Brought:
    """Takes what is brought."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    async def emit(self, asked: Asked) -> str:
        self.asked.append(asked)
        return "sf-1"


async def answers() -> Retuned:
    answer = RetuneAnswer(question="Has it signal?", answer="yes", figures={}, advice="Go on.")
    return Retuned(days=28, answers=(answer,))


def notices(state: Path, clock: FakeClock, ledger: MemoryLedger, brought: Brought) -> RetuneNotices:
    return RetuneNotices(
        memo=Memo(state, SYSTEM_DISK, lambda _: None),
        surfaces=cast("Surfaces", brought),
        fitness=ledger,
        answers=answers,
        may_speak=lambda: True,
        scaffold_version=lambda: "000001-aaaaaaaaaaaa",
        now=clock.wall,
    )


async def test_it_brings_the_answers_once_also_over_a_restart(tmp_path: Path) -> None:
    clock, brought = FakeClock(), Brought()
    ledger = MemoryLedger("fitness-ledger", BODIES["fitness-ledger"], clock)
    made = notices(tmp_path, clock, ledger, brought)
    assert not made.is_due(), "no line yet"
    gap = Gap(window_start="a", window_end="b", window_seconds=1, config_sha256="0" * 64, inputs={})
    await ledger.append(gap)
    await made.turn()
    assert brought.asked == []
    clock.advance(30 * DAY / 1000)
    assert made.is_due()
    await made.turn()
    assert not made.is_due()
    [asked] = brought.asked
    assert asked.origin == "rule"
    assert asked.payload.title == "30 days of numbers: do they match what you see?"
    assert "- Has it signal? Yes. Go on." in asked.payload.body
    assert not notices(tmp_path, clock, ledger, brought).is_due()
    (tmp_path / FILE).write_text("{")
    assert notices(tmp_path, clock, ledger, brought).is_due(), "a damaged memory asks again"
