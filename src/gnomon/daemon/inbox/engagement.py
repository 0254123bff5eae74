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

from msgspec.structs import replace

from gnomon.clock_step import ClockChange
from gnomon.daemon.inbox.watch import Watch
from gnomon.daemon.store import heartbeat
from gnomon.daemon.store.heartbeat import Heartbeat
from gnomon.daemon.store.heartbeat import Line as GatewayLine
from gnomon.daemon.store.stores import Stores
from gnomon.domain.body import Body
from gnomon.domain.instants import SECOND, Millis, iso
from gnomon.domain.records_referee import (
    ClockStepped,
    GatewayStarted,
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


class EngagementBook:
    """`changed` hears that the ledger has new lines."""

    def __init__(
        self, stores: Stores, config: FitnessConfig, watch: Watch, changed: Callable[[], None]
    ) -> None:
        self.watch = watch
        self._stores = stores
        self._config = config
        self._changed = changed
        self._one = asyncio.Lock()

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

    async def begin(self, boot: str, *, is_paused: bool) -> None:
        """A life begins: its lines, then what the absence before it did to each surface. One
        that begins paused is away again at once.
        """
        async with self._one:
            self.watch.boot = boot
            now, _ = await self._look()
            lines = heartbeat.lines_at_start(self.watch.last, now)
            await self._write([self._dated(line) for line in lines])
            await self._write(engagement.at_start(self.state(), self._wall()))
            if is_paused:
                await self._pause()
            self.watch.begin(now)

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
            stopped = GatewayStopped(cause="orderly", boot_id=self.watch.boot)
            await self._write([self._dated(stopped)])
            self.watch.end()

    async def pause(self) -> None:
        """No calls, no surfaces: nobody can be expected to see what nobody is shown."""
        if self.watch.lives and self.state().availability.is_up:
            async with self.now():
                await self._pause()
            self._changed()

    async def resume(self) -> None:
        """It goes on, and each surface is told how long it was away."""
        away = self.state().availability.away_since
        if away is None or not self.watch.lives:
            return
        async with self.now() as now:
            seconds = max(0, self.state().availability.steady(now) - away) // SECOND
            await self._write([availability.resumed(self.watch.boot, seconds)])
            await self._write(engagement.at_start(self.state(), now))
        self._changed()

    @asynccontextmanager
    async def now(self) -> AsyncGenerator[Millis]:
        """One at a time, with the clocks looked at: for whoever writes to this ledger, or reads
        what must not be before it.
        """
        async with self._one:
            now, change = await self._look()
            if self.watch.lives:
                if self.state().availability.is_up:  # a pause goes on while the machine sleeps
                    slept = availability.slept(change.asleep_seconds, self.watch.boot)
                    await self._write(slept or ())
                self.watch.seen(now)
            yield self._wall()

    # --- inside ------------------------------------------------------------------------------

    async def _look(self) -> tuple[Heartbeat, ClockChange]:
        """The clocks now, and what changed; that they were set is noted. A step whose note stands
        already, since whoever wrote it was cut short, is only taken in.
        """
        last = self.watch.last
        now, change = self.watch.look()
        seconds = change.step_seconds
        if last is None or not seconds:
            return now, change
        before = iso(last.wall)
        if self.state().availability.noted_from != before:
            if seconds < 0:
                self._stores.begin_segments()
            await self._write(
                [ClockStepped(step_seconds=seconds, wall_before=before, wall_after=iso(now.wall))]
            )
            self._stores.journal(f"The clock was set by {seconds} s.")
        self.watch.stepped(seconds)
        return now, change

    def _dated(self, line: GatewayLine) -> GatewayLine:
        """A stop within a pause says for how long it has been away already, for a fold that
        begins within the pause.
        """
        known = self.state().availability
        if known.away_since is None or isinstance(line, GatewayStarted):
            return line
        away = known.steady(self._wall()) - known.away_since
        return replace(line, gap_seconds=max(0, away) // SECOND)

    async def _pause(self) -> None:
        await self._write(engagement.at_stop(self.state(), self._wall()))
        await self._write([availability.paused(self.watch.boot)])

    async def _write(self, lines: Iterable[Body]) -> None:
        for line in lines:
            check_append("gateway", LEDGER, line.kind())
            await self._stores.append(LEDGER, line)

    def _wall(self) -> Millis:
        return self._stores.clock.wall()
