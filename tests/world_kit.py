"""A real core over virtual time: the daemon's own wiring, in one event loop, on a home that
outlives each gateway. Hours pass in milliseconds; nothing waits for the wall.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from gnomon.daemon.acts import Acts, Running
from gnomon.daemon.core import RESIDENT_MODULE, Core
from gnomon.daemon.life import Life
from gnomon.daemon.operations import table
from gnomon.daemon.platform import ChildProcess, Platform
from gnomon.daemon.store.create import ensure_home
from gnomon.daemon.wire import open_core
from gnomon.domain.instants import Millis, parse_iso
from gnomon.domain.json_value import Fields
from gnomon.domain.ledgers import LedgerName
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.domain.policy import Role
from gnomon.domain.records_referee import Outcome, SurfaceEmitted
from gnomon.gateway.authority import Authority, digest
from gnomon.gateway.door import Door, entered
from gnomon.gateway.operation import Operation
from gnomon.gateway.request import arguments_of_fields
from gnomon.home import Home
from gnomon.resident import main as resident
from gnomon.simulate.disk import UnsyncedDisk
from gnomon.simulate.machine import MODEL_HOST
from gnomon.simulate.virtual_time import VirtualClock, VirtualTimeLoop
from gnomon.testing.clock import SequenceIds
from gnomon.testing.ledger import InlineThreads
from gnomon.testing.memory_child import Entry, MemoryChild
from gnomon.trust.ipc import Peer, Serve
from gnomon.trust.jail import Grants

START = parse_iso("2026-03-02T06:00:00Z")
AGENT = "main"
CLI = Door("operator", "cli")
BROWSER = Door("operator", "dashboard")
CLIENT = Door("client", "cli")
CALM = "[kernel]\ntick_ms = 3600000\n"
"""For stories of days that need no tick: it looks around once an hour, and not each two minutes."""
T = TypeVar("T")


def in_virtual_time(work: Callable[[], Awaitable[T]]) -> T:
    """Run it on a loop whose time jumps."""

    async def run() -> T:
        return await work()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(run())


class ScriptedHost:
    """Plays a model's host: `says` answers each request, in no time."""

    def __init__(self, says: Callable[[ModelRequest], "str | ModelReply"]) -> None:
        self.says = says
        self.requests: list[ModelRequest] = []

    async def serve(self, peer: Peer, argument: Fields) -> None:
        del argument
        peer.serve(self._answer)
        await peer.closed()

    async def _answer(self, op: str, args: Fields, send_part: Callable[[Any], None]) -> Any:
        del op, send_part
        request = msgspec.convert(args["request"], ModelRequest)
        self.requests.append(request)
        reply = self.says(request)
        if isinstance(reply, str):
            reply = ModelReply(content=reply, finish="stop", model="scripted")
        return msgspec.to_builtins(reply)


@dataclass
class Gateway:
    """One life. `ask` runs an operation as whoever came in by a door."""

    core: Core
    life: Life
    operations: dict[str, Operation]

    async def ask(self, name: str, /, door: Door | None = CLI, **arguments: Any) -> Any:
        operation = self.operations[name]
        given = arguments_of_fields(operation, arguments)
        if door is None:
            return await operation.run(given, lambda _: None)
        with entered(door):
            return await operation.run(given, lambda _: None)

    async def emit(self, title: str = "A test", **more: Any) -> str:
        return (await self.ask("inbox.emit", title=title, count=True, **more)).surface_id

    def lines(self, ledger: LedgerName = "engagement-ledger") -> list[Any]:
        return [line.body for line in self.core.stores.files[ledger].read()]

    def outcomes(self, surface_id: str | None = None) -> list[Outcome]:
        found = [body for body in self.lines() if isinstance(body, Outcome)]
        return [o for o in found if surface_id is None or o.surface_id == surface_id]

    def surfaces(self) -> list[SurfaceEmitted]:
        return [body for body in self.lines() if isinstance(body, SurfaceEmitted)]

    async def item(self, surface_id: str) -> Any:
        return (await self.ask("inbox.show", surface_id=surface_id)).item


@dataclass
class World:
    """A home with a clock. Make it inside the loop."""

    root: Path
    says: "Callable[[ModelRequest], str | ModelReply] | None" = None
    config: str = ""
    fitness: str = ""
    kind: str = "local"
    clock: VirtualClock = field(init=False)
    host: ScriptedHost = field(init=False)
    home: Home = field(init=False)
    platform: Platform = field(init=False)

    def __post_init__(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        self.clock = VirtualClock(loop, START)
        self.host = ScriptedHost(self.says or (lambda _: "{}"))
        self.home = Home(self.root.absolute())
        environ = {"GNOMON_MODEL": "none"}
        if self.says is not None:
            environ = {"GNOMON_MODEL": "scripted", "GNOMON_MODEL_URL": "http://127.0.0.1:9/v1"}
        self.platform = Platform(
            clock=self.clock,
            ids=SequenceIds(),
            environ=environ,
            start_child=self._start,
            jail_level=lambda: "none",
            power_bound=lambda: False,
            disk=UnsyncedDisk(),
            threads=InlineThreads(),
        )
        agent = self.home.agent(AGENT)
        ensure_home(self.home, agent, simulated=True)
        if self.config:
            self.home.config.write_text(self.config)
        if self.fitness:
            agent.fitness_config.write_text(self.fitness)

    @property
    def now(self) -> Millis:
        return self.clock.wall()

    @asynccontextmanager
    async def up(self, *, crashes: bool = False, boot: str = "boot") -> AsyncGenerator[Gateway]:
        """One life of a gateway. `crashes`: it ends without a word."""
        async with open_core(self.home, AGENT, self.platform) as core:
            life = Life(core, boot=boot)
            await life.begin()
            gateway = Gateway(core, life, dict(table(core, Acts(core, alive()))))
            yield gateway
            if crashes:
                assert life._beat is not None
                life._beat.cancel()
                await asyncio.gather(life._beat, return_exceptions=True)
            else:
                await life.end()

    async def _start(
        self, role: Role, module: str, argument: Fields, grants: Grants, *, serve: Serve | None
    ) -> ChildProcess:
        del grants
        entries: dict[str, Entry] = {MODEL_HOST: self.host.serve, RESIDENT_MODULE: self._resident}
        entry = entries.get(module) or import_module(module).serve
        return await MemoryChild.begin(role, entry, argument, serve)

    async def _resident(self, peer: Peer, argument: Fields) -> None:
        await resident.live(peer, argument, self.clock, self.platform.ids)


def alive() -> Running:
    """What `Acts` needs to know of a daemon that runs."""
    authority = Authority(operator_sha256=digest("token"), keep=lambda _: None)
    return Running("http://127.0.0.1:9", authority, lambda: None, lambda: None)


def kinds(lines: Sequence[Any]) -> list[str]:
    return [line.kind() for line in lines]


def lived(root: Path, story: Callable[[World, Gateway], Awaitable[None]], **settings: Any) -> None:
    """Tell a story of one life."""

    async def run() -> None:
        world = World(root / "home", **settings)
        async with world.up() as gateway:
            await story(world, gateway)

    in_virtual_time(run)
