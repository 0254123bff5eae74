"""A ledger as its bytes say, read by nothing but a JSON decoder: for checks that share no code
with what they check.
"""

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from gnomon.simulate.witness import whole_lines


class PlainLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line. `at` is UTC milliseconds; `fields` is all that it says."""

    seq: int
    at: int
    kind: str
    prev: str
    sha256: str
    fields: dict[str, Any]


def plain_lines(first: Path) -> list[PlainLine]:
    """Every whole line of a ledger, over all of its files."""
    return [plain_line(raw) for raw in whole_lines(first)]


def plain_line(raw: bytes) -> PlainLine:
    fields = json.loads(raw)
    return PlainLine(
        seq=fields["seq"],
        at=millis(fields["at"]),
        kind=fields["kind"],
        prev=fields["prev"],
        sha256=hashlib.sha256(raw).hexdigest(),
        fields=fields,
    )


def millis(text: str) -> int:
    """UTC milliseconds of an instant."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)
