"""What was promised to whom, in memory, beside the program: each acknowledgement that a writer
was given, and when. Compared with the bytes of the files after each death, and at the end.

Reads the files by itself: it shares no code with what wrote them.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from gnomon.domain.body import Body
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import Ack

Append = Callable[..., Awaitable[Ack]]


@dataclass(frozen=True)
class Promise:
    """An acknowledgement. `at` is true time."""

    sha256: str
    durable: bool
    at: Millis


@dataclass
class Book:
    """One ledger's promises by `seq`, and up to which one the file was compared. `broken` are
    those that were made twice.
    """

    path: Path
    promises: dict[int, Promise] = field(default_factory=dict[int, Promise])
    compared: int = 0
    may_lose: bool = False
    broken: list[int] = field(default_factory=list[int])


class Appends(Protocol):
    async def append(self, body: Body, *, durable: bool = True) -> Ack: ...


class FamilyAppends(Protocol):
    async def append(self, member: str, body: Body, *, durable: bool = True) -> Ack: ...


class Witness:
    """`true` is the true time."""

    def __init__(self, true: Callable[[], Millis]) -> None:
        self._true = true
        self.books: dict[Path, Book] = {}
        self._failing = False

    def watch(self, ledger: Appends, path: Path) -> None:
        """Hear what the writers of a ledger are told from now on."""
        append = ledger.append

        async def heard(body: Body, *, durable: bool = True) -> Ack:
            return self._note(path, await append(body, durable=durable), durable)

        ledger.append = heard

    def watch_family(self, family: FamilyAppends, folder: Path) -> None:
        append = family.append

        async def heard(member: str, body: Body, *, durable: bool = True) -> Ack:
            ack = await append(member, body, durable=durable)
            return self._note(folder / f"{member}.jsonl", ack, durable)

        family.append = heard

    def true_times(self, path: Path) -> dict[int, Millis]:
        """When each line of a ledger was acknowledged, by `seq`, as far as anyone was told."""
        book = self.books.get(path)
        return {seq: each.at for seq, each in book.promises.items()} if book else {}

    def medium_failed(self) -> None:
        """A sync failed, or the power: what was acknowledged as not yet on the medium may be
        gone, in every ledger, and in those that begin before it is well again.
        """
        self._failing = True
        for book in self.books.values():
            book.may_lose = True

    def medium_is_well(self) -> None:
        self._failing = False

    def compare(self, *, everything: bool = False) -> Iterator[str]:
        """What does not hold of invariant 2. Promises that may be broken are struck."""
        for book in self.books.values():
            if everything or book.compared < max(book.promises, default=0):
                yield from _compare(book)

    def _note(self, path: Path, ack: Ack, durable: bool) -> Ack:
        book = self.books.setdefault(path, Book(path, may_lose=self._failing))
        before = book.promises.get(ack.seq)
        if before is not None and not (book.may_lose and not before.durable):
            book.broken.append(ack.seq)
        book.promises[ack.seq] = Promise(ack.sha256, durable, self._true())
        return ack


def _compare(book: Book) -> Iterator[str]:
    name = book.path.name
    found = dict(enumerate(hashes(book.path), start=1))
    for seq, promise in sorted(book.promises.items()):
        if found.get(seq) == promise.sha256:
            continue
        if book.may_lose and not promise.durable:
            del book.promises[seq]
            continue
        what = "is lost" if seq not in found else "is another"
        yield f"line {seq} of {name}, which was acknowledged, {what}"
    yield from (f"line {seq} of {name} was acknowledged twice" for seq in book.broken)
    doubled = len(found) - len(set(found.values()))
    if doubled:
        yield f"{doubled} lines of {name} stand twice"
    book.broken.clear()
    book.compared = max(book.promises, default=0)


def hashes(first: Path) -> Iterator[str]:
    """The hash of each whole line of a ledger, in the order of its files."""
    for line in whole_lines(first):
        yield hashlib.sha256(line).hexdigest()


def whole_lines(first: Path) -> Iterator[bytes]:
    """The lines of all of a ledger's files that end; a torn tail is none."""
    later = re.compile(re.escape(first.stem) + r"\.\d{4}\.jsonl")
    beside = first.parent.glob(f"{first.stem}.*")
    for path in (first, *sorted(path for path in beside if later.fullmatch(path.name))):
        if path.exists():
            data = path.read_bytes()
            yield from data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
