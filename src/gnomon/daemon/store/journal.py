"""`journal.md`: what was done on its own, one dated line each, for people."""

import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

from gnomon.disk import PRIVATE_FILE
from gnomon.domain.instants import Millis, iso

KEPT = 200
"""Lines that are kept in memory while the disk takes none; of more, the newest."""


class Journal:
    """Never raises: what goes wrong elsewhere is told here, also when the disk is what is
    wrong. Lines that the disk refuses are kept, and written once it takes lines again.
    """

    def __init__(self, path: Path, wall: Callable[[], Millis]) -> None:
        self._path = path
        self._wall = wall
        self._unsaid: deque[bytes] = deque(maxlen=KEPT)
        self._refused_at: Millis | None = None

    def say(self, sentence: str) -> None:
        """Append one line; whole lines only, whoever else writes."""
        self._unsaid.append(_line(self._wall(), sentence))
        self.retry()

    def retry(self) -> None:
        """Write what the disk refused before."""
        if not self._unsaid:
            return
        lines = list(self._unsaid)
        if self._refused_at is not None:
            since = iso(self._refused_at)
            lines.append(_line(self._wall(), f"The disk takes lines again; it did not at {since}."))
        try:
            _append(self._path, b"".join(lines))
        except OSError:
            self._refused_at = self._refused_at or self._wall()
            return
        self._unsaid.clear()
        self._refused_at = None


def _line(at: Millis, sentence: str) -> bytes:
    return f"- {iso(at)} {' '.join(sentence.split())}\n".encode("utf-8", "replace")


def _append(path: Path, data: bytes) -> None:
    """All of it or nothing: a full disk takes a part of a write."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)
    try:
        before = os.fstat(descriptor).st_size
        if os.write(descriptor, data) < len(data):
            os.ftruncate(descriptor, before)
            raise OSError(None, "the disk took a part of the lines")
    finally:
        os.close(descriptor)
