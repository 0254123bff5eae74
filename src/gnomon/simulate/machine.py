"""The simulated machine: clocks, a disk, processes that share one event loop, and one gateway
after the other on the same home. A gateway ends in order, or it is gone in mid-write.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from gnomon.daemon.acts import Acts
from gnomon.daemon.core import RESIDENT_MODULE, Core
from gnomon.daemon.life import Life
from gnomon.daemon.operations import table
from gnomon.daemon.platform import ChildProcess, Platform
from gnomon.daemon.wire import open_core
from gnomon.domain.errors import GnomonError, JailError
from gnomon.domain.json_value import Fields
from gnomon.domain.ledgers import LedgerName
from gnomon.domain.policy import Role
from gnomon.gateway.door import Door, entered
from gnomon.gateway.operation import Operation
from gnomon.gateway.request import arguments_of_fields
from gnomon.home import Home
from gnomon.ledger.places import ledgers_of
from gnomon.resident import main as resident
from gnomon.simulate.disk import SimulatedDisk
from gnomon.simulate.script import SimulatedModel
from gnomon.simulate.virtual_time import VirtualClock
from gnomon.simulate.witness import Witness
from gnomon.testing.clock import SequenceIds
from gnomon.testing.crash import Kill, Killed
from gnomon.testing.ledger import InlineThreads
from gnomon.testing.memory_child import Entry, MemoryChild
from gnomon.trust.ipc import Peer, Serve
from gnomon.trust.jail import Grants

AGENT = "main"
MODEL_HOST = "gnomon.models.openai_host"
ENVIRON = {"GNOMON_MODEL": "simulated", "GNOMON_MODEL_URL": "http://127.0.0.1:9/v1"}
DOOR = Door("operator", "cli")
GRACE_SECONDS = 60.0
"""Virtual seconds for the tasks of a gateway that was killed to end; they have nothing to do."""
T = TypeVar("T")


class GatewayDiedError(Exception):
    """The gateway was killed while something was asked of it."""


@dataclass
class Gateway:
    """One life. `died` is set once a kill has struck."""

    core: Core
    life: Life
    operations: dict[str, Operation]
    opened: AbstractAsyncContextManager[Core]


@dataclass
class Machine:
    """`gateway` is null while none runs. Nothing here decides; `gnomon.simulate.world` does."""

    home: Home
    clock: VirtualClock
    model: SimulatedModel
    witness: Witness
    gateway: Gateway | None = None
    ids: SequenceIds = field(default_factory=SequenceIds)
    disk: SimulatedDisk = field(init=False)
    died: asyncio.Event = field(default_factory=asyncio.Event)
    children: dict[Role, MemoryChild] = field(default_factory=dict[Role, MemoryChild])
    full: bool = False
    sync_fails: bool = False
    without: frozenset[Role] = frozenset()
    """Roles whose processes do not start here."""
    down: int = 0
    """How many seconds it stays down once the armed kill has struck."""

    def arm(self, kill: Kill, down: int) -> None:
        """The gateway dies at one of its disk's next calls."""
        self.disk.arm(kill)
        self.down = down

    def disarm(self) -> None:
        self.disk.disarm()

    def spoil(self, *, full: bool, sync_fails: bool) -> None:
        """What the disk refuses from now on, in this life and the next."""
        self.full = self.disk.full = full
        self.sync_fails = self.disk.sync_fails = sync_fails

    @property
    def disk_is_well(self) -> bool:
        return not (self.full or self.sync_fails)

    def end_child(self, role: Role) -> None:
        """A process of a role ends without a word."""
        child = self.children.pop(role, None)
        if child is not None:
            child.peer.close()

    # --- lives -------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start a gateway. Raises what keeps it from starting, or GatewayDiedError."""
        self.died.clear()
        self.disk = SimulatedDisk(self.clock.wall, self.died.set)
        self.disk.full, self.disk.sync_fails = self.full, self.sync_fails
        await self.unless_killed(self._start())

    async def stop(self) -> None:
        """End it in order. Raises what keeps it from that, or GatewayDiedError."""
        gateway = self.running
        await self.unless_killed(self._stop(gateway))
        self.gateway = None

    async def bury(self, kill: Kill | None = None) -> None:
        """End it at once, if it is not dead yet, and all that belonged to it."""
        gateway, self.gateway = self.gateway, None
        if not self.disk.dead:
            self.disk.die(kill)
        ours = asyncio.current_task()
        for _ in range(3):  # what ends may begin something else
            others = asyncio.all_tasks() - {ours}
            if not others:
                break
            for task in others:
                task.cancel()
            await asyncio.wait(others, timeout=GRACE_SECONDS)
        self.children.clear()
        if gateway is not None:
            await self._let_go(gateway.opened)

    @property
    def running(self) -> Gateway:
        assert self.gateway is not None, "no gateway runs"
        return self.gateway

    async def unless_killed(self, work: Coroutine[Any, Any, T]) -> T:
        """What comes of it. Raises GatewayDiedError when a kill strikes meanwhile."""
        task = asyncio.ensure_future(work)
        died = asyncio.ensure_future(self.died.wait())
        try:
            await asyncio.wait((task, died), return_when=asyncio.FIRST_COMPLETED)
            if self.died.is_set():
                raise GatewayDiedError
            return task.result()
        finally:
            for each in (task, died):
                each.cancel()
            await asyncio.gather(task, died, return_exceptions=True)

    async def ask(self, name: str, **arguments: Any) -> Any:
        """An operation, as the operator. Raises what it raises, or GatewayDiedError."""
        operation = self.running.operations[name]

        async def run() -> Any:
            with entered(DOOR):
                given = arguments_of_fields(operation, arguments)
                return await operation.run(given, lambda _: None)

        return await self.unless_killed(run())

    # --- inside ------------------------------------------------------------------------------

    async def _start(self) -> None:
        opened = open_core(self.home, AGENT, self._platform())
        try:
            core = await opened.__aenter__()
        except BaseException:
            self.gateway = None
            raise
        life = Life(core, boot=self.clock.boot_id)
        operations = dict(table(core, Acts(core)))
        self.gateway = Gateway(core, life, operations, opened)
        self._watch(core)
        await life.begin()

    async def _stop(self, gateway: Gateway) -> None:
        await gateway.life.end()
        await gateway.opened.__aexit__(None, None, None)

    async def _let_go(self, opened: AbstractAsyncContextManager[Core]) -> None:
        """Close a dead core: every call of its disk is refused, so nothing comes of it."""
        gone = Killed("the process is gone")
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                await opened.__aexit__(Killed, gone, None)
        except (Killed, GnomonError, OSError, TimeoutError, RuntimeError):
            return

    def _watch(self, core: Core) -> None:
        stores, agent = core.stores, core.agent
        paths: dict[LedgerName, Path] = {
            "anchors": self.home.anchors,
            "spend-ledger": self.home.spend_ledger,
            **ledgers_of(agent),
        }
        for name, file in stores.files.items():
            self.witness.watch(file, paths[name])
        self.witness.watch_family(stores.sessions, agent.sessions)
        self.witness.watch_family(stores.runs, agent.runs)

    def _platform(self) -> Platform:
        return Platform(
            clock=self.clock,
            ids=self.ids,
            environ=ENVIRON,
            start_child=self._child,
            jail_level=lambda: "none",
            power_bound=lambda: False,
            disk=self.disk,
            threads=InlineThreads(),
        )

    async def _child(
        self, role: Role, module: str, argument: Fields, grants: Grants, *, serve: Serve | None
    ) -> ChildProcess:
        """A role's module, in this event loop; the model's host is played."""
        del grants
        if role in self.without:
            raise JailError(f"Simulated: no {role} starts here.", role=role)
        entries: dict[str, Callable[[Peer, Fields], Awaitable[None]]] = {
            MODEL_HOST: self.model.serve,
            RESIDENT_MODULE: self._resident,
        }
        entry: Entry = entries.get(module) or import_module(module).serve
        child = await MemoryChild.begin(role, entry, argument, serve)
        self.children[role] = child
        return child

    async def _resident(self, peer: Peer, argument: Fields) -> None:
        """The real resident, by this machine's clock and ids."""
        await resident.live(peer, argument, self.clock, self.ids)
