"""A jailed process without a process: a role's real module on a pipe in memory."""

import asyncio
from collections.abc import Awaitable, Callable

from gnomon.domain.json_value import Fields
from gnomon.domain.policy import Role
from gnomon.domain.views import JailLevel
from gnomon.testing.pipe import peer_pair
from gnomon.trust.ipc import Peer, Serve
from gnomon.trust.roles import guard

Entry = Callable[[Peer, Fields], Awaitable[None]]


class MemoryChild:
    """What `trust.jail.Child` is to its users. The trust table stands behind its pipe too."""

    level: JailLevel = "none"
    pid = 0

    def __init__(self, peer: Peer, tasks: tuple["asyncio.Task[None]", ...]) -> None:
        self.peer = peer
        self.self_test: Fields = {}
        self._tasks = tasks

    @classmethod
    async def begin(
        cls, role: Role, entry: Entry, argument: Fields, serve: Serve | None
    ) -> "MemoryChild":
        """Start `entry` as a process of `role`; `serve` answers what it asks."""
        ours, theirs = peer_pair()
        if serve is not None:
            ours.serve(guard(role, serve))

        async def live() -> None:
            await entry(theirs, argument)
            theirs.close()

        tasks = (
            asyncio.create_task(ours.run()),
            asyncio.create_task(theirs.run()),
            asyncio.create_task(live()),
        )
        await ours.greeting()
        return cls(ours, tasks)

    async def wait(self) -> int:
        await self.peer.closed()
        return 0

    async def stop(self, grace: float) -> None:
        """End it; `grace` is for it to end by itself."""
        self.peer.close()
        await asyncio.wait(self._tasks, timeout=max(grace, 1.0))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
