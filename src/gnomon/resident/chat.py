"""A chat turn: a run of the agent's loop, or an answer from recall where no model is good
enough to be believed.

Whichever it is, the run-log gets its lines without waiting, then one durable `turn` line that
carries all of it; the reply goes out after that line is on the disk, and nothing more is
synced. Errors of the model are a clear reply; errors of the ledger are the turn's own error.
"""

import asyncio
import hashlib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from gnomon.agent import loop
from gnomon.agent.prompts import resolve
from gnomon.agent.remote_model import EventsOverPipe, ModelOverPipe
from gnomon.agent.run import Ports, Task, Working
from gnomon.agent.tool_specs import granted
from gnomon.domain.canonical import canonical
from gnomon.domain.errors import GnomonError, ModelError
from gnomon.domain.events import Event, Step
from gnomon.domain.json_value import Json
from gnomon.domain.manifest import Manifest
from gnomon.domain.messages import Message, ModelReply, ModelRequest
from gnomon.domain.plain import fields
from gnomon.domain.ports import Clock, Ids, Pipe
from gnomon.domain.records import RunClosed, RunOpened, RunStep, Turn
from gnomon.domain.records_observe import Failure
from gnomon.domain.views import Source, TurnReply
from gnomon.resident.ports import (
    RECALL_TOOL,
    LedgerOverPipe,
    RecallOverPipe,
    RunLog,
    ToolsOverPipe,
)
from gnomon.resident.protocol import TurnArguments
from gnomon.resident.quotes import describe
from gnomon.resident.rules import Rules
from gnomon.resident.turn_text import (
    ASIDE_TOKENS,
    aside,
    fitting,
    reply_text,
    resting,
    source_name,
    unanswered,
)

CHAT_PROMPT = "chat-system@production"
"""Where a manifest names none."""
ASIDE_PROMPT = "chat-aside@production"
ASIDE_TIMEOUT_SECONDS = 20.0
ASIDE_QUESTION_CHARACTERS = 500
OBJECTIVE_CHARACTERS = 500

SendPart = Callable[[Json], None]


@dataclass(frozen=True)
class Answered:
    """What came of a turn, before it is committed."""

    reply: str
    stop_reason: str
    steps: int
    tools: dict[str, int]
    failures: tuple[Failure, ...]
    sources: tuple[Source, ...]
    tokens_in: int | None
    tokens_out: int | None
    model: str | None
    model_says: str | None = None


