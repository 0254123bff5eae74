"""Instants: UTC milliseconds since 1970 as plain integers, and their one text form.

Every rule takes an instant as an argument; only `gnomon.clock` asks the system for one.
"""

from datetime import UTC, datetime, timedelta
from typing import NewType

Millis = NewType("Millis", int)
"""Milliseconds of UTC wall time since 1970-01-01."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def iso(at: Millis) -> str:
    """`2026-05-24T18:00:00.000Z`: UTC, always milliseconds, always `Z` (page 2)."""
    moment = EPOCH + timedelta(milliseconds=at)
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def in_words(end: str) -> str:
    """`2026-05-24 18:00 UTC`, as people are told an instant; one that is said in words stays."""
    return f"{end[:10]} {end[11:16]} UTC" if end[:1].isdigit() else end


def parse_iso(text: str) -> Millis:
    """Read any ISO 8601 instant that names its offset.

    Raises ValueError when the text is no instant, or is one without an offset: which
    moment it names cannot be known, and none is made up.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} names no offset from UTC")
    return Millis((moment - EPOCH) // timedelta(milliseconds=1))
