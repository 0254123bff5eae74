"""Recall's process: jailed, on demand.

It reads the observation ledgers, keeps its one index file, and answers `index {heads}` and
`search {query, limit}`.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import cast

import msgspec

from gnomon.domain.errors import UsageError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.ledgers import BODIES, Head, LedgerName, Line
from gnomon.domain.plain import read
from gnomon.domain.records_observe import Observation
from gnomon.ledger.reading import LedgerReader
from gnomon.memory.index import RecallIndex
from gnomon.memory.query import parse
from gnomon.memory.recall import sources
from gnomon.trust.ipc import Peer

CHUNK = 500
"""Lines that are indexed in one transaction; between two of them a question is answered."""
MOST_ANSWERS = 50
OWN = "gnomon"
"""The source of what this agent did itself (`Observation.source`)."""


class LedgerPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A ledger of observations, and the file that it begins in."""

    name: LedgerName
    path: str


class RecallArgument(msgspec.Struct, frozen=True, kw_only=True):
    """`index` is there already (it may be empty) and may be written; `ledgers` may be read."""

    index: str
    ledgers: tuple[LedgerPlace, ...]


class IndexRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The acknowledged heads, by ledger; one that is not named is not looked at."""

    heads: dict[str, Head] = {}


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    query: str
    limit: int = 8


class Service:
    """Answers the gateway."""

    def __init__(self, argument: RecallArgument) -> None:
        self._index = RecallIndex(Path(argument.index))
        self._readers = {
            place.name: LedgerReader(Path(place.path), place.name, BODIES[place.name])
            for place in argument.ledgers
        }
        self._indexing = asyncio.Lock()

    async def answer(self, op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
        match op:
            case "index":
                return await self._bring_up(read(args, IndexRequest), send_part)
            case "search":
                return self._search(read(args, SearchRequest))
            case "stop":
                return {}
            case _:
                raise UsageError(f"Recall does not answer {op!r}.", op=op)

    # --- index ---------------------------------------------------------------------------

    async def _bring_up(self, request: IndexRequest, send_part: Callable[[Json], None]) -> Json:
        async with self._indexing:
            try:
                await self._all(request.heads, send_part)
            except sqlite3.DatabaseError:
                self._index.rebuild()
                await self._all(request.heads, send_part)
        return {"notes": self._index.notes}

    async def _all(self, heads: dict[str, Head], send_part: Callable[[Json], None]) -> None:
        if not self._all_fit(heads):
            self._index.rebuild()
        for name, head in heads.items():
            reader = self._readers.get(name)
            if reader is None:
                continue
            after, _ = self._index.place(name)
            lines = reader.read(after_seq=after, until=head)
            while chunk := list(islice(lines, CHUNK)):
                last = chunk[-1]
                self._index.add(name, last.seq, last.sha256, _observations(chunk))
                send_part({"ledger": name, "seq": last.seq, "of": head.seq})
                await asyncio.sleep(0)

    def _all_fit(self, heads: dict[str, Head]) -> bool:
        """Whether the ledgers are those that were indexed; another one has other hashes."""
        return all(self._fits(name, heads[name]) for name in self._readers if name in heads)

    def _fits(self, name: str, head: Head) -> bool:
        seq, sha256 = self._index.place(name)
        if seq == 0 or seq > head.seq:
            return seq == 0
        line = next(self._readers[name].read(after_seq=seq - 1, until=head), None)
        return line is not None and line.sha256 == sha256

    # --- search --------------------------------------------------------------------------

    def _search(self, request: SearchRequest) -> Json:
        query = parse(request.query)
        limit = max(1, min(request.limit, MOST_ANSWERS))
        try:
            hits = self._index.search(query, limit)
            notes = self._index.notes
        except sqlite3.DatabaseError:
            # Damaged: the gateway is told that nothing is indexed, and indexes again.
            self._index.rebuild()
            hits, notes = [], 0
        found = sources(hits, query, limit)
        return cast("Json", {"hits": msgspec.to_builtins(found), "notes": notes})

    def close(self) -> None:
        self._index.close()


def _observations(lines: list[Line]) -> Iterator[Observation]:
    """Those that can answer something. A question that this agent answered with quotes alone is
    none: it would be the best match of the same question, asked again.
    """
    for line in lines:
        if isinstance(line.body, Observation) and (line.body.source != OWN or line.body.answer):
            yield line.body


async def serve(peer: Peer, argument: Fields) -> None:
    """Entry of the child process; returns when the gateway has gone."""
    service = Service(read(argument, RecallArgument))
    try:
        peer.serve(service.answer)
        await peer.closed()
    finally:
        service.close()
