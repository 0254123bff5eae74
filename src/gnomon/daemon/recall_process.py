"""Recall's process: started when something is asked, ended when nobody did for a while."""

from gnomon.daemon.platform import ChildProcess, Platform
from gnomon.daemon.stores import Stores
from gnomon.domain.views import Source
from gnomon.home import AgentPaths


class RecallProcess:
    """Brings the index up to the ledgers, then searches it."""

    def __init__(self, agent: AgentPaths, stores: Stores, platform: Platform) -> None:
        self._agent = agent
        self._stores = stores
        self._platform = platform
        self._child: ChildProcess | None = None

    async def search(self, query: str, limit: int) -> tuple[Source, ...]:
        return ()

    async def end_if_idle(self) -> None:
        return

    async def close(self) -> None:
        return
