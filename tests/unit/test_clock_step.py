"""What two looks at the clocks tell."""

import pytest

from gnomon.clock_step import ClockChange, between, look
from gnomon.testing.clock import FakeClock

HOUR = 3_600
YEAR = 365 * 24 * HOUR


@pytest.mark.parametrize("step", [HOUR, -HOUR, YEAR, -YEAR, 301, -301])
def test_a_step_of_the_wall_is_seen_to_the_second(step: int) -> None:
    clock = FakeClock()
    before = look(clock)
    clock.advance(60)
    clock.step(step)
    assert between(before, look(clock)) == ClockChange(step, 0.0)


@pytest.mark.parametrize("drift", [0, 1, -1, 300, -300])
def test_a_drift_of_up_to_300_seconds_is_no_step(drift: int) -> None:
    clock = FakeClock()
    before = look(clock)
    clock.advance(60)
    clock.step(drift)
    assert between(before, look(clock)).step_seconds == 0


def test_sleep_is_no_step() -> None:
    clock = FakeClock()
    before = look(clock)
    clock.advance(30)
    clock.sleep(8 * HOUR)
    clock.advance(30)
    change = between(before, look(clock))
    assert (change.step_seconds, change.asleep_seconds) == (0, pytest.approx(8 * HOUR))


def test_a_step_during_sleep_is_told_apart_from_it() -> None:
    clock = FakeClock()
    before = look(clock)
    clock.sleep(HOUR)
    clock.step(-YEAR)
    change = between(before, look(clock))
    assert (change.step_seconds, change.asleep_seconds) == (-YEAR, pytest.approx(HOUR))


def test_after_a_reboot_neither_can_be_told() -> None:
    clock = FakeClock()
    before = look(clock)
    clock.reboot(90)
    assert between(before, look(clock)) == ClockChange(0, 0.0, rebooted=True)
