"""One life of the resident: it answers `tick`, `turn` and `stop`, and starts nothing itself.

There is no timer in here. Ticks come from the gateway's beat and never overlap; a turn goes
before a reflection, which is broken off and thought anew when the operator has been answered.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec

from gnomon.agent.prompts import resolve
from gnomon.agent.remote_model import ModelOverPipe
from gnomon.agent.structured import ask
from gnomon.domain.body import Body
from gnomon.domain.errors import (
    BudgetError,
    GnomonError,
    InvalidOutputError,
    ModelError,
    NoModelError,
    PausedError,
    PipeError,
    ScaffoldError,
    SelfStateError,
    TrustError,
)
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import ModelReply
from gnomon.domain.plain import fields, read
from gnomon.domain.ports import Clock, Ids, Pipe
from gnomon.domain.records import ErrorNoted, ModeChanged, SkipReason, Started, Stopped, Tick
from gnomon.resident import carry, executive, reflection, stall, state
from gnomon.resident.chat import Chat
from gnomon.resident.notices import Notice, has_room, notice_of
from gnomon.resident.notifier import Notifier
from gnomon.resident.ports import LedgerOverPipe, StateOverPipe
from gnomon.resident.protocol import (
    BUSY,
    Problem,
    ScaffoldText,
    Spawn,
    StopArguments,
    SurfaceArguments,
    TickArguments,
    TickReply,
    TurnArguments,
)
from gnomon.resident.rules import Rules
from gnomon.resident.work import Executive, Finished
from gnomon.scaffold.defaults import packaged_defaults
from gnomon.scaffold.flags import FLAGS_FILE, AntipatternFlags, decode_flags

SendPart = Callable[[Json], None]
REASON_CHARACTERS = 300
WORK_TRIES = 3
"""How often turns may break a piece of work off before it is given up."""
R = TypeVar("R")


class BrokenOffError(GnomonError):
    """Background work gave way to the operator too often."""

    code = "broken-off"


class Resident:
    """`begin` once, then `answer` for each request."""

    def __init__(self, pipe: Pipe, spawn: Spawn, clock: Clock, ids: Ids, rules: Rules) -> None:
        self._spawn = spawn
        self._ledger = LedgerOverPipe(pipe)
        self._model = ModelOverPipe(pipe)
        self._stored = StateOverPipe(pipe)
        self._chat = Chat(pipe, spawn.agent, spawn.manifest, clock, ids, rules)
        self._executive = Executive(pipe, spawn.agent, spawn.executive, clock, ids, rules)
        self._notifier = Notifier(pipe, spawn.effective_mode)
        self._scaffold = spawn.scaffold
        self._flags = _flags(spawn.scaffold, decode_flags(packaged_defaults()[FLAGS_FILE]))
        self._state = state.SelfState()
        self._saved: state.SelfState | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        self._ticking = False
        self._stopped = False
        self._turns = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._background: asyncio.Task[Any] | None = None
        self._broken_off = False

    @property
    def self_state(self) -> state.SelfState:
        return self._state

    @property
    def is_ticking(self) -> bool:
        return self._ticking

    async def begin(self) -> None:
        """Take up the stored state and write that a life began."""
        spawn = self._spawn
        fault = self._take_up()
        await self._note(
            Started(
                version=spawn.version,
                mode=spawn.mode,
                model=None if spawn.model.kind == "none" else spawn.model.name,
                scaffold_version=spawn.scaffold.version,
            )
        )
        if fault is not None:
            await self._note(_noted(fault, "self-state"))
        if spawn.effective_mode != spawn.mode:
            reason = f"{spawn.model.kind}-model"
            await self._note(
                ModeChanged(mode=spawn.mode, effective=spawn.effective_mode, reason=reason)
            )
        await self._note_problems(spawn.problems)

    async def answer(self, op: str, args: Fields, send_part: SendPart) -> Json:
        """Serve the gateway's requests. Raises GnomonErrors."""
        if self._stopped:
            raise PipeError("The resident has stopped.", op=op)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            match op:
                case "tick":
                    return fields(await self._tick(read(args, TickArguments)))
                case "turn":
                    return fields(await self._turn(read(args, TurnArguments), send_part))
                case "stop":
                    await self._stop(read(args, StopArguments).reason, task)
                    return {}
                case _:
                    raise TrustError(f"The resident answers no {op!r}.", role="resident", op=op)
        finally:
            self._tasks.discard(task)

    # --- a tick ------------------------------------------------------------------------------

    async def _tick(self, args: TickArguments) -> TickReply:
        if self._ticking:
            return TickReply(reflected=False, error=BUSY)
        self._ticking = True
        try:
            return await self._one_tick(args)
        finally:
            self._ticking = False

    async def _one_tick(self, args: TickArguments) -> TickReply:
        if args.scaffold is not None:
            self._scaffold = args.scaffold
            self._flags = _flags(args.scaffold, self._flags)
        await self._note_problems(args.problems)
        self._state = carry.ticked(self._state, args.now, args.operator_present)
        self._state = carry.closed(self._state, args.closed)
        skip, fault, thought = args.skip_reason, None, None
        if skip is None:
            try:
                thought = await self._undisturbed(lambda: self._think(args))
            except ModelError as error:
                skip, fault = skip_reason(error), error
        await self._note(Tick(scaffold_version=self._scaffold.version, skip_reason=skip))
        if thought is not None:
            await self._take_in(thought, args)
        if fault is not None and skip in ("model-error", "invalid-output"):
            self._state = carry.failed(self._state, fault.code, "reflection", args.now)
            await self._note(_noted(fault, "reflection"))
        await self._save()
        return TickReply(reflected=thought is not None, error=fault.code if fault else None)

    async def _undisturbed(
        self, begin: Callable[[], Coroutine[object, object, R]], tries: int | None = None
    ) -> R:
        """Do what may take long while nobody waits for an answer. A turn that begins breaks it
        off, and it is begun anew, at most `tries` times; then BrokenOffError is raised.
        """
        while True:
            await self._quiet.wait()
            self._broken_off = False
            tries = None if tries is None else tries - 1
            self._background = going = asyncio.create_task(begin())
            try:
                return await going
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not self._broken_off or (task is not None and task.cancelling()):
                    raise
                if tries == 0:
                    raise BrokenOffError("The operator's turns went before it.") from None
            finally:
                going.cancel()
                self._background = None

    async def _think(self, args: TickArguments) -> "_Thought":
        prompt = resolve(reflection.PROMPT, self._scaffold.files)
        mode = self._spawn.effective_mode
        perception = carry.perceive(self._state, args.now, args.operator_present, mode)
        request = reflection.request(prompt.text, prompt.reference, perception)
        shown = reflection.brief_schema() if self._spawn.model.kind == "demo" else None
        output, reply = await ask(self._model, request, reflection.ReflectionOutput, schema=shown)
        return _Thought(output, reply)

    async def _take_in(self, thought: "_Thought", args: TickArguments) -> None:
        """Count the repeat, put the pressure on, write the lines, let the executive attempt."""
        before, similarity = carry.before(self._state), self._spawn.similarity
        weighed = stall.weigh(thought.output, before, self._flags, similarity)
        self._state = carry.reflected(self._state, weighed, thought.reply, args.now)
        await self._note(carry.line(self._state, weighed, thought.reply, self._scaffold.version))
        said = await self._attempt(weighed, args)
        if not said and self._notifier.speaks:
            notice = notice_of(
                weighed,
                self._state.operator_notifications.told,
                args.now,
                self._spawn.notices_a_day,
            )
            if notice is not None:
                await self._surface(_as_surface(notice), args)

    async def _attempt(self, weighed: stall.Weighed, args: TickArguments) -> bool:
        """Let the executive do what was asked for; whether it brought something to show."""
        decision = executive.decide(
            self._spawn.effective_mode,
            weighed.action,
            weighed.output,
            self._state.executive.attempts,
            args.now,
        )
        if decision is None:
            return False
        work = decision.work
        self._state = msgspec.structs.replace(
            self._state, executive=state.ExecutiveState(attempts=decision.remembered)
        )
        if decision.cools:
            await self._note(work.attempt("cooldown"))
            return False
        await self._save()  # work takes long, and the cooldown must outlive a crash in it
        try:
            done = await self._undisturbed(
                lambda: self._executive.carry_out(work, self._scaffold.files), WORK_TRIES
            )
        except BrokenOffError as error:
            done = Finished(outcome="error", error=error)
        await self._note(work.attempt(done.outcome, done.artifact))
        if done.error is not None:
            await self._note(_noted(done.error, "executive"))
        if done.artifact is None or done.surface_mode == "hold":
            return False
        told = self._state.operator_notifications.told
        if not has_room(told, args.now, self._spawn.notices_a_day):
            return False
        return await self._surface(
            SurfaceArguments(
                kind="artifact",
                title=done.title,
                body=done.summary,
                artifact=done.artifact,
                dedupe_key=f"artifact:{work.action_kind}:{work.title.casefold()}",
                material={"artifact": done.artifact},
                mode=done.surface_mode,
            ),
            args,
        )

    async def _surface(self, asked: SurfaceArguments, args: TickArguments) -> bool:
        """Hand something to the notifier; a refusal is noted and ends no tick."""
        try:
            reply = await self._notifier.surface(asked)
        except GnomonError as error:
            await self._note(_noted(error, "surface"))
            return False
        self._state = carry.spoke(self._state, asked.title, args.now)
        return not reply.suppressed

    # --- a turn ------------------------------------------------------------------------------

    async def _turn(self, args: TurnArguments, send_part: SendPart) -> msgspec.Struct:
        self._turns += 1
        self._quiet.clear()
        if self._background is not None:
            self._broken_off = True
            self._background.cancel()
        try:
            reply = await self._chat.turn(args, self._scaffold.files, send_part)
        finally:
            self._turns -= 1
            if self._turns == 0:
                self._quiet.set()
        self._state = carry.conversed(self._state, args.session, args.text)
        return reply

    # --- the end -----------------------------------------------------------------------------

    async def _stop(self, reason: str, mine: "asyncio.Task[object]") -> None:
        """End what runs, then say so: state and ledger are complete when this answers."""
        self._stopped = True
        others = self._tasks - {mine}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others)
        await self._chat.drained()
        await self._executive.drained()
        await self._save()
        await self._note(Stopped(reason=reason))

    # --- state and ledger ----------------------------------------------------------------------

    def _take_up(self) -> SelfStateError | None:
        """The stored state, or a fresh one and why. Reflections never count from 1 again."""
        fault = None
        found = state.SelfState()
        if self._spawn.self_state is not None:
            try:
                found = state.decode(self._spawn.self_state)
                self._saved = found
            except SelfStateError as error:
                fault = error
        self._state = msgspec.structs.replace(
            found,
            continuity=msgspec.structs.replace(found.continuity, lives=found.continuity.lives + 1),
            authority=state.AuthorityState(
                mode=self._spawn.mode, effective_mode=self._spawn.effective_mode
            ),
            shadow=msgspec.structs.replace(
                found.shadow,
                reflections=max(found.shadow.reflections, self._spawn.reflections),
            ),
        )
        return fault

    async def _save(self) -> None:
        if self._saved is not None and not state.worth_saving(self._saved, self._state):
            return
        going = self._state
        await self._stored.put(state.encode(going))
        self._saved = going

    async def _note(self, body: Body) -> None:
        await self._ledger.append("decision-ledger", body)

    async def _note_problems(self, problems: tuple[Problem, ...]) -> None:
        for problem in problems:
            where = f"scaffold/{problem.file}:{problem.line}"
            facts: Fields = {"reason": problem.reason[:REASON_CHARACTERS]}
            await self._note(ErrorNoted(code="scaffold", where=where, facts=facts))


