"""A daemon in this process: the real core and life over pipes in memory, by a clock and on a
disk of the test's own.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

import msgspec

from gnomon.daemon.core import RESIDENT_MODULE
from gnomon.daemon.platform import ChildProcess, Platform
from gnomon.disk import SYSTEM_DISK, Disk
from gnomon.domain.errors import GnomonError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.domain.policy import Role
from gnomon.domain.ports import Clock, Ids
from gnomon.domain.views import TurnReply
from gnomon.resident import main as resident
from gnomon.testing.ledger import InlineThreads
from gnomon.testing.memory_child import Entry, MemoryChild
from gnomon.trust.ipc import Peer, Serve
from gnomon.trust.jail import Grants

MODEL_HOST = "gnomon.models.openai_host"
WITH_MODEL = {"GNOMON_MODEL": "played", "GNOMON_MODEL_URL": "http://127.0.0.1:9/v1"}

Answer = Callable[[ModelRequest], Awaitable[ModelReply]]


async def fine(request: ModelRequest) -> ModelReply:
    """Answers at once."""
    del request
    return ModelReply(content="fine", finish="stop", model="played", tokens_in=3, tokens_out=2)


@dataclass
class PlayedModel:
    """A model's host. `calls` counts what was asked of it."""

    answer: Answer = fine
    calls: int = 0

    async def serve(self, peer: Peer, argument: Fields) -> None:
        del argument

        async def answered(op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
            del op, send_part
            self.calls += 1
            request = msgspec.convert(args["request"], ModelRequest)
            return msgspec.to_builtins(await self.answer(request))

        peer.serve(answered)
        await peer.closed()


@dataclass
class Machine:
    """What a platform is made of. `entries` play modules; others are the real ones."""

    clock: Clock
    ids: Ids
    disk: Disk = SYSTEM_DISK
    model: PlayedModel = field(default_factory=PlayedModel)
    environ: Mapping[str, str] = field(default_factory=lambda: dict(WITH_MODEL))
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])

    def platform(self) -> Platform:
        return Platform(
            clock=self.clock,
            ids=self.ids,
            environ=self.environ,
            start_child=self._start,
            jail_level=lambda: "none",
            power_bound=lambda: False,
            disk=self.disk,
            threads=InlineThreads(),
        )

    async def _start(
        self, role: Role, module: str, argument: Fields, grants: Grants, *, serve: Serve | None
    ) -> ChildProcess:
        del grants
        entry: dict[str, Entry] = {
            MODEL_HOST: self.model.serve,
            RESIDENT_MODULE: self._resident,
            **self.entries,
        }
        return await MemoryChild.begin(
            role, entry.get(module) or import_module(module).serve, argument, serve
        )

    async def _resident(self, peer: Peer, argument: Fields) -> None:
        await resident.live(peer, argument, self.clock, self.ids)


def played_resident(ids: Ids) -> Entry:
    """A resident that answers each turn by one model call, as the real one writes it down, and
    does nothing at a tick.
    """

    async def serve(peer: Peer, argument: Fields) -> None:
        del argument

        async def answer(op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
            del send_part
            return await _turn(peer, args, ids.new("run")) if op == "turn" else {}

        peer.serve(answer)
        await peer.closed()

    return serve


async def _turn(peer: Peer, args: Fields, run: str) -> Json:
    async def append(kind: str, fields: Fields, *, durable: bool) -> None:
        line: Fields = {"name": "run", "id": run, "kind": kind, "fields": fields}
        await peer.call("ledger.append", {**line, "durable": durable})

    opened: Fields = {"agent": "main", "manifest_sha256": "0" * 64, "objective": "x"}
    await append("run", {**opened, "session": args["session"]}, durable=False)
    request = ModelRequest(messages=(), purpose="chat")
    called: Fields = {"request": msgspec.to_builtins(request), "run": run}
    reply = msgspec.convert(await peer.call("model.complete", called), ModelReply)
    await append("step", {"step": 0, "entry": {"reply": reply.content}}, durable=False)
    said = TurnReply(
        session=str(args["session"]),
        turn=int(str(args["turn"])),
        reply=reply.content,
        sources=(),
        steps=1,
        tools={},
        seconds=0.1,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        model=reply.model,
    )
    fields: Fields = {
        "session": said.session,
        "turn": said.turn,
        "user": args["text"],
        "reply": said.reply,
        "stop_reason": said.stop_reason,
        "steps": 1,
        "tools": {},
        "failures": [],
        "corrected": False,
        "sources": [],
        "seconds": 0.1,
        "tokens_in": said.tokens_in,
        "tokens_out": said.tokens_out,
        "model": said.model,
        "reply_to": args.get("reply_to"),
    }
    await append("turn", fields, durable=True)
    return msgspec.to_builtins(said)


async def settle(seconds: float = 0.0) -> None:
    """Let what is ready run; in virtual time also what is due within `seconds`."""
    await asyncio.sleep(seconds)


def failing(error: GnomonError) -> Answer:
    async def answer(request: ModelRequest) -> ModelReply:
        del request
        raise error

    return answer
