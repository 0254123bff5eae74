"""A gateway without a disk: what the resident asks is answered from memory, and remembered.

For tests of the resident, and for `simulate`. The pipe is the real protocol in memory, the
trust table is asked as the real gateway asks it, and every line is decoded into its record.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

import msgspec

from gnomon.agent.artifacts import is_news, read_artifact, slug
from gnomon.daemon.store.create import executive_manifest
from gnomon.domain.body import Body
from gnomon.domain.errors import GnomonError, LedgerClosedError, RecordError
from gnomon.domain.events import Event
from gnomon.domain.instants import Millis
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.ledgers import BODIES, Ack, LedgerName
from gnomon.domain.manifest import Manifest
from gnomon.domain.messages import Message, ModelRequest, ToolCall
from gnomon.domain.plain import fields, read
from gnomon.domain.policy import WORKSPACE_TOOLS
from gnomon.domain.ports import Clock, Ids, Model, Tools
from gnomon.domain.records import Mode, Reflection, SkipReason, SurfaceMode
from gnomon.domain.views import ModelKind, Source, TurnReply
from gnomon.resident.gate import effective_mode
from gnomon.resident.life import Resident
from gnomon.resident.protocol import (
    ArtifactArguments,
    ArtifactReply,
    ModelFacts,
    Problem,
    ScaffoldText,
    Spawn,
    StopArguments,
    SurfaceArguments,
    SurfaceReply,
    TickArguments,
    TickReply,
    TurnArguments,
)
from gnomon.resident.rules import Rules
from gnomon.scaffold.defaults import packaged_defaults
from gnomon.scaffold.hashing import version_name
from gnomon.scaffold.versions import Scaffold
from gnomon.testing.agent import TableTools
from gnomon.testing.clock import START, FakeClock
from gnomon.testing.pipe import peer_pair
from gnomon.trust.ipc import Peer
from gnomon.trust.roles import guard

RESIDENT_MANIFEST = Manifest(
    id="resident",
    title="Resident",
    prompts={"system": "chat-system@production"},
    tools=(*WORKSPACE_TOOLS, "recall"),
)
PLAIN_RULES = Rules(
    corrected=lambda text, history: bool(history) and text.startswith("no, "),
    answer=lambda _question, hits, _imported: (
        "\n".join(f"{hit.at}: {hit.quote}" for hit in hits) or "Nothing was found."
    ),
    describe=lambda hits: "\n".join(hit.quote for hit in hits),
)


class CountingIds:
    """`run-1`, `run-2`: the same in every run of a test."""

    def __init__(self) -> None:
        self._last = 0

    def new(self, prefix: str) -> str:
        self._last += 1
        return f"{prefix}-{self._last}"


@dataclass(frozen=True)
class Written:
    """A line as its author said it."""

    name: LedgerName
    member: str | None
    body: Body
    durable: bool


@dataclass
class FakeGateway:
    """`lines`, `states` and `events` hold what the resident asked to keep, in order.

    `scaffold` is observed at each tick as the daemon does; without one the packaged texts
    stand. `refuse(name, body)` may raise, to play a ledger that cannot be written.
    """

    model: Model
    kind: ModelKind = "local"
    mode: Mode = "soft"
    tools: Tools = field(default_factory=lambda: TableTools({}))
    hits: tuple[Source, ...] = ()
    scaffold: Scaffold | None = None
    clock: Clock = field(default_factory=FakeClock)
    ids: Ids = field(default_factory=CountingIds)
    rules: Rules = PLAIN_RULES
    manifest: Manifest = RESIDENT_MANIFEST
    now: Millis = START
    refuse: Callable[[LedgerName, Body], None] = lambda _name, _body: None
    before_recall: Callable[[], None] = lambda: None
    lines: list[Written] = field(default_factory=list[Written])
    states: list[Json] = field(default_factory=list[Json])
    events: list[Event] = field(default_factory=list[Event])
    parts: list[Json] = field(default_factory=list[Json])
    requests: list[tuple[str | None, ModelRequest]] = field(
        default_factory=list[tuple[str | None, ModelRequest]]
    )
    surfaces: list[SurfaceArguments] = field(default_factory=list[SurfaceArguments])
    artifacts: list[ArtifactArguments] = field(default_factory=list[ArtifactArguments])
    old_news: set[str | None] = field(default_factory=set[str | None])
    """Keys for which nothing is news any more."""
    refuses_surfaces: bool = False
    recalled: list[str] = field(default_factory=list[str])
    resident: Resident | None = None
    _peer: Peer | None = None
    _running: list["asyncio.Task[None]"] = field(default_factory=list["asyncio.Task[None]"])
    _handed: str | None = None
    _heads: dict[str, int] = field(default_factory=dict[str, int])

    # --- the resident's life -------------------------------------------------------------------

    async def start(self) -> None:
        """Begin a life, with the last self-state that was put."""
        here, there = peer_pair()
        here.serve(guard("resident", self.answer))
        self._running = [asyncio.create_task(peer.run()) for peer in (here, there)]
        self._peer = here
        scaffold, problems = self._observe()
        self._handed = scaffold.version
        spawn = Spawn(
            agent="agent-1",
            version="0",
            mode=self.mode,
            effective_mode=effective_mode(self.mode, self.kind),
            model=ModelFacts(name="scripted", kind=self.kind),
            manifest=self.manifest,
            autonomy="full",
            scaffold=scaffold,
            now=self.now,
            self_state=self.states[-1] if self.states else None,
            reflections=max((line.reflection_no for line in self.reflections()), default=0),
            problems=problems,
            executive=executive_manifest(),
        )
        self.resident = Resident(
            there, read(fields(spawn), Spawn), self.clock, self.ids, self.rules
        )
        await self.resident.begin()
        there.serve(self.resident.answer)

    async def tick(
        self, skip_reason: SkipReason | None = None, *, operator_present: bool = True
    ) -> TickReply:
        scaffold, problems = self._observe()
        changed = scaffold.version != self._handed
        self._handed = scaffold.version
        args = TickArguments(
            now=self.now,
            scaffold=scaffold if changed else None,
            skip_reason=skip_reason,
            operator_present=operator_present,
            problems=problems,
        )
        return read(await self.ask("tick", fields(args)), TickReply)

    async def turn(
        self,
        text: str,
        *,
        session: str = "s-1",
        turn: int = 1,
        history: Sequence[Message] = (),
        reply_to: str | None = None,
        paused_until: str | None = None,
    ) -> TurnReply:
        args = TurnArguments(
            session=session,
            turn=turn,
            text=text,
            history=tuple(history),
            model_kind=self.kind,
            reply_to=reply_to,
            paused_until=paused_until,
        )
        return read(await self.ask("turn", fields(args)), TurnReply)

    async def stop(self, reason: str = "test") -> None:
        """An orderly end."""
        await self.ask("stop", fields(StopArguments(reason=reason)))
        await self.kill()

    async def kill(self) -> None:
        """The pipe ends, as when a process dies."""
        if self._peer is not None:
            self._peer.close()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running = []

    async def ask(self, op: str, args: Fields) -> Json:
        assert self._peer is not None, "start it first"
        return await self._peer.call(op, args, on_part=self.parts.append)

    @property
    def busy(self) -> bool:
        """Whether the resident is at a tick."""
        return self.resident is not None and self.resident.is_ticking

    # --- what was kept -------------------------------------------------------------------------

    def decisions(self) -> list[Body]:
        return [line.body for line in self.lines if line.name == "decision-ledger"]

    def reflections(self) -> list[Reflection]:
        return [body for body in self.decisions() if isinstance(body, Reflection)]

    def run_lines(self, run: str) -> list[Written]:
        return [line for line in self.lines if line.name == "run" and line.member == run]

    def streamed(self) -> str:
        texts = [part["text"] for part in self.parts if isinstance(part, dict) and "text" in part]
        return "".join(cast("list[str]", texts))

    # --- answers -------------------------------------------------------------------------------

    async def answer(self, op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
        match op:
            case "ledger.append":
                return self._append(args)
            case "state.put":
                self.states.append(args["value"])
                return {}
            case "model.complete":
                return await self._complete(args, send_part)
            case "tool.run":
                return await self._run_tool(args)
            case "recall":
                self.before_recall()
                self.recalled.append(str(args["query"]))
                return {"hits": cast("Json", msgspec.to_builtins(self.hits))}
            case "event":
                self.events.append(msgspec.convert(args["event"], Event))
                return {}
            case _:
                return self._shown(op, args)

    def _shown(self, op: str, args: Fields) -> Json:
        match op:
            case "surface":
                return self._surface(read(args, SurfaceArguments))
            case "artifact.put":
                return self._put(read(args, ArtifactArguments))
            case _:
                raise GnomonError(f"The gateway answers no {op!r}.")

    def _surface(self, asked: SurfaceArguments) -> Json:
        if self.refuses_surfaces:
            raise LedgerClosedError("The ledger is closed.")
        self.surfaces.append(asked)
        if asked.dedupe_key in self.old_news:
            return fields(SurfaceReply(surface_id=None, suppressed=True))
        return fields(SurfaceReply(surface_id=f"sf-{len(self.surfaces)}", suppressed=False))

    def _put(self, asked: ArtifactArguments) -> Json:
        made = read_artifact(asked.text, asked.action_kind)
        known = [each for each in self.artifacts if each.title == asked.title]
        before = read_artifact(known[-1].text).points if known else None
        self.artifacts.append(asked)
        news = is_news(made.points, before)
        name = f"{slug(asked.action_kind, asked.title)}@v{len(known) + 1}"
        mode: SurfaceMode = "queue" if news else "hold"
        return fields(ArtifactReply(artifact=name, progressed=news, surface_mode=mode))

    def _append(self, args: Fields) -> Json:
        name = cast("LedgerName", args["name"])
        said = cast("Fields", args["fields"])
        try:
            body = msgspec.convert({**said, "kind": args["kind"]}, type=BODIES[name])
        except msgspec.ValidationError as error:
            raise RecordError(str(error), kind=args["kind"], reason=str(error)) from error
        assert isinstance(body, Body)
        self.refuse(name, body)
        member = cast("str | None", args.get("id"))
        self.lines.append(Written(name, member, body, bool(args.get("durable", True))))
        key = f"{name}/{member}"
        self._heads[key] = self._heads.get(key, 0) + 1
        return fields(Ack(seq=self._heads[key], at=self.now, sha256="0" * 64))

    async def _complete(self, args: Fields, send_part: Callable[[Json], None]) -> Json:
        request = msgspec.convert(args["request"], ModelRequest)
        self.requests.append((cast("str | None", args.get("run")), request))
        reply = await self.model.complete(request, lambda text: send_part({"text": text}))
        return fields(reply)

    async def _run_tool(self, args: Fields) -> Json:
        call = msgspec.convert(args["call"], ToolCall)
        arguments = msgspec.json.decode(call.arguments, type=dict[str, object])
        result = await self.tools.run(call.name, cast("Fields", arguments))
        return {"text": result.text, "error": result.error}

    def _observe(self) -> tuple[ScaffoldText, tuple[Problem, ...]]:
        if self.scaffold is None:
            texts = packaged_defaults()
            return ScaffoldText(version=version_name(1, texts), files=texts), ()
        state = self.scaffold.observe(self.now)
        problems = tuple(
            Problem(file=found.file, line=found.line, reason=found.reason)
            for found in state.new_problems
        )
        return ScaffoldText(version=state.version, files=state.files), problems
