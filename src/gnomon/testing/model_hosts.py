"""Model hosts without processes: the real child modules, on a pipe in memory."""

import asyncio
import importlib
from collections.abc import Awaitable, Callable

from gnomon.domain.json_value import Fields
from gnomon.models.hosted import HostPlan
from gnomon.testing.pipe import peer_pair
from gnomon.trust.ipc import Peer

ServeChild = Callable[[Peer, Fields], Awaitable[None]]


class MemoryChild:
    """A started host: `trust.jail.Child` in the eyes of its adapter."""

    def __init__(self, pid: int, peer: Peer, tasks: tuple[asyncio.Task[None], ...]) -> None:
        self.pid = pid
        self.peer = peer
        self._tasks = tasks
        self.stopped = False

    async def wait(self) -> int:
        await self.peer.closed()
        return 0

    async def stop(self, grace: float) -> None:
        """End it; a host in memory needs no grace."""
        self.stopped = True
        self.kill()
        await asyncio.wait(self._tasks, timeout=max(grace, 1.0))

    def kill(self) -> None:
        """Die at once, as by a signal."""
        self.peer.close()
        for task in self._tasks:
            task.cancel()


class MemoryHosts:
    """Starts hosts. `serve` stands for the child's module, which is imported unless given."""

    def __init__(self, serve: ServeChild | None = None) -> None:
        self._serve = serve
        self.started: list[MemoryChild] = []
        self.plans: list[HostPlan] = []

    async def start(self, plan: HostPlan) -> MemoryChild:
        """As `trust.jail.start` in the role `model-host`."""
        ours, theirs = peer_pair()
        serve = self._serve or importlib.import_module(plan.module).serve
        tasks = (
            asyncio.create_task(ours.run()),
            asyncio.create_task(theirs.run()),
            asyncio.create_task(_as_child(serve, theirs, plan.argument)),
        )
        child = MemoryChild(len(self.started) + 1, ours, tasks)
        self.plans.append(plan)
        self.started.append(child)
        return child

    async def stop_all(self) -> None:
        for child in self.started:
            await child.stop(0.0)


async def _as_child(serve: ServeChild, peer: Peer, argument: Fields) -> None:
    try:
        await serve(peer, argument)
    finally:
        peer.close()
