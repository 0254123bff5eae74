"""What two looks at the clocks say about the time between them. Pure."""

from dataclasses import dataclass

from gnomon.domain.instants import SECOND, Millis
from gnomon.domain.ports import Clock

STEP_SECONDS = 300
"""Wall and boot time that disagree by more have been set apart (page 2)."""


@dataclass(frozen=True)
class ClockReading:
    """One look: wall in milliseconds of UTC; boot time and monotonic in seconds."""

    wall: Millis
    boottime: float
    monotonic: float


@dataclass(frozen=True)
class ClockChange:
    """What happened between two looks.

    `step_seconds` is how far the wall was set (positive: forward), 0 when at most
    STEP_SECONDS. `asleep_seconds` is how long the machine slept. `rebooted` means that the
    boot clock began anew, and then neither can be told.
    """

    step_seconds: int
    asleep_seconds: float
    rebooted: bool = False


def look(clock: Clock) -> ClockReading:
    """Ask the three clocks once."""
    return ClockReading(clock.wall(), clock.boottime(), clock.monotonic())


def between(before: ClockReading, now: ClockReading) -> ClockChange:
    """Compare two looks of one boot, the later one second."""
    booted = now.boottime - before.boottime
    awake = now.monotonic - before.monotonic
    if booted < 0 or awake < 0:
        return ClockChange(0, 0.0, rebooted=True)
    step = (now.wall - before.wall) / SECOND - booted
    asleep = max(booted - awake, 0.0)
    return ClockChange(round(step) if abs(step) > STEP_SECONDS else 0, asleep)
