"""What the operator did with what was brought, and when Gnomon was there at all: the ledger's
one writer for both. The rules are `gnomon.referee`'s; here are the order, the clocks, the disk.
What is brought, `Surfaces` writes, within `now`.

Every act first sees to it that a sleep or a step of the clock up to now is on the ledger, and
one happens at a time: of two clicks at once the second finds what the first left.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import cached_property

from gnomon import clock_step
from gnomon.clock_step import ClockChange, ClockReading
from gnomon.daemon.store.stores import Stores
from gnomon.domain.body import Body
from gnomon.domain.instants import SECOND, Millis, iso
from gnomon.domain.ports import Clock
from gnomon.domain.records_referee import (
    ClockStepped,
    GatewayStopped,
    OutcomeKind,
    OutcomeSource,
    SurfaceEmitted,
)
from gnomon.referee import availability, engagement
from gnomon.referee.config import FitnessConfig
from gnomon.referee.keeping import open_engagement
from gnomon.trust.roles import check_append

LEDGER = "engagement-ledger"


class Watch:
    """The clocks, looked at by one that lives; what two looks disagree about is written down."""

    def __init__(self, clock: Clock, boot: str) -> None:
        self.boot = boot
        self._clock = clock
        self._last = clock_step.look(clock)

    def look(self) -> tuple[ClockChange, ClockReading, ClockReading]:
        """What changed since the last look that was `noted`."""
        before, now = self._last, clock_step.look(self._clock)
        return clock_step.between(before, now), before, now

    def noted(self, reading: ClockReading) -> None:
        """What it showed is on the ledger."""
        self._last = reading


class EngagementBook:
    """`watch` is there while a gateway lives; a verb of the CLI without one has none, and then
    the gateway is away, which the ledger says.
    """

    def __init__(self, stores: Stores, config: FitnessConfig, changed: Callable[[], None]) -> None:
        self._stores = stores
        self._config = config
        self._changed = changed
        self._one = asyncio.Lock()
        self.watch: Watch | None = None

    @cached_property
    def _state(self) -> engagement.Engagement:
        """Read when it is first asked for: most verbs never do."""
        return open_engagement(self._stores.files[LEDGER], self._config)

    def state(self) -> engagement.Engagement:
        """The fold as of the ledger's head. O(new lines)."""
        state, ledger = self._state, self._stores.files[LEDGER]
        if state.seq < ledger.head.seq:
            for line in ledger.read(after_seq=state.seq):
                state.take(line)
        return state

    def emitted(self, surface: engagement.Surface) -> SurfaceEmitted:
        """The line that a surface began with. O(log n)."""
        line = next(self._stores.files[LEDGER].read(after_seq=surface.seq - 1))
        assert isinstance(line.body, SurfaceEmitted)
        return line.body

    # --- the operator ------------------------------------------------------------------------

    async def record(self, surface_id: str, outcome: OutcomeKind, source: OutcomeSource) -> bool:
        """Write what the operator did; false when something as strong stands already.

        Raises UsageError for a surface that is unknown or past its time, TrustError for what
        nobody can say, LedgerError.
        """
        async with self.now() as now:
            line = engagement.decide_outcome(self.state(), surface_id, outcome, source, now)
            if line is None:
                return False
            check_append("operator", LEDGER, line.kind())
            await self._write([line])
        self._changed()
        return True

    # --- the gateway -------------------------------------------------------------------------

    async def begin(self, watch: Watch, lines: Iterable[Body], *, is_paused: bool) -> None:
        """A life begins: its lines, then what the absence before it did to each surface. One
        that begins paused is away again at once.
        """
        self.watch = watch
        async with self._one:
            await self._write(lines)
            await self._write(engagement.at_start(self.state(), self._wall()))
            if is_paused:
                await self._pause()

    async def beat(self) -> None:
        """What the clocks say, and the timeouts that are due. O(open surfaces)."""
        async with self.now() as now:
            due = engagement.sweep(self.state(), now)
            await self._write(due)
        if due:
            self._changed()

    async def end(self) -> None:
        """A life ends in order: first what that does to each surface, then the stop."""
        async with self.now() as now:
            await self._write(engagement.at_stop(self.state(), now))
            boot = self.watch.boot if self.watch else ""
            await self._write([GatewayStopped(cause="orderly", boot_id=boot)])
        self.watch = None

    async def pause(self) -> None:
        """No calls, no surfaces: nobody can be expected to see what nobody is shown."""
        if self.watch is not None and self.state().availability.is_up:
            async with self.now():
                await self._pause()
            self._changed()

    async def resume(self) -> None:
        """It goes on, and each surface is told how long it was away."""
        watch, away = self.watch, self.state().availability.away_since
        if watch is None or away is None:
            return
        async with self.now() as now:
            seconds = max(0, self.state().availability.steady(now) - away) // SECOND
            await self._write([availability.resumed(watch.boot, seconds)])
            await self._write(engagement.at_start(self.state(), now))
        self._changed()

    async def note_step(self, seconds: int, before: Millis, after: Millis) -> None:
        """The clock was set. Raises LedgerError."""
        if seconds < 0:
            self._stores.begin_segments()
        await self._write(
            [ClockStepped(step_seconds=seconds, wall_before=iso(before), wall_after=iso(after))]
        )
        self._stores.journal(f"The clock was set by {seconds} s.")

    @asynccontextmanager
    async def now(self) -> AsyncGenerator[Millis]:
        """One at a time, with the clocks looked at: for whoever writes to this ledger."""
        async with self._one:
            if self.watch is not None:
                change, before, now = self.watch.look()
                if change.step_seconds:
                    await self.note_step(change.step_seconds, before.wall, now.wall)
                await self._write(availability.slept(change.asleep_seconds, self.watch.boot) or ())
                self.watch.noted(now)
            yield self._wall()

    # --- inside ------------------------------------------------------------------------------

    async def _pause(self) -> None:
        assert self.watch is not None
        await self._write(engagement.at_stop(self.state(), self._wall()))
        await self._write([availability.paused(self.watch.boot)])

    async def _write(self, lines: Iterable[Body]) -> None:
        for line in lines:
            check_append("gateway", LEDGER, line.kind())
            await self._stores.append(LEDGER, line)

    def _wall(self) -> Millis:
        return self._stores.clock.wall()
