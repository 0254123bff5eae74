"""The one beat: a pure schedule, and the loop that sleeps until the next thing is due.

Nothing else wakes an idle Gnomon. A tick shorter than the beat shortens the beat.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from gnomon.domain.instants import HOUR

BEAT_SECONDS = 60.0
ANCHOR_SECONDS = HOUR / 1000

Due = Literal["heartbeat", "anchor", "tick"]


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """When each thing is next due, in monotonic seconds."""

    heartbeat_at: float
    anchor_at: float
    tick_at: float


def first(now: float, tick_seconds: float) -> Schedule:
    """A life's first schedule: the first tick comes one period after the start."""
    return Schedule(
        heartbeat_at=now + BEAT_SECONDS,
        anchor_at=now + ANCHOR_SECONDS,
        tick_at=now + tick_seconds,
    )


def due(schedule: Schedule, now: float, tick_seconds: float) -> tuple[list[Due], Schedule]:
    """What is due, and the schedule after it. A late tick is not made up: the next one is
    a whole period away, on the grid that the start laid.
    """
    things: list[Due] = []
    heartbeat_at, anchor_at, tick_at = (
        schedule.heartbeat_at,
        schedule.anchor_at,
        schedule.tick_at,
    )
    if now >= heartbeat_at:
        things.append("heartbeat")
        heartbeat_at = _next(heartbeat_at, now, BEAT_SECONDS)
    if now >= anchor_at:
        things.append("anchor")
        anchor_at = _next(anchor_at, now, ANCHOR_SECONDS)
    if now >= tick_at:
        things.append("tick")
        tick_at = _next(tick_at, now, tick_seconds)
    return things, Schedule(heartbeat_at=heartbeat_at, anchor_at=anchor_at, tick_at=tick_at)


def _next(at: float, now: float, period: float) -> float:
    following = at + period * (int((now - at) / period) + 1)
    return following if following > now else following + period  # rounding may fall short


async def run(
    monotonic: Callable[[], float],
    tick_seconds: Callable[[], float],
    act: Callable[[list[Due]], Awaitable[None]],
    scheduled: Callable[[Schedule], None],
) -> None:
    """Beat until cancelled. `act` must not block for long: a tick runs as its own task."""
    schedule = first(monotonic(), tick_seconds())
    while True:
        scheduled(schedule)
        wake_at = min(schedule.heartbeat_at, schedule.tick_at)
        await asyncio.sleep(max(0.0, wake_at - monotonic()))
        # A timer may fire within its clock's resolution before its time: then it is that time.
        things, schedule = due(schedule, max(monotonic(), wake_at), tick_seconds())
        if things:
            await act(things)
