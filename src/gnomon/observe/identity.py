"""Names of turns, messages and sessions as 64-bit keys, and who told them first.

A resumed session repeats what its origin holds, with the same ids. What a key's first owner
told counts; what others repeat does not.
"""

from collections.abc import Iterator
from hashlib import blake2b
from struct import Struct

ENTRY = Struct(">QQQ")
"""Key, owner, digest of what was said last under the key (0 where that does not matter)."""


def key(*parts: str) -> int:
    """The key of a name; parts are kept apart."""
    text = "\0".join(parts).encode("utf-8", "replace")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


def digest(data: bytes) -> int:
    """Of what was said; never 0."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") | 1


class Recent:
    """A set with a bound: it forgets the oldest half when full.

    60 bytes an entry; exact for repeats that are less than `size` entries apart.
    """

    def __init__(self, size: int = 1_000_000) -> None:
        self._size = size
        self._young: set[int] = set()
        self._old: set[int] = set()

    def add(self, value: int) -> bool:
        """Remember it; false when it was there."""
        if value in self._young or value in self._old:
            return False
        if len(self._young) >= self._size:
            self._old, self._young = self._young, set()
        self._young.add(value)
        return True


class Owners:
    """Which file and session told a key first, and what it last said."""

    def __init__(self, entries: bytes = b"") -> None:
        self._owners: dict[int, int] = {}
        self._digests: dict[int, int] = {}
        self._new = bytearray()
        for name, owner, said in ENTRY.iter_unpack(entries[: len(entries) // 24 * 24]):
            self._note(name, owner, said)

    def __len__(self) -> int:
        return len(self._owners)

    def _note(self, name: int, owner: int, said: int) -> None:
        self._owners[name] = owner
        if said:
            self._digests[name] = said

    def claim(self, name: int, owner: int) -> bool:
        """Whether the owner told it first; takes it when nobody did."""
        first = self._owners.get(name)
        if first is None:
            self._write(name, owner, 0)
            return True
        return first == owner

    def news(self, name: int, owner: int, said: int) -> "bool | None":
        """What a statement is: true when its key is new, null when the owner now says
        something else than before, false when there is nothing to write.
        """
        first = self._owners.get(name)
        if first is None:
            self._write(name, owner, said)
            return True
        if first != owner or self._digests.get(name) == said:
            return False
        self._write(name, owner, said)
        return None

    def _write(self, name: int, owner: int, said: int) -> None:
        self._note(name, owner, said)
        self._new += ENTRY.pack(name, owner, said)

    def take_new(self) -> bytes:
        """The entries that were made since the last time this was asked."""
        data = bytes(self._new)
        self._new.clear()
        return data


def compacted(entries: bytes) -> bytes:
    """The same knowledge without entries that later ones replace."""
    last = {entry[0]: entry for entry in _entries(entries)}
    return b"".join(ENTRY.pack(*entry) for entry in last.values())


def _entries(entries: bytes) -> Iterator[tuple[int, int, int]]:
    yield from ENTRY.iter_unpack(entries[: len(entries) // ENTRY.size * ENTRY.size])