class Chat:
    """Answers turns. `emit` events and run-logs go out in the background; `drained` waits."""

    def __init__(
        self, pipe: Pipe, agent: str, manifest: Manifest, clock: Clock, ids: Ids, rules: Rules
    ) -> None:
        self._pipe = pipe
        self._agent = agent
        self._manifest = manifest
        self._manifest_sha256 = hashlib.sha256(canonical(manifest)).hexdigest()
        self._clock = clock
        self._ids = ids
        self._rules = rules
        self._ledger = LedgerOverPipe(pipe)
        self._events = EventsOverPipe(pipe)
        self._logs: set[RunLog] = set()

    async def turn(
        self, args: TurnArguments, scaffold: Mapping[str, str], send_part: SendPart
    ) -> TurnReply:
        """Answer one turn. Cancelling ends what runs, closes the run's log, and passes on."""
        run = self._ids.new("run")
        began = self._clock.monotonic()
        log = RunLog(self._ledger, run)
        self._logs.add(log)
        try:
            await log.open(self._opened(args))
            if args.model_kind in ("demo", "none"):
                answered = await self._from_recall(args, scaffold, run, log, send_part)
            else:
                answered = await self._by_model(args, scaffold, run, log, send_part)
            seconds = round(self._clock.monotonic() - began, 3)
            await log.commit(self._line(args, answered, seconds))
            self._logs.discard(log)
        except asyncio.CancelledError:
            log.note(RunClosed(reason="cancelled"))
            raise
        except GnomonError as error:
            log.note(RunClosed(reason=error.code))
            raise
        return _reply(args, answered, seconds)

    async def drained(self) -> None:
        """Wait until what goes out in the background has gone."""
        for log in tuple(self._logs):
            await log.drained()
        self._logs.clear()
        await self._events.drained()

    def _opened(self, args: TurnArguments) -> RunOpened:
        return RunOpened(
            agent=self._agent,
            manifest_sha256=self._manifest_sha256,
            objective=args.text[:OBJECTIVE_CHARACTERS],
            session=args.session,
        )

    # --- with a model that can be believed ---------------------------------------------------

    async def _by_model(
        self,
        args: TurnArguments,
        scaffold: Mapping[str, str],
        run: str,
        log: RunLog,
        send_part: SendPart,
    ) -> Answered:
        tools = ToolsOverPipe(self._pipe, run, self._rules.describe)
        task = Task(
            run_id=run,
            system=resolve(self._manifest.prompts.get("system", CHAT_PROMPT), scaffold),
            messages=(
                *fitting(args.history, self._manifest.model.context_budget),
                Message(role="user", content=args.text),
            ),
            specs=granted(self._manifest.tools),
        )
        ports = Ports(
            model=ModelOverPipe(self._pipe, run),
            tools=tools,
            clock=self._clock,
            emit=self._told(send_part),
            log=log.note,
            on_text=lambda text: send_part({"text": text}),
        )
        working = Working(self._manifest, task, self._clock.monotonic())
        result = await loop.run(working, ports)
        reply, sources = reply_text(result), tuple(tools.sources)
        if result.stop_reason == "model-error" and not result.steps:
            sources = await self._meanwhile(args.text)
            reply = "\n\n".join((reply, *([describe(sources)] if sources else [])))
        return Answered(
            reply=reply,
            stop_reason=result.stop_reason,
            steps=result.steps,
            tools=result.tools,
            failures=result.failures,
            sources=sources,
            tokens_in=result.tokens_in,
            tokens_out=result.tokens_out,
            model=result.model,
        )

    async def _meanwhile(self, question: str) -> tuple[Source, ...]:
        """What the history says where the model said nothing. The model's error is told already;
        one of the search is not added to it.
        """
        try:
            return await RecallOverPipe(self._pipe).search(question)
        except GnomonError:
            return ()

    # --- without one -------------------------------------------------------------------------

    async def _from_recall(
        self,
        args: TurnArguments,
        scaffold: Mapping[str, str],
        run: str,
        log: RunLog,
        send_part: SendPart,
    ) -> Answered:
        """Dated quotes with their sources; the demo model's own sentence is kept apart."""
        failures: list[Failure] = []
        hits: tuple[Source, ...] = ()
        try:
            with self._step(run, "recall", send_part):
                hits = await RecallOverPipe(self._pipe).search(args.text)
            reply = self._rules.answer(args.text, hits, args.imported)
        except GnomonError as error:
            failures.append(Failure(tool=RECALL_TOOL, code=error.code))
            reply = unanswered("Your history could not be searched.", error)
        log.note(RunStep(step=0, entry={"tool": RECALL_TOOL, "hits": len(hits)}))
        if args.paused_until is not None:
            reply = f"{reply}\n\n{resting(args.paused_until)}"
        send_part({"text": reply})
        said: ModelReply | None = None
        if args.model_kind == "demo" and args.paused_until is None:
            try:
                with self._step(run, "model", send_part, demo=True):
                    said = await self._aside(args.text, scaffold, run)
                log.note(RunStep(step=1, entry={"reply": fields(said)}))
            except ModelError as error:
                failures.append(Failure(tool="model", code=error.code))
                reply = "\n\n".join((reply, unanswered("The built-in model said nothing.", error)))
        return Answered(
            reply=reply,
            stop_reason="done",
            steps=0 if said is None else 1,
            tools={RECALL_TOOL: 1},
            failures=tuple(failures),
            sources=hits,
            tokens_in=said.tokens_in if said else None,
            tokens_out=said.tokens_out if said else None,
            model=said.model if said else None,
            model_says=aside(said.content) if said else None,
        )

    def _told(self, send_part: SendPart) -> Callable[[Event], None]:
        """Steps go to the open pages, and to whoever waits for this turn."""

        def emit(event: Event) -> None:
            self._events.emit(event)
            send_part({"event": fields(event)})

        return emit

    @contextmanager
    def _step(
        self, run: str, step: Step, send_part: SendPart, *, demo: bool = False
    ) -> Generator[None]:
        """What is shown of a step, as it begins and when it has ended. `demo`: the built-in
        model's, whose sentence takes seconds and is not to be believed.
        """
        emit, facts = self._told(send_part), {"demo": True} if demo else {}

        def tell(*, complete: bool) -> None:
            span = f"{run}.{step}"
            emit(
                Event(
                    agent=self._agent,
                    run=run,
                    step=step,
                    span=span,
                    complete=complete,
                    facts=facts,
                )
            )

        tell(complete=False)
        try:
            yield
        finally:
            tell(complete=True)

    async def _aside(self, text: str, scaffold: Mapping[str, str], run: str) -> ModelReply:
        prompt = resolve(ASIDE_PROMPT, scaffold)
        return await ModelOverPipe(self._pipe, run).complete(
            ModelRequest(
                messages=(
                    Message(role="system", content=prompt.text),
                    Message(role="user", content=text[:ASIDE_QUESTION_CHARACTERS]),
                ),
                purpose="chat",
                temperature=self._manifest.model.temperature,
                max_tokens=ASIDE_TOKENS,
                timeout_seconds=ASIDE_TIMEOUT_SECONDS,
                prompt=prompt.reference,
            )
        )

    # --- the commit point --------------------------------------------------------------------

    def _line(self, args: TurnArguments, answered: Answered, seconds: float) -> Turn:
        return Turn(
            session=args.session,
            turn=args.turn,
            user=args.text,
            reply=answered.reply,
            stop_reason=answered.stop_reason,
            steps=answered.steps,
            tools=answered.tools,
            failures=answered.failures,
            corrected=self._rules.corrected(args.text, args.history),
            sources=tuple(source_name(source) for source in answered.sources),
            seconds=seconds,
            tokens_in=answered.tokens_in,
            tokens_out=answered.tokens_out,
            model=answered.model,
            reply_to=args.reply_to,
        )


def _reply(args: TurnArguments, answered: Answered, seconds: float) -> TurnReply:
    return TurnReply(
        session=args.session,
        turn=args.turn,
        reply=answered.reply,
        sources=answered.sources,
        steps=answered.steps,
        tools=answered.tools,
        seconds=seconds,
        tokens_in=answered.tokens_in,
        tokens_out=answered.tokens_out,
        stop_reason=answered.stop_reason,
        model=answered.model,
        model_says=answered.model_says,
    )
