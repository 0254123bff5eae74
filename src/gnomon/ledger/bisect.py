"""Finding lines in a file by bisecting its bytes, without reading it. Pure but for the
reads of its source.

Lines end in a newline and in nothing else (U+2028 is text). Memory is bounded by one block and one
line, whatever the file's size; a line over the bound is refused before it is held.
"""

import os
from collections.abc import Callable, Iterator
from typing import Protocol

from gnomon.ledger.codec import MAX_LINE, bad

BLOCK = 64 * 1024
"""Bytes of one read while bisecting; a range this small is scanned instead."""
STREAM_BLOCK = 1024 * 1024
"""Bytes of one read while streaming a range."""


class Source(Protocol):
    """Bytes at offsets, up to a fixed size."""

    @property
    def size(self) -> int: ...

    def read(self, offset: int, count: int) -> bytes:
        """`count` bytes, fewer at the end only."""
        ...


class FileSource:
    """A descriptor's bytes up to `size`, which later appends do not move."""

    def __init__(self, fd: int, size: int) -> None:
        self._fd = fd
        self._size = size

    @property
    def size(self) -> int:
        return self._size

    def read(self, offset: int, count: int) -> bytes:
        count = min(count, self._size - offset)
        data = os.pread(self._fd, count, offset)
        if len(data) == count:
            return data
        parts = [data]
        while parts[-1] and (got := sum(map(len, parts))) < count:
            parts.append(os.pread(self._fd, count - got, offset + got))
        return b"".join(parts)


class MemorySource:
    """Bytes at hand, for the pure tests."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        return len(self._data)

    def read(self, offset: int, count: int) -> bytes:
        return self._data[offset : offset + count]


def line_blocks(source: Source, start: int, end: int) -> Iterator[list[bytes]]:
    """The whole lines (without newlines) between two line borders, a block's at a time.

    Bytes after the last newline are not given. Raises RecordError at a line over MAX_LINE,
    once the lines before it were given.
    """
    rest = b""
    position = start
    while position < end:
        block = source.read(position, min(STREAM_BLOCK, end - position))
        if not block:
            return
        position += len(block)
        *whole, rest = (rest + block if rest else block).split(b"\n")
        if whole and len(whole[0]) > MAX_LINE:  # the others lie within one block
            raise _too_long()
        yield whole
        if len(rest) > MAX_LINE:
            raise _too_long()


def lines(source: Source, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of each of those lines."""
    offset = start
    for block in line_blocks(source, start, end):
        for raw in block:
            yield offset, raw
            offset += len(raw) + 1


def next_border(source: Source, offset: int, end: int) -> int:
    """Where the first line at or after `offset` begins; `end` when none does.

    An offset is a border when it is 0 or follows a newline.
    """
    position = max(offset - 1, 0)
    if offset == 0:
        return 0
    while position < end:
        block = source.read(position, min(BLOCK, end - position))
        found = block.find(b"\n")
        if found >= 0:
            return position + found + 1
        if not block:
            return end
        position += len(block)
    return end


def line_at(source: Source, start: int, end: int) -> bytes:
    """The line that begins at a border, without its newline. Raises RecordError when it is
    longer than MAX_LINE or does not end before `end`.
    """
    parts: list[bytes] = []
    position, held, step = start, 0, 4096
    while position < end:
        block = source.read(position, min(step, end - position))
        found = block.find(b"\n")
        if found >= 0:
            parts.append(block[:found])
            return b"".join(parts)
        if not block:
            break
        parts.append(block)
        position += len(block)
        held += len(block)
        step = BLOCK
        if held > MAX_LINE:
            raise _too_long()
    raise bad("the line has no end")


def first_line_with(source: Source, end: int, key: Callable[[bytes], int], target: int) -> int:
    """The border of the first line whose key is at least `target`; `end` when none is.

    Keys must not fall along the file. O(log size) reads.
    """
    low, high = 0, end  # the answer lies in [low, high], both borders
    while high - low > BLOCK:
        middle = next_border(source, (low + high) // 2, high)
        if middle >= high:
            return _scan(source, low, high, key, target)
        raw = line_at(source, middle, high)
        if key(raw) >= target:
            high = middle
        else:
            low = middle + len(raw) + 1
    return _scan(source, low, high, key, target)


def last_border(source: Source, end: int) -> int:
    """The offset after the last newline before `end`: where an unfinished line begins."""
    position = end
    while position > 0:
        start = max(position - BLOCK, 0)
        found = source.read(start, position - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        position = start
    return 0


def _scan(source: Source, low: int, high: int, key: Callable[[bytes], int], target: int) -> int:
    """The last step: a block's lines, halved as a list; longer lines one by one."""
    if high - low <= BLOCK:
        return low + _within(source.read(low, high - low), key, target)
    for offset, raw in lines(source, low, high):
        if key(raw) >= target:
            return offset
    return high


def _within(block: bytes, key: Callable[[bytes], int], target: int) -> int:
    low, high = 0, len(block)
    while low < high:
        found = block.rfind(b"\n", low, (low + high) // 2)
        start = found + 1 if found >= 0 else low
        stop = block.find(b"\n", start)
        stop = high if stop < 0 else stop
        if key(block[start:stop]) >= target:
            high = start
        else:
            low = stop + 1
    return low


def _too_long() -> Exception:
    return bad(f"the line is longer than {MAX_LINE} bytes")
