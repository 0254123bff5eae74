"""The gateway's side of the refiner: what it is given, what is done with its word.

The job proposes, in its jail (`gnomon.refiner.worker_main`); the gateway checks, puts on record
and applies. When it runs is `refine_time`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from gnomon.agent.prompts import resolve
from gnomon.change.diff import summary
from gnomon.change.life import ChangeLife
from gnomon.daemon.change.jobs import JobRow
from gnomon.daemon.change.refine_time import PURPOSE, RefineParts, RefineTime
from gnomon.daemon.change.refiner_model import RefinerModel
from gnomon.daemon.change.refining_run import RefineRun, RunWorld
from gnomon.domain.errors import GnomonError, PipeError, UsageError
from gnomon.domain.instants import DAY, Millis, iso
from gnomon.domain.ledgers import LedgerName
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.domain.plain import fields, read
from gnomon.domain.plain_text import clean, one_line
from gnomon.domain.records_change import Delta
from gnomon.domain.views_change import JobDone, Readiness
from gnomon.gateway.door import operators_door
from gnomon.gateway.operation import Nothing, Operation, Progress
from gnomon.refiner.check import HeldAgainst
from gnomon.refiner.fitness_view import DAYS, Past, fitness_view
from gnomon.refiner.likeness import Failed
from gnomon.refiner.protocol import Ran, RefinerArgument, Work
from gnomon.refiner.schedule import SENTENCES
from gnomon.refiner.trajectory import MOST_LINES, trajectory
from gnomon.scaffold.defaults import packaged_defaults
from gnomon.trust.jail import Grants

REFINER_MODULE = "gnomon.refiner.worker_main"
RUN_SECONDS = 900.0
"""Of one run, whatever the model does."""
GRACE_SECONDS = 2.0
RUNS = "It runs."
WHY_CHARACTERS = 300
"""Of what the refiner said, in the journal."""
RESTS_ON: tuple[LedgerName, ...] = ("fitness-ledger", "decision-ledger", "judgment-ledger")
"""Whose ends stand on a proposal as its evidence."""
LATELY = 200
"""Failed proposals that an edit is held against, the newest."""


class RefineDesk:
    """One agent's."""

    def __init__(self, parts: RefineParts) -> None:
        self._parts = parts
        self._time = RefineTime(parts)
        self._running: asyncio.Task[JobDone] | None = None

    # --- a run -----------------------------------------------------------------------------------

    def is_due(self) -> bool:
        """For the beat."""
        return self.not_due(self._parts.platform.clock.wall()) is None

    def not_due(self, now: Millis) -> str | None:
        return RUNS if self._running is not None else self._time.not_due(now)

    async def turn(self) -> None:
        """A run at a beat. What goes wrong is said, and counted."""
        if self._running is not None:
            return
        try:
            await self._started(self._parts.platform.clock.wall())
        except (GnomonError, OSError) as error:
            self._parts.stores.journal(f"The refiner's run broke off: {error}")

    async def run(self, now: Millis) -> JobDone:
        """A run by hand: whether the operator is near and whether its time has come are theirs
        to say. Raises what the start, the pipe or the ledger raised.
        """
        if self._running is not None:
            return _nothing(RUNS)
        missing = self._time.missing(now)
        if missing:
            more = f" And {len(missing) - 1} more: `gnomon refine status`." if missing[1:] else ""
            return _nothing(missing[0].sentence + more)
        reason = self._time.in_the_way_by_hand()
        if reason is not None:
            return _nothing(SENTENCES[reason])
        return await self._started(now)

    async def stop(self) -> None:
        """End what runs: the gateway ends."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _started(self, now: Millis) -> JobDone:
        """One run, as a task of its own, so that it can be ended."""
        self._running = running = asyncio.create_task(self._one(now))
        try:
            return await running
        except asyncio.CancelledError:
            if running.cancelled() and not _is_cancelled():
                return _nothing("It was ended: the gateway stops.")
            raise
        finally:
            self._running = None

    async def _one(self, now: Millis) -> JobDone:
        time, model = self._time, self._time.model()
        if not isinstance(model, RefinerModel):
            return _nothing(model[1])
        run = RefineRun(self._world(model, now))
        ticks, failures = self._parts.ticks(), time.state.failures + 1
        time.keep(last_at=now, last_ticks=ticks, failures=failures)  # until it has ended well
        try:
            ran = await self._ran(run, model)
        finally:
            time.keep(refused_calls=time.state.refused_calls + run.refused)
            if model.beside is not None and model.beside.host is not None:
                await model.beside.host.close()
        time.keep(failures=0)
        return self._told(run, ran)

    async def _ran(self, run: RefineRun, model: RefinerModel) -> Ran:
        """Start the process, have it do one run, end it. Raises PipeError when it is late."""
        work = Work(run=run.world.run, change_id=run.world.change_id, by_schema=model.by_schema)
        argument = fields(RefinerArgument(manifest=self._parts.manifest))
        child = await self._parts.platform.start_child(
            "refiner", REFINER_MODULE, argument, Grants(), serve=run
        )
        try:
            async with asyncio.timeout(RUN_SECONDS):
                return read(await child.peer.call("work", fields(work)), Ran)
        except TimeoutError:
            raise PipeError(
                f"The refiner did not end within {RUN_SECONDS:.0f} s.", reason="timeout"
            ) from None
        finally:
            await child.stop(GRACE_SECONDS)

    def _told(self, run: RefineRun, ran: Ran) -> JobDone:
        """What came of it: one line of the journal, and the answer to whoever ran it by hand."""
        sentence = run.sentence()
        if run.change is None:
            why = ran.text if ran.error is None else f"{ran.error}: {ran.text}"
            sentence = f"{sentence} {one_line(clean(why), WHY_CHARACTERS)}".strip()
        self._parts.stores.journal(f"The refiner: {sentence}")
        return JobDone(name="refine", ran=True, done=(sentence,), why_not=None)

    # --- what a run rests on ---------------------------------------------------------------------

    def _world(self, model: RefinerModel, now: Millis) -> RunWorld:
        parts = self._parts
        ids, files = parts.platform.ids, parts.stores.files
        slot = "schema" if model.by_schema else "system"
        change_id = ids.new("ch")

        async def complete(request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
            return await parts.broker.complete(
                "refiner",
                PURPOSE,
                parts.stores.agent.agent,
                request,
                on_text,
                change_id=change_id,
                beside=model.beside,
            )

        return RunWorld(
            run=ids.new("run"),
            change_id=change_id,
            prompt=resolve(parts.manifest.prompts[slot]).reference,
            evidence=tuple(f"{name}:{files[name].head.seq}" for name in RESTS_ON),
            complete=complete,
            standing=parts.changes.standing,
            against=self._against,
            fitness=lambda: self._fitness(now),
            trajectory=self._trajectory,
            propose=parts.changes.propose,
            publish=parts.publish,
        )

    def _against(self, target: str) -> HeldAgainst:
        changes, config = self._parts.changes, self._parts.loaded.config
        return HeldAgainst(
            incumbent=changes.standing(target),
            packaged=packaged_defaults()[target],
            failed=tuple(
                Failed(life.change.target, life.change.diff, life.change.candidate_sha256)
                for life in changes.state().failed()[-LATELY:]
            ),
            floor_most=config.length_floor_tokens,
            growth_max=config.growth_max,
        )

    def _fitness(self, now: Millis) -> str:
        """Up to the activation of what is unjudged, and of changes only those that have ended."""
        state = self._parts.changes.state()
        ledger = self._parts.stores.files["fitness-ledger"]
        judged = state.under_judgment
        lines = ledger.read_range(Millis(now - (DAYS + 1) * DAY), until=ledger.head)
        past = [_past(life) for life in state.in_order() if life.has_ended]
        return fitness_view(lines, past, None if judged is None else judged.applied_at)

    def _trajectory(self, most: int) -> str:
        ledger = self._parts.stores.files["decision-ledger"]
        lines = ledger.read(after_seq=max(0, ledger.head.seq - MOST_LINES), until=ledger.head)
        return trajectory(lines, most)

    # --- operations ------------------------------------------------------------------------------

    async def status(self, _: Nothing, __: Progress) -> Readiness:
        """Whether it may run, and what is missing."""
        return self._readiness(self._parts.platform.clock.wall())

    async def enable(self, _: Nothing, __: Progress) -> Readiness:
        """The operator's word that the number fits what they see. Raises TrustError for any
        other's, UsageError while there is no number.
        """
        operators_door()
        time, now = self._time, self._parts.platform.clock.wall()
        if time.state.enabled_at is None:
            if not time.has_number(now):
                raise UsageError(
                    "There is no number yet: no hour was measured, and nothing that it brought "
                    "has settled.",
                    next_step="Look again in some hours: `gnomon fitness`.",
                )
            self._parts.stores.journal("You confirmed that the number fits what you see.")
        time.keep(enabled_at=time.state.enabled_at or now, failures=0)
        return self._readiness(now)

    async def disable(self, _: Nothing, __: Progress) -> Readiness:
        """The operator takes the word back: no further edit is proposed. Raises TrustError for
        any other's.
        """
        operators_door()
        if self._time.state.enabled_at is not None:
            self._parts.stores.journal("You took back that the number fits what you see.")
            self._time.keep(enabled_at=None)
        return self._readiness(self._parts.platform.clock.wall())

    def _readiness(self, now: Millis) -> Readiness:
        time = self._time
        missing = time.missing(now)
        return Readiness(
            ready=not missing,
            enabled=time.state.enabled_at is not None,
            dev_mode=self._parts.loaded.config.dev_mode,
            codes=tuple(reason.code for reason in missing),
            reasons=tuple(reason.sentence for reason in missing),
            next_at=None if missing else iso(time.next_at(now)),
            refused_calls=time.state.refused_calls,
        )

    def job(self) -> JobRow:
        """As one of the jobs that can be run by hand."""
        what = "Proposes one small edit to the agent's instructions"
        return JobRow("refine", what, self.not_due, self.run, lambda: self._time.state.last_at)


def refine_rows(desk: RefineDesk) -> tuple[Operation, ...]:
    """The rows of the table."""
    status: Callable[[Any, Progress], Awaitable[Any]] = desk.status
    return (
        Operation("refine.status", "May it refine itself?", Nothing, Readiness, status, reads=True),
        Operation("refine.enable", "Say that the number fits", Nothing, Readiness, desk.enable),
        Operation("refine.disable", "Take that word back", Nothing, Readiness, desk.disable),
    )


def _past(life: ChangeLife) -> Past:
    judgment = life.judgment
    return Past(
        target=life.change.target,
        status=life.status,
        outcome=life.outcome,
        basis=None if judgment is None else judgment.basis,
        delta=Delta() if judgment is None else judgment.delta,
        summary=summary(life.change.diff),
        reason=life.told[-1].reason,
    )


def _is_cancelled() -> bool:
    """Whether the present task was asked to end, and not only what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _nothing(why: str) -> JobDone:
    return JobDone(name="refine", ran=False, done=(), why_not=why)
