"""What stands behind a child's requests: stores, brokers, recall, the event stream."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from gnomon.brokers.model import ModelBroker
from gnomon.brokers.tool import ToolBroker
from gnomon.daemon.artifacts import Artifacts
from gnomon.daemon.speech import Speech
from gnomon.daemon.stores import Stores
from gnomon.daemon.turns import Turns
from gnomon.domain.errors import RecordError, TrustError
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


@dataclass
class Run:
    """A run that is under way: its calls' spend, for its commit line."""

    chat: bool
    spend: list[Spend] = field(default_factory=list[Spend])


@dataclass
class ChildServices:
    """`append_hook` sees every line that was written for a child (tallies, the live page)."""

    stores: Stores
    broker: ModelBroker
    tools: ToolBroker
    turns: Turns
    recall_search: Callable[[str, int], Awaitable[tuple[Source, ...]]]
    put_self_state: Callable[[Json], None]
    publish_event: Callable[[Event], None]
    appended: Callable[[LedgerName, Body, Ack], None]
    speech: Speech
    artifacts: Artifacts
    runs: dict[str, Run] = field(default_factory=dict[str, Run])

    async def append(
        self, role: Role, name: LedgerName, body: Body, member: str | None, durable: bool
    ) -> Ack:
        """Append for a role. A turn's commit line gets its spend, and what follows from it."""
        if name in ("run", "session") and member is None:
            raise RecordError(f"A line of {name} needs an id.", kind=body.kind(), reason="no id")
        match body:
            case RunOpened(session=session) if member is not None:
                self.runs[member] = Run(chat=session is not None)
            case Turn() if member is not None:
                run = self.runs.get(member)
                spent = tuple(msgspec.to_builtins(each) for each in run.spend) if run else ()
                body = msgspec.structs.replace(body, spend=spent)
            case _:
                pass
        ack = await self.stores.append(name, body, member=member, durable=durable)
        if isinstance(body, Turn) and member is not None:
            await self.turns.derive(member, body, ack.at)
        if isinstance(body, Turn | RunClosed) and member is not None:
            await self.end_run(member)
        self.appended(name, body, ack)
        return ack

    async def end_run(self, run: str) -> None:
        """A run is over: so are its tool host and its account."""
        self.runs.pop(run, None)
        await self.tools.end_run(run)

    async def put_state(self, name: str, value: Json) -> None:
        if name != "self-state":
            raise TrustError(f"No state is called {name!r}.", name=name)
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
            role, purpose, self.stores.agent.agent, request, on_text, run=run
        )

    def _purpose(self, said: str, run: Run | None) -> str:
        if run is not None and run.chat and self.turns.in_flight:
            return "chat"
        return said if said in BACKGROUND_PURPOSES else "reflection"

    def note_spend(self, spend: Spend) -> None:
        """For the broker: one line a call, at once; a run's commit line repeats it."""
        if spend.run is not None and (run := self.runs.get(spend.run)) is not None:
            run.spend.append(spend)

    async def run_tool(self, role: Role, run: str, call: ToolCall) -> tuple[str, str | None]:
        if run not in self.runs:
            raise TrustError("Tools run within a run that is under way.", role=role, run=run)
        chats = self.runs[run].chat and self.turns.in_flight > 0
        outcome = await self.tools.run(role, run, "resident" if chats else "executive", call)
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
