"""The heartbeat: one small file, written in place each beat, that dates a crash.

No sync: after a power cut an older beat stands, which dates the stop a little early.
"""

import os
from pathlib import Path
from typing import Literal

import msgspec

from gnomon import clock_step
from gnomon.clock_step import STEP_SECONDS, ClockReading
from gnomon.domain.instants import SECOND, Millis
from gnomon.domain.ports import Clock
from gnomon.domain.records_referee import GatewayStarted, GatewayStopped

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
WIDTH = 256
"""Bytes of the file: padded, so that writing in place never leaves an older tail."""


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True):
    """What the clocks said. `ended` is true only after an orderly stop."""

    wall: Millis
    boottime: float
    monotonic: float
    boot_id: str
    ended: bool = False


def boot_id() -> str:
    """The kernel's id of this boot; empty where it has none."""
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def now(clock: Clock, boot: str, *, ended: bool = False) -> Heartbeat:
    return Heartbeat(
        wall=clock.wall(),
        boottime=clock.boottime(),
        monotonic=clock.monotonic(),
        boot_id=boot,
        ended=ended,
    )


def write(path: Path, beat: Heartbeat) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.pwrite(descriptor, msgspec.json.encode(beat).ljust(WIDTH) + b"\n", 0)
    finally:
        os.close(descriptor)


def read(path: Path) -> Heartbeat | None:
    """The last beat; None on a first start or when the file says nothing usable."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Heartbeat)
    except (OSError, msgspec.DecodeError):
        return None


Line = GatewayStarted | GatewayStopped


def lines_at_start(last: Heartbeat | None, this: Heartbeat) -> list[Line]:
    """Pure. What the engagement-ledger must hold at a start: the stop of a life that
    crashed, dated by its last beat, then this life's start with the gap between them.
    """
    if last is None:
        return [GatewayStarted(boot_id=this.boot_id)]
    gap = _gap_seconds(last, this)
    cause: Literal["orderly", "crash"] = "orderly" if last.ended else "crash"
    started = GatewayStarted(
        boot_id=this.boot_id,
        gap_seconds=gap,
        asleep_seconds=asleep_seconds(last, this),
        cause=cause,
    )
    if last.ended:
        return [started]
    return [GatewayStopped(cause="crash", boot_id=last.boot_id, gap_seconds=gap), started]


def step_seconds(last: Heartbeat, this: Heartbeat) -> int:
    """Pure. How far the wall was set between two beats (positive: forward), as far as can be told.

    Of two boots nothing can but that the wall is behind: then it was set back at least so far.
    """
    if _is_one_boot(last, this):
        return clock_step.between(reading(last), reading(this)).step_seconds
    behind = (this.wall - last.wall) // SECOND
    return behind if behind < -STEP_SECONDS else 0


def asleep_seconds(last: Heartbeat, this: Heartbeat) -> int | None:
    """Seconds that the machine slept between two beats of one boot; None across boots."""
    if not _is_one_boot(last, this):
        return None
    return max(0, round(clock_step.between(reading(last), reading(this)).asleep_seconds))


def _gap_seconds(last: Heartbeat, this: Heartbeat) -> int:
    """The time between two beats: by the boot clock, which nobody sets, where it can tell."""
    if _is_one_boot(last, this):
        return max(0, int(this.boottime - last.boottime))
    return max(0, this.wall - last.wall) // SECOND


def _is_one_boot(last: Heartbeat, this: Heartbeat) -> bool:
    return bool(this.boot_id) and last.boot_id == this.boot_id


def reading(beat: Heartbeat) -> ClockReading:
    """Its three clocks. Pure."""
    return ClockReading(beat.wall, beat.boottime, beat.monotonic)
