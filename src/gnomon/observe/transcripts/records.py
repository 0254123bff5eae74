"""From a line to its records: whole, fused, or torn. Nothing is dropped without a reason."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gnomon.domain.plain_text import clean
from gnomon.observe.transcripts.lines import RawLine

ATTEMPTS = 32
"""Places of a damaged line at which a whole record is looked for."""
_STARTS = re.compile(r'\{\s*"')
_NESTED = ":,[ "
"""What stands before an object that is part of another one."""


@dataclass(frozen=True, slots=True)
class Salvage:
    """What could be read of a line that is not one JSON value.

    `reason` is null when all of the line was read: then it only held several records.
    """

    values: tuple[Any, ...]
    reason: str | None


def why_unreadable(line: RawLine) -> str | None:
    """The reason for lines that hold nothing to salvage; null for others."""
    if line.too_long:
        return "longer than 16 MiB, its long texts not counted; skipped"
    if (line.nul or b"\0" in line.data) and not line.data.strip(b"\0 \t\r\n"):
        return "only NUL bytes (a write that a power loss cut)"
    return None


def salvage(line: RawLine) -> Salvage:
    """Read a line that the strict decoder refused, with the lenient one.

    Lone surrogates, bytes that are no UTF-8, NULs around a record, several records in a
    row, and a whole record behind the stub of a torn one are all found here.
    """
    try:
        text = line.data.decode("utf-8")
        damaged = None
    except UnicodeDecodeError:
        text = line.data.decode("utf-8", "replace")
        damaged = "bytes that are not UTF-8, replaced; the record was read"
    if "\0" in text:
        text = text.replace("\0", " ")
        damaged = "NUL bytes in the line, left out; the record was read"
    values, stopped = _values(text)
    if stopped is None:
        return Salvage(values, damaged)
    behind = _behind(text, stopped)
    if behind is not None:
        return Salvage((*values, behind), "torn record; the one behind it was read")
    return Salvage(values, _why(line, values))


def _why(line: RawLine, values: tuple[Any, ...]) -> str:
    if not line.ended:
        return "cut off: the file ends inside it"
    return "torn after a whole record" if values else "not JSON"


_DECODER = json.JSONDecoder(strict=False)


def _values(text: str) -> tuple[tuple[Any, ...], int | None]:
    """All values from the start, and where the next one could not be read."""
    values: list[Any] = []
    at = 0
    while True:
        while at < len(text) and text[at] in " \t\r\n":
            at += 1
        if at >= len(text):
            return tuple(values), None
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return tuple(values), at
        values.append(cleaned(value))


def _behind(text: str, after: int) -> Any | None:
    """A whole object that ends where the line ends, behind a stub that begins at `after`.

    An object of a torn record's own inside does not end there, its closers come after it.
    Those that stand where a nested object stands are tried last.
    """
    end = len(text.rstrip())
    starts = [found.start() for found in _STARTS.finditer(text, after + 1)]
    for start in sorted(starts, key=lambda at: text[at - 1] in _NESTED)[:ATTEMPTS]:
        try:
            value, stopped = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if stopped == end:
            return cleaned(value)
    return None


def cleaned(value: Any) -> Any:
    """The same value without lone surrogates; too deep nesting becomes null."""
    return _cleaned(value, 0)


def _cleaned(value: Any, depth: int) -> Any:
    match value:
        case str():
            return clean(value)
        case list() if depth < 64:
            return [_cleaned(each, depth + 1) for each in iterate(value)]
        case dict() if depth < 64:
            return {clean(str(key)): _cleaned(each, depth + 1) for key, each in pairs(value)}
        case list() | dict():
            return None
        case _:
            return value


def iterate(value: Any) -> Iterator[Any]:
    yield from value


def pairs(value: Any) -> Iterator[tuple[Any, Any]]:
    yield from value.items()
