"""The world as the resident has it: every port is a request over the pipe to the gateway."""

import asyncio
from collections import deque
from collections.abc import Callable

import msgspec

from gnomon.agent.outcome import Outcome
from gnomon.agent.remote_tools import RemoteTools
from gnomon.domain.body import Body
from gnomon.domain.errors import GnomonError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.ledgers import Ack, LedgerName
from gnomon.domain.plain import fields, read
from gnomon.domain.ports import Pipe
from gnomon.domain.records import RunOpened
from gnomon.domain.views import Source

RECALL_TOOL = "recall"
RECALL_LIMIT = 5


class LedgerOverPipe:
    """Appends to the ledgers that the resident authors."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    async def append(
        self, name: LedgerName, body: Body, *, member: str | None = None, durable: bool = True
    ) -> Ack:
        """Returns once the line is acknowledged. `member` is the session's or the run's id."""
        said = dict(fields(body))
        kind = said.pop("kind")
        args: Fields = {
            "name": name,
            "id": member,
            "kind": kind,
            "fields": said,
            "durable": durable,
        }
        return read(await self._pipe.call("ledger.append", args), Ack)


class RecallOverPipe:
    """Searches history and memory."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    async def search(self, query: str, limit: int = RECALL_LIMIT) -> tuple[Source, ...]:
        answer = await self._pipe.call("recall", {"query": query, "limit": limit})
        return read(answer, _Hits).hits


class _Hits(msgspec.Struct, frozen=True, kw_only=True):
    hits: tuple[Source, ...]


class ToolsOverPipe:
    """The `Tools` port of one run. `recall` is asked for as such, so that the sources of what
    the model was told can stand beside its reply; every other tool goes through the broker.
    """

    def __init__(
        self,
        pipe: Pipe,
        run: str,
        describe: Callable[[tuple[Source, ...]], str],
    ) -> None:
        self._remote = RemoteTools(pipe.call, run)
        self._recall = RecallOverPipe(pipe)
        self._describe = describe
        self.sources: list[Source] = []

    async def run(self, name: str, arguments: Fields) -> Outcome:
        if name != RECALL_TOOL:
            return await self._remote.run(name, arguments)
        asked = read(arguments, _RecallArguments)
        hits = await self._recall.search(asked.query, asked.limit)
        self.sources.extend(hit for hit in hits if hit not in self.sources)
        return Outcome(text=self._describe(hits), error=None)


class _RecallArguments(msgspec.Struct, frozen=True, kw_only=True):
    query: str
    limit: int = RECALL_LIMIT


class RunLog:
    """The log of one run: lines go out in order and nobody waits for them, until the one that
    commits. A line that could not be written is told then.
    """

    def __init__(self, ledger: LedgerOverPipe, run: str) -> None:
        self._ledger = ledger
        self._run = run
        self._queue: deque[Body] = deque()
        self._sender: asyncio.Task[None] | None = None
        self._failure: GnomonError | None = None

    async def open(self, body: RunOpened) -> None:
        """Write the first line and wait for it to be taken (not for its sync): the gateway
        must know of a run before the run's first model call or tool reaches it.
        """
        self.note(body)
        await self.drained()

    def note(self, body: Body) -> None:
        self._queue.append(body)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    async def commit(self, body: Body) -> Ack:
        """Wait for the lines before, then write this one to the disk. Raises what kept any of
        them from being written.
        """
        await self.drained()
        if self._failure is not None:
            raise self._failure
        return await self._ledger.append("run", body, member=self._run)

    async def drained(self) -> None:
        """Wait until every line so far was acknowledged, or failed."""
        while self._sender is not None and not self._sender.done():
            await asyncio.shield(self._sender)

    async def _send(self) -> None:
        while self._queue and self._failure is None:
            try:
                await self._ledger.append(
                    "run", self._queue.popleft(), member=self._run, durable=False
                )
            except GnomonError as error:
                self._failure = error
                self._queue.clear()


class StateOverPipe:
    """The one state file that the resident may ask to be written."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    async def put(self, value: Json) -> None:
        await self._pipe.call("state.put", {"name": "self-state", "value": value})
