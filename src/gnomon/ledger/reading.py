"""Reading a ledger: typed lines of a range, over all of its segments, found by bisection.

It needs no writer and takes no lock, so a job reads up to the head that it was handed while
the gateway appends. Each range is checked as a chain, and against the head where it ends.
"""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gnomon.domain.errors import LedgerCorruptError, LedgerError, RecordError
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import Head, Line
from gnomon.ledger.bisect import (
    STREAM_BLOCK,
    FileSource,
    first_line_with,
    last_border,
    line_blocks,
    lines,
)
from gnomon.ledger.chain import Chain
from gnomon.ledger.codec import line_reader, peek
from gnomon.ledger.segments import Segment, segments

UNTIL_THE_END = Millis(2**62)


@dataclass(frozen=True)
class Span:
    """Whole lines of one segment: the bytes from one line border to another."""

    segment: Segment
    start: int
    end: int


class LedgerReader:
    """Reads the ledger that begins in the file `first` and holds `bodies`."""

    def __init__(self, first: Path, name: str, bodies: object) -> None:
        self.first = first
        self.name = name
        self.bodies = bodies
        self._read_line = line_reader(bodies)

    def read(self, *, after_seq: int = 0, until: Head | None = None) -> Iterator[Line]:
        """Lines with `seq` above `after_seq`, up to a head (else to the last whole line).

        Raises LedgerCorruptError at the first line that is not what was acknowledged, or
        when the ledger ends before the head.
        """
        if until is not None and until.seq <= after_seq:
            return
        chain = Chain() if after_seq == 0 else Chain.anywhere()
        for span in self._ends(until):
            start = self.find_seq(span, after_seq + 1) if after_seq else 0
            yield from self.walk(Span(span.segment, start, span.end), chain)
        if until is not None and (chain.seq, chain.sha256) != (until.seq, until.sha256):
            reason = "the ledger does not reach the head that was acknowledged"
            raise self.corrupt(chain.seq + 1, reason)

    def segment_starts(self, until: Head) -> tuple[int, ...]:
        """The `seq` from which on lines lie in the second segment, the third, and so on, up to a
        head. O(segments). Nothing counts as lying in one that cannot be read, nor after it:
        whoever reads its lines meets the damage.
        """
        starts: list[int | None] = []
        try:
            for span in self._ends(until):
                if span.segment.number > 1:
                    starts.append(self._first_seq(span))  # noqa: PERF401 - till the damage
        except LedgerCorruptError:
            pass  # said when its lines are read
        nowhere = until.seq + 1
        following, found = nowhere, [nowhere] * (until.segment - 1)
        for index, start in reversed(list(enumerate(starts))):
            found[index] = following = start or following
        return tuple(found)

    def _first_seq(self, span: Span) -> int | None:
        """Of the first line; null where there is none."""
        if not span.end:
            return None
        line = next(self.walk(Span(span.segment, 0, span.end), Chain.anywhere()), None)
        if line is None:
            raise self.corrupt(1, f"{span.segment.path.name} is shorter than it was")
        return line.seq

    def read_range(
        self, since: Millis, until_at: Millis = UNTIL_THE_END, *, until: Head | None = None
    ) -> Iterator[Line]:
        """Lines with `since <= at < until_at`, in order of `seq`. O(log n + lines read)."""
        for span in self._ends(until):
            start = self._find(span, _at, since)
            ends = until_at == UNTIL_THE_END
            end = span.end if ends else self._find(span, _at, until_at)
            if start < end:
                yield from self.walk(Span(span.segment, start, end), Chain.anywhere())

    def walk(self, span: Span, chain: Chain) -> Iterator[Line]:
        """Each line of a span, decoded and checked to follow. Raises LedgerCorruptError."""
        chain.begin_segment()
        read_line, follow = self._read_line, chain.follow
        with opened(span.segment.path, self.name) as fd:
            try:
                for block in line_blocks(FileSource(fd, span.end), span.start, span.end):
                    for raw in block:
                        line = read_line(raw, chain.sha256)
                        follow(line)
                        yield line
            except RecordError as error:
                first = not chain.seq  # then the chain does not know where it is
                number = self._number(span.segment, span.start) if first else chain.seq + 1
                raise self.corrupt(number, str(error.facts["reason"])) from error

    def find_seq(self, span: Span, seq: int) -> int:
        """The border of the first line in a span whose number is at least `seq`."""
        return self._find(span, _seq, seq)

    def corrupt(self, line: int, reason: str) -> LedgerCorruptError:
        """The error that names this ledger and the line to blame."""
        return LedgerCorruptError(
            f"Line {line} of {self.name} is bad: {reason}.",
            next_step="Nothing was changed. Run `gnomon verify`, then restore the file.",
            ledger=self.name,
            line=line,
            reason=reason,
        )

    def _ends(self, until: Head | None) -> Iterator[Span]:
        for segment in segments(self.first):
            if until is None:
                with opened(segment.path, self.name) as fd:
                    size = os.fstat(fd).st_size
                    yield Span(segment, 0, last_border(FileSource(fd, size), size))
            elif segment.number < until.segment:
                yield Span(segment, 0, segment.path.stat().st_size)
            elif segment.number == until.segment:
                yield Span(segment, 0, until.offset)

    def _find(self, span: Span, key: Callable[[bytes], int], target: int) -> int:
        with opened(span.segment.path, self.name) as fd:
            source = FileSource(fd, span.end)
            try:
                return first_line_with(source, span.end, key, target)
            except RecordError as error:
                reason = f"met while searching: {error.facts['reason']}"
                raise self.corrupt(self._first_unreadable(span), reason) from error

    def _first_unreadable(self, span: Span) -> int:
        """Number of the first line that cannot be peeked at: O(n), for an error only."""
        number = self._number(span.segment, 0)
        with opened(span.segment.path, self.name) as fd:
            try:
                for _, raw in lines(FileSource(fd, span.end), 0, span.end):
                    peek(raw)
                    number += 1
            except RecordError:
                return number
        return number

    def _number(self, segment: Segment, offset: int) -> int:
        """Which line of the ledger begins at an offset: O(n), for an error only."""
        count = 1
        for part in segments(self.first)[: segment.number]:
            end = offset if part.number == segment.number else part.path.stat().st_size
            count += _count_lines(part.path, end)
        return count


@contextmanager
def opened(path: Path, name: str) -> Generator[int]:
    """A descriptor to read from, closed in the end. Raises LedgerError when the disk does
    not give what it has.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            yield fd
        finally:
            os.close(fd)
    except OSError as error:
        raise LedgerError(f"{name} cannot be read: {error.strerror}.", ledger=name) from error


def _seq(raw: bytes) -> int:
    return peek(raw)[0]


def _at(raw: bytes) -> int:
    return peek(raw)[1]


def _count_lines(path: Path, end: int) -> int:
    count, position = 0, 0
    with path.open("rb") as file:
        while position < end and (block := file.read(min(STREAM_BLOCK, end - position))):
            count += block.count(b"\n")
            position += len(block)
    return count
