"""Lines of a file of any size, in bounded memory.

A line over `LONG` bytes is read on with its long strings shortened: what a transcript says
with a hundred megabytes (a pasted image, a whole log) is not needed to count it, and the
record around it is.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

LONG = 4 * 1024 * 1024
"""Bytes of a line that are read as they are."""
KEPT = 64 * 1024
"""Bytes kept of a string that is shortened."""
MOST = 16 * 1024 * 1024
"""Bytes of one line that are held, shortened strings not counted."""
CHUNK = 1024 * 1024

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class RawLine:
    """`number` counts from 1. `too_long`: it did not fit even when shortened."""

    number: int
    data: bytes
    ended: bool
    """Whether a newline stood at its end."""
    shortened: bool = False
    too_long: bool = False
    nul: bool = False
    """Whether NUL bytes were left out of it while it was shortened."""


def head_of(string: bytes) -> bytes:
    """The first `KEPT` bytes of a JSON string's inside, cut inside no escape or character."""
    head = string[:KEPT].decode("utf-8", "ignore")
    while head:
        try:
            text: str = json.loads(f'"{head}"', strict=False)
        except ValueError:
            head = head[: head.rfind("\\")] if "\\" in head else ""
        else:
            if "\ud800" <= text[-1:] <= "\udbff":
                head = head[:-6]  # the first half of a character that two escapes write
            break
    return head.encode("utf-8", "replace")


class _Shortener:
    """Takes a line piece by piece and keeps it without the insides of its long strings."""

    def __init__(self) -> None:
        self._out = bytearray()
        self._string = bytearray()
        self._inside = False
        self._escaped = False
        self.too_long = False
        self.nul = False

    def feed(self, piece: bytes) -> None:
        start = 0
        while start < len(piece):
            start = self._in_string(piece, start) if self._inside else self._outside(piece, start)
        if len(self._out) > MOST:
            self.too_long = True
            self._out.clear()

    def _outside(self, piece: bytes, start: int) -> int:
        quote = piece.find(b'"', start)
        end = len(piece) if quote < 0 else quote + 1
        part = piece[start:end]
        if b"\0" in part:
            self.nul = True
            part = part.replace(b"\0", b"")
        self._out += part
        self._inside = quote >= 0
        return end

    def _in_string(self, piece: bytes, start: int) -> int:
        if self._escaped:
            self._escaped = False
            self._keep(piece[start : start + 1])
            return start + 1
        quote = piece.find(b'"', start)
        end = len(piece) if quote < 0 else quote
        part = piece[start:end]
        slashes = len(part) - len(part.rstrip(b"\\"))
        self._keep(part)
        if slashes % 2 == 1:
            if quote < 0:
                self._escaped = True
                return end
            self._keep(b'"')
            return end + 1
        if quote < 0:
            return end
        self._close()
        return end + 1

    def _keep(self, part: bytes) -> None:
        if len(self._string) <= KEPT:
            self._string += part[: KEPT + 16]

    def _close(self) -> None:
        whole = bytes(self._string)
        self._out += whole if len(whole) <= KEPT else head_of(whole)
        self._out += b'"'
        self._string.clear()
        self._inside = False

    def result(self) -> bytes:
        if self._inside:
            self._out += self._string
        return bytes(self._out)


def _long_line(file: BinaryIO, first: bytes, number: int) -> RawLine:
    shortener = _Shortener()
    piece = first
    while True:
        ended = piece.endswith(b"\n")
        if not shortener.too_long:
            shortener.feed(piece)
        if ended:
            break
        piece = file.readline(CHUNK)
        if not piece:
            break
    data = shortener.result()
    return RawLine(
        number, trimmed(data), ended, shortened=True, too_long=shortener.too_long, nul=shortener.nul
    )


def trimmed(data: bytes) -> bytes:
    """Without its line end, which may be that of Windows."""
    if data.endswith(b"\n"):
        data = data[:-1]
    return data.removesuffix(b"\r")


def lines_of(file: BinaryIO) -> Iterator[RawLine]:
    """Every line; splits on the newline byte alone; a BOM at the start is left out."""
    number = 0
    while True:
        data = file.readline(LONG)
        if not data:
            return
        number += 1
        if number == 1:
            data = data.removeprefix(BOM)
        ended = data.endswith(b"\n")
        if not ended and len(data) >= LONG - len(BOM):
            yield _long_line(file, data, number)
        else:
            yield RawLine(number, trimmed(data), ended)
