"""The files of one ledger: `name.jsonl`, then `name.0002.jsonl` and on after a backward
step of the clock. Naming and listing only.
"""

import re
from dataclasses import dataclass
from pathlib import Path

_SUFFIX = re.compile(r"\.(\d{4,})\.jsonl", re.ASCII)
MAX_SEGMENTS = 9999
LOOK_AHEAD = 16
"""Numbers after the last segment that are tried for one which a gap cut off. The folder is not
listed for it: it may hold 100,000 other ledgers, and each of them is opened and verified.
"""


@dataclass(frozen=True)
class Segment:
    """One file of a ledger. `number` counts from 1."""

    number: int
    path: Path


def segment_path(first: Path, number: int) -> Path:
    """Where segment `number` of the ledger that begins in `first` lies."""
    if number == 1:
        return first
    return first.with_name(f"{first.stem}.{number:04d}.jsonl")


def torn_path(first: Path) -> Path:
    """Where unfinished tails of the ledger that begins in `first` are kept."""
    return first.with_name(f"{first.stem}.torn")


def segments(first: Path) -> tuple[Segment, ...]:
    """The segments that exist, in order, as far as their numbers run without a gap."""
    if not first.exists():
        return ()
    found = [Segment(1, first)]
    while (path := segment_path(first, len(found) + 1)).exists():
        found.append(Segment(len(found) + 1, path))
    return tuple(found)


def strays(first: Path) -> tuple[Path, ...]:
    """Segment files that no run of numbers leads to: one between them is gone."""
    after = max((segment.number for segment in segments(first)), default=0) + 2
    until = min(after + LOOK_AHEAD, MAX_SEGMENTS + 1)
    beyond = (segment_path(first, number) for number in range(after, until))
    return tuple(path for path in beyond if path.exists())


def is_later_segment(path: Path) -> bool:
    """Whether the file's name is that of a second or later segment."""
    return _SUFFIX.search(path.name) is not None
