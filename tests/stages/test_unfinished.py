"""The mark of what may be unfinished, when the clock is set."""

from pathlib import Path

from gnomon.daemon.store.unfinished import Unfinished
from gnomon.disk import SYSTEM_DISK
from gnomon.testing.clock import START, FakeClock

YEAR = 365 * 86_400


def test_the_mark_goes_back_with_the_clock_that_dates_the_files(tmp_path: Path) -> None:
    clock = FakeClock()
    unfinished = Unfinished(tmp_path, clock, SYSTEM_DISK)
    unfinished.mark()
    clock.advance(60)
    unfinished.mark()
    assert unfinished.since == START
    clock.step(-YEAR)
    unfinished.mark()
    assert unfinished.since == START + 60_000 - YEAR * 1_000
    assert Unfinished(tmp_path, clock, SYSTEM_DISK).since == unfinished.since


def test_a_clock_set_forward_leaves_the_mark_where_the_first_run_began(tmp_path: Path) -> None:
    clock = FakeClock()
    unfinished = Unfinished(tmp_path, clock, SYSTEM_DISK)
    unfinished.mark()
    clock.step(YEAR)
    unfinished.mark()
    assert unfinished.since == START
