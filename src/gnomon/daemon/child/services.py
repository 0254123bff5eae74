"""What stands behind a child's requests: stores, brokers, recall, the event stream."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from gnomon.brokers.model import ModelBroker
from gnomon.brokers.tool import ToolBroker
from gnomon.daemon.child.speech import Speech
from gnomon.daemon.inbox.artifacts import Artifacts
from gnomon.daemon.store.stores import Stores
from gnomon.daemon.talk.turns import HandedOut, Turns
from gnomon.domain.canonical import canonical
from gnomon.domain.errors import GnomonError, RecordError, TrustError
from gnomon.domain.events import Event
from gnomon.domain.json_value import Json
from gnomon.domain.ledgers import Ack, LedgerName
from gnomon.domain.messages import ModelReply, ModelRequest, ToolCall
from gnomon.domain.policy import Role
from gnomon.domain.records import Body, RunClosed, RunOpened, Spend, Turn
from gnomon.domain.views import Source
from gnomon.resident.protocol import (
    ArtifactArguments,
    ArtifactReply,
    SurfaceArguments,
    SurfaceReply,
)

BACKGROUND_PURPOSES = frozenset({"reflection", "executive"})
"""What a resident may say that a call is for, outside a turn; all of them are background."""

MAX_RUNS = 64
"""Runs of one resident at a time: twice the turns that it can be handed. Each may have a tool
host, a process of its own.
"""
STATE_BYTES = 512 * 1024
"""Of the self-state, a hundred times its usual size: the next life is handed it in one message,
with its scaffold, and must be able to take it.
"""
DERIVED: tuple[LedgerName, ...] = ("session", "observations")
"""What follows from a turn's commit line is written by the gateway, from that line."""


@dataclass
class Run:
    """A run that is under way: the turn that it answers (null: background work), and its
    calls' spend, for its commit line.
    """

    turn: HandedOut | None = None
    spend: list[Spend] = field(default_factory=list[Spend])


