"""A gateway's life: what it writes when it starts, does at each beat, and writes when it ends."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from gnomon import __version__
from gnomon.daemon import beat
from gnomon.daemon.beat import Due, Schedule
from gnomon.daemon.core import Core
from gnomon.daemon.cycle import Cycle, Improvement
from gnomon.daemon.store import heartbeat
from gnomon.daemon.store.heartbeat import Heartbeat
from gnomon.domain.errors import GnomonError, UsageError
from gnomon.domain.instants import SECOND, Millis, in_words, iso


@dataclass
class Life:
    """One gateway's life over an open core. `begin`, then `end`; the beat runs in between."""

    core: Core
    boot: str = field(default_factory=heartbeat.boot_id)
    schedule: Schedule | None = None
    _beat: "asyncio.Task[None] | None" = None

    def __post_init__(self) -> None:
        core = self.core
        self.cycle = Cycle(core.world)
        self.improvement = Improvement(
            changes=core.carry_on, measure=core.desk, judge=core.judge, refine=core.refine
        )

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
        """Say that a life began, start the resident and the beat."""
        core, clock = self.core, self.core.platform.clock
        core.seen("up")
        last = heartbeat.read(core.home.heartbeat)
        await core.book.begin(self.boot, is_paused=core.memo.facts_paused(clock.wall()))
        core.stores.journal(_began(last, core.broker.in_force.name, core.paused_until()))
        await self._wake_resident()
        self._keep_watching()
        self._beat = asyncio.create_task(
            beat.run(clock.monotonic, lambda: self.tick_seconds, self.act, self._scheduled),
            name="beat",
        )

    async def end(self) -> None:
        """Stop in order: no more beats, the resident says goodbye, the stop is on the ledger."""
        core = self.core
        core.watching.stop()
        if self._beat is not None:
            self._beat.cancel()
            await asyncio.gather(self._beat, return_exceptions=True)
        await core.residency.stop("the gateway ends")
        await core.refine.stop()
        await core.background.drain()
        await core.book.end()
        core.stores.journal("Stopped in order.")

    async def act(self, things: list[Due]) -> None:
        """One beat. A tick runs beside it, so that a slow model delays no heartbeat."""
        core = self.core
        await self._try(core.book.beat)  # first: a step of the clock is noted before all else
        if "heartbeat" in things:
            await self._try(self._heartbeat)
            await self._try(self._tidy)
            await self._try(self._bring_what_waited)
            await self._try(core.approving.beat)
            core.background.run(core.residency.look())
        await self._try(self._end_idle)
        await self._try(self.improvement.carry_on)
        await self._try(self._end_pause)
        if "anchor" in things:
            await self._try(self._anchor)
        if "heartbeat" in things and core.retune_notices.is_due():
            await self._try(core.retune_notices.turn)
        if "heartbeat" in things and core.findings.is_due():
            core.background.run(core.findings.look())
        if "heartbeat" in things and self.improvement.is_to_be_judged():
            core.background.run(self.improvement.judge_anew())
        if "heartbeat" in things and self.improvement.is_to_be_refined():
            core.background.run(self.improvement.propose())
        if "tick" in things:
            core.background.run(self.cycle.tick(core.platform.clock.wall()))

    async def _try(self, work: Callable[[], Awaitable[None]]) -> None:
        """What fails at a beat keeps nothing else from being done."""
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - a beat that ended would be missed by nobody
            told = str(error) if isinstance(error, GnomonError | OSError) else repr(error)
            self.core.stores.journal(f"A beat failed: {told}")

    async def _heartbeat(self) -> None:
        self.core.book.watch.beat()

    async def _anchor(self) -> None:
        await self.core.stores.anchor()
        self.core.tallies.save()

    def _keep_watching(self) -> None:
        """As the operator once said."""
        if self.core.config.observe.watch:
            try:
                self.core.watching.start()
            except UsageError as error:
                self.core.stores.journal(str(error))

    async def _bring_what_waited(self) -> None:
        """A new day has room for what the day before had not."""
        core = self.core
        if core.surfaces.waiting and core.may_speak():
            await core.surfaces.release(core.scaffold_version())

    async def _end_pause(self) -> None:
        """A pause that has run out ends by itself."""
        memo = self.core.memo
        if memo.facts.paused and not memo.facts_paused(self.core.platform.clock.wall()):
            await self.core.resume()

    async def _end_idle(self) -> None:
        """End the processes that nobody has used for a while."""
        core = self.core
        await core.broker.end_if_idle()
        await core.tools.end_idle()
        await core.history.end_idle()

    async def _tidy(self) -> None:
        """Try again what a failing disk closed, and read what was watched."""
        core = self.core
        core.stores.log.retry()
        if core.watching.is_due():
            core.background.run(core.watching.read_changed())
        await core.catch_up()

    async def _wake_resident(self) -> None:
        try:
            await self.core.residency.child()
        except (GnomonError, OSError) as error:
            self.core.residency.last_failure = str(error)
            self.core.stores.journal(f"The resident did not start: {error}")

    def _scheduled(self, schedule: Schedule) -> None:
        self.schedule = schedule


def _began(last: Heartbeat | None, model: str, paused_until: str | None) -> str:
    """The journal's sentence for a start."""
    how = "" if last is None or last.ended else f" The life before crashed after {iso(last.wall)}."
    rests = "" if paused_until is None else f" It is paused until {in_words(paused_until)}."
    return f"Started, version {__version__}, with the model {model}.{how}{rests}"
