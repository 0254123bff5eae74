"""A jailed process without a process: a role's real module on a pipe in memory."""

import asyncio
from collections.abc import Awaitable, Callable

from gnomon.domain.errors import GnomonError
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

    def __init__(
        self, peer: Peer, life: "asyncio.Task[int]", pipes: tuple["asyncio.Task[None]", ...]
    ) -> None:
        self.peer = peer
        self.self_test: Fields = {}
        self._life = life
        self._tasks = (life, *pipes)

    @classmethod
    async def begin(
        cls, role: Role, entry: Entry, argument: Fields, serve: Serve | None
    ) -> "MemoryChild":
        """Start `entry` as a process of `role`; `serve` answers what it asks."""
        ours, theirs = peer_pair()
        if serve is not None:
            ours.serve(guard(role, serve))

        async def live() -> int:
            """Its exit code. One that fails as it may is gone, as a process is; any other error
            is a fault, and is left to whoever looks for those.
            """
            try:
                await entry(theirs, argument)
            except GnomonError:
                return 1
            finally:
                theirs.close()
            return 0

        pipes = (asyncio.create_task(ours.run()), asyncio.create_task(theirs.run()))
        life = asyncio.create_task(live())
        try:
            await ours.greeting()
        except BaseException:  # also when who starts it gives up
            for task in (life, *pipes):
                task.cancel()
            raise
        return cls(ours, life, pipes)

    async def wait(self) -> int:
        await self.peer.closed()
        return self._life.result() if self._life.done() else 0

    async def stop(self, grace: float) -> None:
        """End it; `grace` is for it to end by itself."""
        self.peer.close()
        await asyncio.wait(self._tasks, timeout=max(grace, 1.0))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
