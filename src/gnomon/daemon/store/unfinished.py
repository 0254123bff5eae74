"""A mark on the disk from the first run of a life to its orderly end.

Where it is found at a start, runs may lack their end or what follows from them: whoever
opened the home then, a daemon or a verb of the CLI, and however it ended.
"""

from pathlib import Path

import msgspec

from gnomon.daemon.store.disk_words import disk_named
from gnomon.disk import Disk
from gnomon.domain.errors import StateError
from gnomon.domain.instants import Millis
from gnomon.domain.ports import Clock
from gnomon.statefile import read_state, write_state

FILE = "unfinished.json"


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """`since` is when the first run of that life began, by the wall."""

    since: Millis


class Unfinished:
    """`since` is where to look from: null when all was finished, 0 when it cannot be told."""

    def __init__(self, folder: Path, clock: Clock, disk: Disk) -> None:
        self._path = folder / FILE
        self._clock = clock
        self._disk = disk
        try:
            found = read_state(self._path, Mark)
        except StateError:
            found = Mark(since=Millis(0))
        self.since = None if found is None else found.since

    def mark(self) -> None:
        """A run begins. One write a life, and one when the clock was set back behind it: files
        are dated by that clock. Raises DiskError.
        """
        now = self._clock.wall()
        if self.since is None or now < self.since:
            mark = Mark(since=now)
            with disk_named():
                write_state(self._path, mark, disk=self._disk)
            self.since = mark.since

    def clear(self) -> None:
        """All is finished and on the disk."""
        if self.since is not None:
            self._disk.unlink(self._path)
            self.since = None