class _Thought(msgspec.Struct, frozen=True):
    """What the model returned, and the call it took."""

    output: reflection.ReflectionOutput
    reply: ModelReply


def skip_reason(error: ModelError) -> SkipReason:
    """How a tick's line names what kept it from reflecting."""
    match error:
        case PausedError():
            return "paused"
        case NoModelError():
            return "no-model"
        case BudgetError():
            return "duty-cycle" if error.facts.get("bound") == "duty-cycle" else "budget"
        case InvalidOutputError():
            return "invalid-output"
        case _:
            return "model-error"


def _as_surface(notice: Notice) -> SurfaceArguments:
    return SurfaceArguments(
        kind=notice.kind,
        title=notice.title,
        body=notice.body,
        dedupe_key=notice.dedupe_key,
        material=notice.material,
    )


def _flags(scaffold: ScaffoldText, last_good: AntipatternFlags) -> AntipatternFlags:
    """The flags in force. The gateway lets no bad ones through; if it did, nothing changes."""
    try:
        return decode_flags(scaffold.files.get(FLAGS_FILE, ""))
    except ScaffoldError:
        return last_good


def _noted(error: GnomonError, where: str) -> ErrorNoted:
    facts: Fields = {"reason": error.message[:REASON_CHARACTERS]}
    return ErrorNoted(code=error.code, where=where, facts=facts)
