"""Ledgers of one kind, one file an id: sessions and run-logs. Opened when first written to,
and few at a time: there may be 100,000 of them.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path

from gnomon.disk import SYSTEM_DISK, Disk
from gnomon.domain.errors import UsageError
from gnomon.domain.ledgers import Ack, Head, Line
from gnomon.domain.ports import Clock, Ledger
from gnomon.domain.records import AnchoredHead, Body
from gnomon.ledger.file import Journal, LedgerFile
from gnomon.ledger.opening import inspect
from gnomon.ledger.reading import LedgerReader
from gnomon.ledger.segments import is_later_segment

MAX_OPEN = 32
"""Files of one family that are open at once: far below any limit on descriptors."""
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,127}", re.ASCII)
"""No dot, slash or capital: an id is one file name, and the same one on every system."""

Known = Callable[[str], AnchoredHead | None]
"""The last anchored head of a ledger's name (`session/<id>`)."""


class LedgerFamily:
    """The ledgers `<kind>/<id>` in a folder, all holding `bodies`."""

    def __init__(  # noqa: PLR0913 - the wiring hands over each part
        self,
        folder: Path,
        kind: str,
        bodies: object,
        clock: Clock,
        journal: Journal,
        *,
        max_open: int = MAX_OPEN,
        known: Known = lambda _: None,
        disk: Disk = SYSTEM_DISK,
        threads: Executor | None = None,
    ) -> None:
        self._folder = folder
        self._kind = kind
        self._bodies = bodies
        self._clock = clock
        self._journal = journal
        self._max_open = max_open
        self._known = known
        self._disk = disk
        self._threads = threads
        self._open: OrderedDict[str, LedgerFile] = OrderedDict()
        self._written: dict[str, Head] = {}
        self._opening = asyncio.Lock()

    def get(self, member: str) -> Ledger:
        """The ledger of an id; its file is made by the first append. Raises UsageError when
        the id is none.
        """
        return _Member(self, check_id(member, self._kind))

    def ids(self) -> Iterator[str]:
        """Every id that has a file, in no order."""
        if self._folder.is_dir():
            for path in self._folder.glob("*.jsonl"):
                if not is_later_segment(path) and _ID.fullmatch(path.stem):
                    yield path.stem

    def heads(self) -> dict[str, Head]:
        """Durable heads, by name, of the ledgers written to in this life: for anchors."""
        for member, ledger in self._open.items():
            if member in self._written:
                self._written[member] = ledger.durable_head
        return {self.name(member): head for member, head in self._written.items()}

    def name(self, member: str) -> str:
        return f"{self._kind}/{member}"

    def reader(self, member: str) -> LedgerReader:
        return LedgerReader(self._folder / f"{member}.jsonl", self.name(member), self._bodies)

    def opened(self, member: str) -> LedgerFile | None:
        """The open file, if it is open; it then counts as used last."""
        ledger = self._open.get(member)
        if ledger is not None:
            self._open.move_to_end(member)
        return ledger

    async def append(self, member: str, body: Body, *, durable: bool = True) -> Ack:
        """Append to the ledger of an id, opening it if need be. Raises as `Ledger.append`."""
        ledger = self.opened(member) or await self._opened_anew(member)
        # Nothing is awaited between finding the file and handing it the line, so that it
        # cannot be closed in between.
        appending = ledger.append(body, durable=durable)
        ack = await appending
        self._written[member] = ledger.durable_head
        return ack

    async def mend(self, member: str) -> None:
        """Open the file of an id, if there is one: a torn tail is set aside by that."""
        if member not in self._open and (self._folder / f"{member}.jsonl").exists():
            await self._opened_anew(member)

    @property
    def has_failed(self) -> bool:
        """Whether a failed sync or write has closed one of its files."""
        return any(ledger.closed_because is not None for ledger in self._open.values())

    async def reopen_failed(self) -> None:
        """Reopen and verify each file that a failed sync or write has closed.

        Raises as `LedgerFile.reopen_verified`; those that fail stay closed.
        """
        for ledger in list(self._open.values()):
            await ledger.reopen_verified(self._journal)

    async def close(self) -> None:
        """Sync and close every open file."""
        async with self._opening:
            while self._open:
                await self._close_oldest()

    async def _opened_anew(self, member: str) -> LedgerFile:
        async with self._opening:  # one at a time: a file must not be opened twice
            ledger = self.opened(member)
            if ledger is not None:
                return ledger
            while len(self._open) >= self._max_open:
                await self._close_oldest()
            name = self.name(member)
            ledger = LedgerFile.open(
                self._folder / f"{member}.jsonl",
                name,
                self._bodies,
                self._clock,
                self._journal,
                known=self._known(name),
                disk=self._disk,
                threads=self._threads,
            )
            self._open[member] = ledger
            return ledger

    async def _close_oldest(self) -> None:
        member, ledger = next(iter(self._open.items()))
        del self._open[member]
        try:
            await ledger.close()
        finally:
            if member in self._written:
                self._written[member] = ledger.durable_head


class _Member:
    """One ledger of a family, as the `Ledger` port."""

    def __init__(self, family: LedgerFamily, member: str) -> None:
        self._family = family
        self._member = member

    @property
    def name(self) -> str:
        return self._family.name(self._member)

    @property
    def head(self) -> Head:
        ledger = self._family.opened(self._member)
        return ledger.head if ledger else inspect(self._family.reader(self._member)).head

    async def append(self, body: Body, *, durable: bool = True) -> Ack:
        return await self._family.append(self._member, body, durable=durable)

    def read(self, *, after_seq: int = 0, until: Head | None = None) -> Iterator[Line]:
        ledger = self._family.opened(self._member)
        source = ledger or self._family.reader(self._member)
        return source.read(after_seq=after_seq, until=until)


def check_id(member: str, kind: str) -> str:
    """The id, if it is one: a file name of its own in any file system."""
    if _ID.fullmatch(member) is None:
        raise UsageError(
            f"{member[:80]!r} is no id of a {kind}.",
            next_step="An id has lower-case letters, digits, - and _, at most 128 of them.",
        )
    return member
