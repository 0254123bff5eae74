"""A core for a CLI verb when no daemon runs: the home's lock, a core, the table."""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from gnomon.daemon.acts import Acts
from gnomon.daemon.health.inspection import inspection
from gnomon.daemon.operations import table
from gnomon.daemon.platform import Platform
from gnomon.daemon.store.create import ensure_root
from gnomon.daemon.wire import open_core
from gnomon.domain.errors import ConfigError, GnomonError, LedgerError, StateError
from gnomon.gateway.operation import Operation
from gnomon.home import Home
from gnomon.lock import HomeLock


@asynccontextmanager
async def open_operations(
    home: Home, agent: str, platform: Platform
) -> AsyncGenerator[Mapping[str, Operation]]:
    """The table of operations over a home that no daemon holds.

    A home whose ledgers, state or settings cannot be used still gives what inspects it
    (`verify`, `doctor`, `journal`); anything else raises what is wrong when it is asked for.
    Raises HomeLockedError, HomeError.
    """
    ensure_root(home)
    lock = HomeLock.acquire(home.lock, pid=os.getpid())
    try:
        async with AsyncExitStack() as stack:
            operations: Mapping[str, Operation]
            try:
                core = await stack.enter_async_context(open_core(home, agent, platform))
                operations = table(core, Acts(core))
            except (LedgerError, StateError, ConfigError) as fault:
                rows = inspection(home, home.agent(agent), platform)
                operations = Faulty({row.name: row for row in rows}, fault)
            yield operations
    finally:
        lock.release()


class Faulty(dict[str, Operation]):
    """What works of a damaged home; asking for more raises the damage."""

    def __init__(self, working: Mapping[str, Operation], fault: GnomonError) -> None:
        super().__init__(working)
        self._fault = fault

    def __missing__(self, name: str) -> Operation:
        raise self._fault
