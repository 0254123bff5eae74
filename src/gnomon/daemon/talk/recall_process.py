"""Recall's process: started when something is asked, ended when nobody did for a while."""

import asyncio

import msgspec

from gnomon.daemon.platform import ChildProcess, Platform
from gnomon.daemon.store.stores import Stores
from gnomon.disk import PRIVATE_FILE
from gnomon.domain.errors import PipeError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.ledgers import LedgerName
from gnomon.domain.plain import fields, read
from gnomon.domain.views import Source
from gnomon.home import AgentPaths
from gnomon.memory.recall_main import IndexRequest, LedgerPlace, RecallArgument
from gnomon.trust.jail import Grants

RECALL_MODULE = "gnomon.memory.recall_main"
INDEXED: tuple[LedgerName, ...] = ("observations", "observations-imported")
IDLE_SECONDS = 120.0
GRACE_SECONDS = 2.0
ANSWER_SECONDS = 30.0
"""Without a sign from it: an index of any size says how far it is every few hundred lines."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """`notes` is how many are indexed; 0 after a damaged index was thrown away."""

    hits: tuple[Source, ...]
    notes: int


class RecallProcess:
    """Brings the index up to the ledgers' heads, then searches it."""

    def __init__(self, agent: AgentPaths, stores: Stores, platform: Platform) -> None:
        self._agent = agent
        self._stores = stores
        self._platform = platform
        self._child: ChildProcess | None = None
        self._indexed: dict[str, int] = {}
        self._asking = asyncio.Lock()
        self._used_at = 0.0

    async def search(self, query: str, limit: int) -> tuple[Source, ...]:
        """Dated quotes, best first. A process that died, or is stuck, is started once more.

        Raises PipeError when that did not help.
        """
        async with self._asking:
            self._used_at = self._platform.clock.monotonic()
            try:
                return await self._search(query, limit)
            except PipeError:
                await self.close()
            try:
                return await self._search(query, limit)
            except PipeError:
                await self.close()
                raise

    async def end_if_idle(self) -> None:
        idle = self._platform.clock.monotonic() - self._used_at >= IDLE_SECONDS
        if idle and self._child is not None and not self._asking.locked():
            await self.close()

    async def close(self) -> None:
        child, self._child = self._child, None
        self._indexed = {}
        if child is not None:
            await child.stop(GRACE_SECONDS)

    async def _search(self, query: str, limit: int) -> tuple[Source, ...]:
        child = self._child = self._child or await self._start()
        found = await self._ask(child, query, limit)
        if found.notes == 0 and any(self._indexed.values()):
            self._indexed = {}  # the index was damaged and begun anew
            found = await self._ask(child, query, limit)
        return found.hits

    async def _ask(self, child: ChildProcess, query: str, limit: int) -> Found:
        await self._bring_up(child)
        args: Fields = {"query": query, "limit": limit}
        return read(await _answer(child, "search", args), Found)

    async def _bring_up(self, child: ChildProcess) -> None:
        heads = {name: self._stores.files[name].head for name in INDEXED}
        stale = {n: head for n, head in heads.items() if head.seq != self._indexed.get(n, 0)}
        if not stale:
            return
        request = IndexRequest(heads={str(name): head for name, head in heads.items()})
        await _answer(child, "index", fields(request))
        self._indexed = {name: head.seq for name, head in heads.items()}

    async def _start(self) -> ChildProcess:
        index = self._agent.recall_index
        index.touch(mode=PRIVATE_FILE)
        argument = RecallArgument(
            index=str(index),
            ledgers=(
                LedgerPlace(name="observations", path=str(self._agent.observations)),
                LedgerPlace(
                    name="observations-imported", path=str(self._agent.observations_imported)
                ),
            ),
        )
        return await self._platform.start_child(
            "recall",
            RECALL_MODULE,
            fields(argument),
            Grants(read=(self._agent.memory,), write=(index,)),
            serve=None,
        )


async def _answer(child: ChildProcess, op: str, args: Fields) -> Json:
    """Its answer. Raises PipeError when it gives no sign for ANSWER_SECONDS."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(ANSWER_SECONDS) as bound:

            def moved(_: Json) -> None:
                bound.reschedule(loop.time() + ANSWER_SECONDS)

            return await child.peer.call(op, args, on_part=moved)
    except TimeoutError as error:
        raise PipeError(
            "The search of your history got stuck.",
            next_step="Ask again; `gnomon doctor` says more.",
            op=op,
        ) from error
