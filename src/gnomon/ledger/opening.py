"""Opening a ledger: find its head, check its end, and set a torn tail aside.

Cheap whatever the history: the lines after the last anchored head are walked, or the last
block of the file when none is known. The whole chain is walked by `gnomon.ledger.verify`.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from gnomon.disk import Disk, make_folder
from gnomon.domain.errors import LedgerCorruptError
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import Head
from gnomon.domain.records import AnchoredHead
from gnomon.ledger.bisect import BLOCK, STREAM_BLOCK, FileSource, next_border
from gnomon.ledger.chain import Chain
from gnomon.ledger.reading import LedgerReader, Span, opened
from gnomon.ledger.segments import Segment, segment_path, segments, strays, torn_path
from gnomon.ledger.tail import torn_start

WHOLE = 512 * 1024
"""Bytes of a ledger that is walked from its first line when it is opened: some thousand lines,
in some hundredths of a second. Of a larger one only what came after its last anchor is.
"""


@dataclass(frozen=True)
class Found:
    """What an existing ledger ends with. `torn` are the bytes to set aside, if any."""

    head: Head
    last_at: Millis | None
    torn: Span | None


def inspect(reader: LedgerReader, known: AnchoredHead | None = None) -> Found:
    """Find the head and check the end of the chain, back to the anchored head if one is
    `known`. Changes nothing.

    Raises LedgerCorruptError when the end is not a chain, a segment is missing, or the
    anchored line is gone or another one.
    """
    whole, torn = _spans(reader)
    chain = _checked_from(reader, whole, known)
    last = whole[-1] if whole else None
    head = Head(
        seq=chain.seq,
        sha256=chain.sha256,
        offset=last.end if last else 0,
        segment=last.segment.number if last else 1,
    )
    # A segment that is still empty begins with any time: its clock has just stepped back.
    return Found(head, chain.at if last and last.end else None, torn)


def set_aside(torn: Span, first: Path, name: str, disk: Disk) -> str:
    """Move a torn tail whole to `<name>.torn`; the sentence says so, for the journal.

    Safe to repeat: a tail that is already there is not copied again. Raises OSError.
    """
    count = torn.end - torn.start
    fd = disk.open_append(torn.segment.path)
    try:
        _copy(FileSource(fd, torn.end), torn.start, torn_path(first), disk)
        disk.truncate(fd, torn.start)
        disk.sync(fd)
    finally:
        disk.close(fd)
    return (
        f"{name} ended in {count} bytes of a line that was never acknowledged; "
        f"they were moved to {torn_path(first).name}."
    )


def create(first: Path, number: int, disk: Disk) -> None:
    """Make segment `number`'s empty file, durably. Raises OSError."""
    make_folder(first.parent, disk)
    disk.close(disk.open_append(segment_path(first, number)))
    disk.sync_folder(first.parent)


def _spans(reader: LedgerReader) -> tuple[list[Span], Span | None]:
    """Every segment's whole lines, and the torn tail of the last one that has bytes."""
    gone = strays(reader.first)
    if gone:
        raise reader.corrupt(1, f"{gone[0].name} is there, and a file before it is not")
    sized = [(s, s.path.stat().st_size) for s in segments(reader.first)]
    filled = max((s.number for s, size in sized if size), default=0)
    spans: list[Span] = []
    torn: Span | None = None
    for segment, size in sized:
        start = _torn_start(reader, segment, size) if segment.number == filled else None
        spans.append(Span(segment, 0, size if start is None else start))
        if start is not None:
            torn = Span(segment, start, size)
    return spans, torn


def _torn_start(reader: LedgerReader, segment: Segment, size: int) -> int | None:
    with opened(segment.path, reader.name) as fd:
        return torn_start(FileSource(fd, size))


def _checked_from(reader: LedgerReader, spans: list[Span], known: AnchoredHead | None) -> Chain:
    if sum(span.end for span in spans) <= WHOLE:
        return _all_of_it(reader, spans, known)
    if known is not None and known.seq:
        return _from_anchor(reader, spans, known)
    filled = [span for span in spans if span.end]
    if not filled:
        return Chain()
    span = filled[-1]
    start = _block_before_end(reader, span)
    chain = Chain() if start == 0 and span is filled[0] else Chain.anywhere()
    for _ in reader.walk(Span(span.segment, start, span.end), chain):
        pass
    return chain


def _all_of_it(reader: LedgerReader, spans: list[Span], known: AnchoredHead | None) -> Chain:
    chain, met = Chain(), known is None or not known.seq
    for span in spans:
        for line in reader.walk(span, chain):
            met = met or (known is not None and _is_anchored(reader, line.seq, line.sha256, known))
    if known is not None and not met:
        raise _differs(reader, known, "it is gone")
    return chain


def _from_anchor(reader: LedgerReader, spans: list[Span], known: AnchoredHead) -> Chain:
    chain = Chain() if known.seq == 1 else Chain.anywhere()
    met = False
    for span in spans:
        start = reader.find_seq(span, known.seq)
        for line in reader.walk(Span(span.segment, start, span.end), chain):
            met = met or _is_anchored(reader, line.seq, line.sha256, known)
    if not met:
        raise _differs(reader, known, "it is gone")
    return chain


def _is_anchored(reader: LedgerReader, seq: int, sha256: str, known: AnchoredHead) -> bool:
    if seq == known.seq and sha256 != known.sha256:
        raise _differs(reader, known, "another line stands in its place")
    return seq == known.seq


def _differs(reader: LedgerReader, known: AnchoredHead, how: str) -> LedgerCorruptError:
    return reader.corrupt(known.seq, f"it was anchored as {known.sha256[:12]}, and {how}")


def _block_before_end(reader: LedgerReader, span: Span) -> int:
    """A border about one block before the end, and at least one line before it."""
    with opened(span.segment.path, reader.name) as fd:
        source = FileSource(fd, span.end)
        back = BLOCK
        while back < span.end:
            border = next_border(source, span.end - back, span.end)
            if border < span.end:
                return border
            back *= 2
    return 0


def _copy(source: FileSource, start: int, target: Path, disk: Disk) -> None:
    fd = disk.open_append(target)
    try:
        kept = FileSource(fd, os.fstat(fd).st_size)
        count = source.size - start
        if kept.size < count or not _same(kept, kept.size - count, source, start):
            if kept.size and kept.read(kept.size - 1, 1) != b"\n":
                _write_all(fd, b"\n", disk)  # an earlier tail: what it was stays readable
            position = start
            while position < source.size:
                block = source.read(position, STREAM_BLOCK)
                position += _write_all(fd, block, disk)
        disk.sync(fd)
    finally:
        disk.close(fd)
    disk.sync_folder(target.parent)


def _same(a: FileSource, a_start: int, b: FileSource, b_start: int) -> bool:
    position = 0
    while b_start + position < b.size:
        block = b.read(b_start + position, STREAM_BLOCK)
        if a.read(a_start + position, len(block)) != block:
            return False
        position += len(block)
    return True


def _write_all(fd: int, data: bytes, disk: Disk) -> int:
    written = 0
    while written < len(data):
        written += disk.write(fd, data[written:])
    return written
