"""What the machine gives a gateway: clocks, ids, jailed processes. The simulator gives others."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Protocol, TypeVar

from gnomon.disk import SYSTEM_DISK, Disk
from gnomon.domain.json_value import Fields
from gnomon.domain.policy import Role
from gnomon.domain.ports import Child, Clock, Ids
from gnomon.domain.views import JailLevel
from gnomon.trust.ipc import Serve
from gnomon.trust.jail import Grants

T = TypeVar("T")


class ChildProcess(Child, Protocol):
    """A child that tells of its jail."""

    @property
    def level(self) -> JailLevel: ...
    @property
    def self_test(self) -> Fields:
        """What its jail proved at the start; empty where there is none."""
        ...


class StartChild(Protocol):
    """Start a role's process: its module, its argument, and what it may touch."""

    def __call__(
        self, role: Role, module: str, argument: Fields, grants: Grants, *, serve: Serve | None
    ) -> Awaitable[ChildProcess]: ...


@dataclass(frozen=True)
class Platform:
    clock: Clock
    ids: Ids
    environ: Mapping[str, str]
    start_child: StartChild
    jail_level: Callable[[], JailLevel]
    power_bound: Callable[[], bool]
    disk: Disk = SYSTEM_DISK
    start_unjailed: StartChild | None = None
    """As `start_child`, also where there is no jail: for operators that allowed it."""
    threads: Executor | None = None
    """Where syncs and walks of history run; null: the event loop's own."""

    async def beside(self, work: Callable[[], T]) -> T:
        """Run what takes long beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, work)
