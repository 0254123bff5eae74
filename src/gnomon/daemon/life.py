"""A gateway's life: what it writes when it starts, does at each beat, and writes when it ends."""

import asyncio
from dataclasses import dataclass, field

from gnomon import clock_step
from gnomon.clock_step import ClockReading
from gnomon.daemon import beat, heartbeat
from gnomon.daemon.beat import Due, Schedule
from gnomon.daemon.core import Core
from gnomon.daemon.cycle import Cycle
from gnomon.daemon.heartbeat import Heartbeat
from gnomon.daemon.recovery import recover
from gnomon.domain.errors import GnomonError
from gnomon.domain.instants import SECOND, Millis, iso
from gnomon.domain.records_referee import ClockStepped, GatewayStopped


@dataclass
class Life:
    """One gateway's life over an open core. `begin`, then `end`; the beat runs in between."""

    core: Core
    boot: str = field(default_factory=heartbeat.boot_id)
    schedule: Schedule | None = None
    last_look: ClockReading = field(init=False)
    _beat: "asyncio.Task[None] | None" = None

    def __post_init__(self) -> None:
        self.cycle = Cycle(self.core.world)
        self.last_look = clock_step.look(self.core.platform.clock)

    @property
    def tick_seconds(self) -> float:
        return self.core.config.kernel.tick_ms / 1000

    def next_tick_at(self) -> Millis | None:
        """When the next tick comes, by the wall."""
        if self.schedule is None:
            return None
        clock = self.core.platform.clock
        return Millis(clock.wall() + round((self.schedule.tick_at - clock.monotonic()) * SECOND))

    async def begin(self) -> None:
        """Say that a life began, finish what a crash left, start the resident and the beat."""
        core, clock = self.core, self.core.platform.clock
        core.seen("up")
        last = heartbeat.read(core.home.heartbeat)
        this = heartbeat.now(clock, self.boot)
        await self._note_step_while_away(last, this)
        for line in heartbeat.lines_at_start(last, this):
            await core.stores.append("engagement-ledger", line)
        if last is None or not last.ended:
            await recover(core.stores, core.turns, last.wall if last else None)
        heartbeat.write(core.home.heartbeat, this)
        await self._wake_resident()
        self._beat = asyncio.create_task(
            beat.run(clock.monotonic, lambda: self.tick_seconds, self.act, self._scheduled),
            name="beat",
        )

    async def end(self) -> None:
        """Stop in order: no more beats, the resident says goodbye, the stop is on the ledger."""
        core = self.core
        if self._beat is not None:
            self._beat.cancel()
            await asyncio.gather(self._beat, return_exceptions=True)
        await core.residency.stop("the gateway ends")
        await core.background.drain()
        await core.stores.append(
            "engagement-ledger", GatewayStopped(cause="orderly", boot_id=self.boot)
        )
        clock = core.platform.clock
        heartbeat.write(core.home.heartbeat, heartbeat.now(clock, self.boot, ended=True))

    async def act(self, things: list[Due]) -> None:
        """One beat. A tick runs beside it, so that a slow model delays no heartbeat."""
        core, clock = self.core, self.core.platform.clock
        try:
            await self._look_at_clocks()
            if "heartbeat" in things:
                heartbeat.write(core.home.heartbeat, heartbeat.now(clock, self.boot))
                await self._tidy()
            if "anchor" in things:
                await core.stores.anchor()
                core.tallies.save()
        except (GnomonError, OSError) as error:
            core.stores.journal(f"A beat failed: {error}")
        if "tick" in things:
            core.background.run(self.cycle.tick(clock.wall()))

    async def _tidy(self) -> None:
        """End what has been idle, and try again what a failing disk closed."""
        core = self.core
        await core.broker.end_if_idle()
        await core.tools.end_idle()
        await core.history.end_idle()
        await core.stores.reopen_closed()

    async def _look_at_clocks(self) -> None:
        now = clock_step.look(self.core.platform.clock)
        change = clock_step.between(self.last_look, now)
        before, self.last_look = self.last_look, now
        if change.step_seconds:
            await self._note_step(change.step_seconds, before.wall, now.wall)

    async def _note_step_while_away(self, last: Heartbeat | None, this: Heartbeat) -> None:
        """The clock may also have been set while nothing ran; only one boot can tell."""
        if last is None or last.boot_id != this.boot_id or not this.boot_id:
            return
        change = clock_step.between(
            ClockReading(last.wall, last.boottime, last.monotonic),
            ClockReading(this.wall, this.boottime, this.monotonic),
        )
        if change.step_seconds:
            await self._note_step(change.step_seconds, last.wall, this.wall)

    async def _note_step(self, seconds: int, before: Millis, after: Millis) -> None:
        core = self.core
        if seconds < 0:
            await core.stores.begin_segments()
        await core.stores.append(
            "engagement-ledger",
            ClockStepped(step_seconds=seconds, wall_before=iso(before), wall_after=iso(after)),
        )
        core.stores.journal(f"The clock was set by {seconds} s.")

    async def _wake_resident(self) -> None:
        try:
            await self.core.residency.child()
        except (GnomonError, OSError) as error:
            self.core.residency.last_failure = str(error)
            self.core.stores.journal(f"The resident did not start: {error}")

    def _scheduled(self, schedule: Schedule) -> None:
        self.schedule = schedule