@dataclass
class ChildServices:
    """One resident's: `runs` are those that it has under way."""

    stores: Stores
    broker: ModelBroker
    tools: ToolBroker
    turns: Turns
    recall_search: Callable[[str, int], Awaitable[tuple[Source, ...]]]
    put_self_state: Callable[[Json], None]
    publish_event: Callable[[Event], None]
    speech: Speech
    artifacts: Artifacts
    begins: Callable[[], None]
    """Called before a run's first line: from here on a crash leaves something to finish."""
    runs: dict[str, Run] = field(default_factory=dict[str, Run])
    behind: bool = False
    """Whether something that follows from a line could not be written."""
    _commits: set[asyncio.Task[Ack]] = field(default_factory=set[asyncio.Task[Ack]])

    async def append(
        self, role: Role, name: LedgerName, body: Body, member: str | None, durable: bool
    ) -> Ack:
        """Append for a role. A turn's commit line gets its spend, and what follows from it.

        Raises TrustError for a line of a run that is not under way, or of a turn that was not
        handed out: what the operator said is not the resident's to say.
        """
        if name in DERIVED:
            raise TrustError(f"Lines of {name} follow from a turn's own.", role=role, ledger=name)
        if name != "run":
            return await self.stores.append(name, body, durable=durable)
        if member is None:
            raise RecordError(f"A line of {name} needs an id.", kind=body.kind(), reason="no id")
        return await self._append_to_run(role, member, body, durable)

    async def _append_to_run(self, role: Role, member: str, body: Body, durable: bool) -> Ack:
        match body:
            case RunOpened():
                return await self._open_run(role, member, body, durable)
            case Turn():
                return await self._to_the_end(member, self._run(member), body)
            case RunClosed():
                self._run(member)
                ack = await self.stores.append("run", body, member=member, durable=durable)
                await self.end_run(member)
                return ack
            case _:
                self._run(member)
                return await self.stores.append("run", body, member=member, durable=durable)

    async def _open_run(self, role: Role, member: str, opened: RunOpened, durable: bool) -> Ack:
        if len(self.runs) >= MAX_RUNS:
            raise TrustError(f"Over {MAX_RUNS} runs at a time.", role=role, run=member)
        if member in self.runs or self.stores.ledger("run", member).head.seq:
            raise TrustError("A run is opened once.", role=role, run=member)
        run = self.runs[member] = Run()
        try:
            self.begins()
            ack = await self.stores.append("run", opened, member=member, durable=durable)
        except BaseException:
            del self.runs[member]
            raise
        if opened.session is not None:
            run.turn = self.turns.take_up(opened.session, member)
        return ack

    async def _to_the_end(self, member: str, run: Run, said: Turn) -> Ack:
        """What has begun is finished, also when the turn is called off meanwhile: a commit line
        never stands without what follows from it.
        """
        turn = run.turn
        if turn is None or not self.turns.is_under_way(turn):
            raise TrustError("No turn is under way that this run answers.", run=member)
        turn.check(said)
        run.turn = None  # it is answered: no second line
        spent = tuple(msgspec.to_builtins(each) for each in run.spend)
        line = msgspec.structs.replace(said, spend=spent)
        turn.commit = asyncio.create_task(self._commit(member, line))
        self._commits.add(turn.commit)
        turn.commit.add_done_callback(self._commits.discard)
        return await asyncio.shield(turn.commit)

    async def _commit(self, member: str, line: Turn) -> Ack:
        ack = await self.stores.append("run", line, member=member)
        try:
            await self.turns.derive(member, line, ack.at)
        except GnomonError:
            self.behind = True  # the turn stands; what follows from it is caught up with
        await self.end_run(member)
        return ack

    async def drain(self) -> None:
        """Wait for the commits that are under way."""
        await asyncio.gather(*self._commits, return_exceptions=True)

    def _run(self, member: str) -> Run:
        run = self.runs.get(member)
        if run is None:
            raise TrustError("No such run is under way.", run=member)
        return run

    def _answers(self, run: Run) -> bool:
        """Whether it works on a turn that an operator waits for now."""
        return run.turn is not None and self.turns.is_under_way(run.turn)

    async def end_run(self, run: str) -> None:
        """A run is over: so are its tool host and its account."""
        self.runs.pop(run, None)
        await self.tools.end_run(run)

    async def abandon_runs(self) -> None:
        """A resident is gone: so are its runs, with all that their tools left running."""
        await self.drain()
        for member in list(self.runs):
            await self.end_run(member)
            try:
                closed = RunClosed(reason="resident-ended")
                await self.stores.append("run", closed, member=member, durable=False)
            except GnomonError as error:
                self.behind = True
                self.stores.journal(f"Run {member} could not be closed: {error}")

    async def put_state(self, name: str, value: Json) -> None:
        if name != "self-state":
            raise TrustError(f"No state is called {name!r}.", name=name)
        size = len(canonical(value))
        if size > STATE_BYTES:
            raise RecordError(
                f"A self-state of {size} bytes is over the bound of {STATE_BYTES}.",
                kind=name,
                reason="too large",
            )
        self.put_self_state(value)

    async def complete(
        self,
        role: Role,
        request: ModelRequest,
        run: str | None,
        on_text: Callable[[str], None],
    ) -> ModelReply:
        """Make a model call. Whether it is the operator's is decided here, from the runs that
        are under way, and not by what the asking process says.
        """
        open_run = self.runs.get(run) if run is not None else None
        purpose = self._purpose(request.purpose, open_run)
        return await self.broker.complete(
            role,
            purpose,
            self.stores.agent.agent,
            request,
            on_text,
            run=run if open_run is not None else None,
        )

    def _purpose(self, said: str, run: Run | None) -> str:
        if run is not None and self._answers(run):
            return "chat"
        return said if said in BACKGROUND_PURPOSES else "reflection"

    def note_spend(self, spend: Spend) -> None:
        """For the broker: one line a call, at once; a run's commit line repeats it."""
        if spend.run is not None and (run := self.runs.get(spend.run)) is not None:
            run.spend.append(spend)

    async def run_tool(self, role: Role, run: str, call: ToolCall) -> tuple[str, str | None]:
        agent = "resident" if self._answers(self._run(run)) else "executive"
        outcome = await self.tools.run(role, run, agent, call)
        return outcome.text, outcome.error

    async def recall(self, query: str, limit: int) -> tuple[Source, ...]:
        return await self.recall_search(query, max(1, min(limit, 20)))

    def publish(self, event: Event) -> None:
        self.publish_event(event)

    async def surface(self, role: Role, asked: SurfaceArguments) -> SurfaceReply:
        """Bring what a child has to say. Whose words they are is not the child's to say: they
        rest on the model.
        """
        if asked.origin != "model":
            raise TrustError(f"What {role} shows rests on the model.", role=role, op="surface")
        if asked.artifact is not None and not self.artifacts.exists(asked.artifact):
            raise RecordError("There is no such artifact.", kind="surface", reason="artifact")
        return await self.speech.say(asked)

    async def put_artifact(self, asked: ArtifactArguments) -> ArtifactReply:
        if not self.speech.acts:
            raise TrustError("No artifact is made in this mode.", role="resident")
        return await self.artifacts.put(asked)
