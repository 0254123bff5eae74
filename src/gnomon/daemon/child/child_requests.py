"""What a jailed process may ask of the gateway over its pipe, and how each is answered.

The trust table decides first (`check_op`, `check_append`); what it does not grant is a
TrustError, whatever the arguments.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from gnomon.domain.errors import RecordError, TrustError
from gnomon.domain.events import Event
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.ledgers import BODIES, Ack, LedgerName
from gnomon.domain.messages import ModelReply, ModelRequest, ToolCall
from gnomon.domain.plain import fields, read
from gnomon.domain.policy import Role
from gnomon.domain.records import Body
from gnomon.domain.views import Source
from gnomon.resident.protocol import (
    ArtifactArguments,
    ArtifactReply,
    SurfaceArguments,
    SurfaceReply,
)
from gnomon.trust.roles import check_append, check_op

SendPart = Callable[[Json], None]


class AppendArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: LedgerName
    kind: str
    fields: Fields
    id: str | None = None
    durable: bool = True


class StateArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    value: Json


class CompleteArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    request: ModelRequest
    run: str | None = None


class ToolArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    run: str
    call: ToolCall


class RecallArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    query: str
    limit: int = 5


class EventArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    event: Event


class Services(Protocol):
    """What stands behind the requests; the wiring hands it over."""

    async def append(
        self, role: Role, name: LedgerName, body: Body, member: str | None, durable: bool
    ) -> Ack: ...

    async def put_state(self, name: str, value: Json) -> None: ...

    async def complete(
        self, role: Role, request: ModelRequest, run: str | None, on_text: Callable[[str], None]
    ) -> ModelReply: ...

    async def run_tool(self, role: Role, run: str, call: ToolCall) -> tuple[str, str | None]: ...

    async def recall(self, query: str, limit: int) -> tuple[Source, ...]: ...

    def publish(self, event: Event) -> None: ...

    async def surface(self, role: Role, asked: SurfaceArguments) -> SurfaceReply: ...

    async def put_artifact(self, asked: ArtifactArguments) -> ArtifactReply: ...


class ChildRequests:
    """Answers the requests of one child, which has one role for its whole life."""

    def __init__(self, role: Role, services: Services) -> None:
        self._role: Role = role
        self._services = services
        self._answers: dict[str, Callable[[Fields, SendPart], Awaitable[Json]]] = {
            "ledger.append": self._append,
            "state.put": self._put_state,
            "model.complete": self._complete,
            "tool.run": self._run_tool,
            "recall": self._recall,
            "event": self._event,
            "surface": self._surface,
            "artifact.put": self._put_artifact,
        }

    async def __call__(self, op: str, args: Fields, send_part: SendPart) -> Json:
        check_op(self._role, op)
        answer = self._answers.get(op)
        if answer is None:
            raise TrustError(f"No request is called {op!r}.", role=self._role, op=op)
        return await answer(args, send_part)

    async def _append(self, args: Fields, _: SendPart) -> Json:
        wanted = read(args, AppendArguments)
        check_append(self._role, wanted.name, wanted.kind)
        if wanted.name == "artifact-ledger":
            # A line without its document would be a claim that nobody can look up.
            raise TrustError("Documents are kept by `artifact.put`.", role=self._role)
        body = body_of(wanted.name, wanted.kind, wanted.fields)
        ack = await self._services.append(self._role, wanted.name, body, wanted.id, wanted.durable)
        return fields(ack)

    async def _put_state(self, args: Fields, _: SendPart) -> Json:
        wanted = read(args, StateArguments)
        await self._services.put_state(wanted.name, wanted.value)
        return {}

    async def _complete(self, args: Fields, send_part: SendPart) -> Json:
        wanted = read(args, CompleteArguments)
        reply = await self._services.complete(
            self._role, wanted.request, wanted.run, lambda text: send_part({"text": text})
        )
        return fields(reply)

    async def _run_tool(self, args: Fields, _: SendPart) -> Json:
        wanted = read(args, ToolArguments)
        text, error = await self._services.run_tool(self._role, wanted.run, wanted.call)
        return {"text": text, "error": error}

    async def _recall(self, args: Fields, _: SendPart) -> Json:
        wanted = read(args, RecallArguments)
        hits = await self._services.recall(wanted.query, wanted.limit)
        return {"hits": msgspec.to_builtins(hits)}

    async def _event(self, args: Fields, _: SendPart) -> Json:
        self._services.publish(read(args, EventArguments).event)
        return {}

    async def _surface(self, args: Fields, _: SendPart) -> Json:
        asked = read(args, SurfaceArguments)
        return fields(await self._services.surface(self._role, asked))

    async def _put_artifact(self, args: Fields, _: SendPart) -> Json:
        asked = read(args, ArtifactArguments)
        return fields(await self._services.put_artifact(asked))


def body_of(name: LedgerName, kind: str, said: Fields) -> Body:
    """The typed record of a kind. Raises RecordError, naming kind and reason."""
    try:
        return msgspec.convert({**said, "kind": kind}, type=BODIES[name])
    except (msgspec.ValidationError, TypeError) as error:
        raise RecordError(
            f"{kind!r} does not fit {name}: {error}", kind=kind, reason=str(error)
        ) from error
