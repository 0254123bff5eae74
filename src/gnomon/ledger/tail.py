"""Where a power cut or a kill left off: which bytes at a file's end are no acknowledged line.

Pure but for the reads of its source. Three shapes count as torn, and no other (page 2):
bytes after the last newline; a last line with NULs; and, since lines that share a sync may
reach the medium out of order, a hole: NULs over whole sectors, with what follows it. All
else that is wrong is corruption, which refuses to open.
"""

import re

from gnomon.ledger.bisect import BLOCK, Source, last_border

SECTOR = 512
"""The unit in which a medium writes, and so in which bytes can be missing."""
WINDOW = 1024 * 1024
"""How far before the end a hole is looked for: more than lines without a sync take up."""

_NULLS = re.compile(rb"\0+")


def torn_start(source: Source) -> int | None:
    """The border where the torn tail begins; null when the file ends in a whole line."""
    if source.size == 0:
        return None
    hole = _hole_start(source)
    if hole is not None:
        return hole
    border = last_border(source, source.size)
    if border < source.size:
        return border
    last = last_border(source, source.size - 1)
    return last if _has_null(source, last) else None


def _hole_start(source: Source) -> int | None:
    """The line in which the first hole within WINDOW lies."""
    base = max(source.size - WINDOW, 0)
    tail = source.read(base, source.size - base)
    for run in _NULLS.finditer(tail):
        if _is_hole(tail, base, run.start(), run.end()):
            return last_border(source, base + run.start())
    return None


def _is_hole(tail: bytes, base: int, at: int, stop: int) -> bool:
    """NULs from a line's or sector's border to a sector's border or the end of the file."""
    begins = (base + at) % SECTOR == 0 or at == 0 or tail[at - 1] == ord("\n")
    ends = (base + stop) % SECTOR == 0 or stop == len(tail)
    return begins and ends


def _has_null(source: Source, start: int) -> bool:
    position = start
    while position < source.size:
        block = source.read(position, BLOCK)
        if b"\0" in block:
            return True
        position += len(block)
    return False
