"""The simulated machine's disk: real files, syncs that only note what is safe, and a life
that can end at any call. One a life of the gateway; after the end nothing gets through.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path

from gnomon.disk import SystemDisk
from gnomon.domain.instants import Millis
from gnomon.testing.crash import Kill, Killed, When, left_after

NANOSECONDS = 1_000_000


class SimulatedDisk(SystemDisk):
    """`wall` dates files, so that a file's time is the simulated one; `died` is told when an
    armed kill strikes.
    """

    def __init__(self, wall: Callable[[], Millis], died: Callable[[], None]) -> None:
        self._wall = wall
        self._died = died
        self._paths: dict[int, Path] = {}
        self._safe: dict[Path, int] = {}  # bytes that a power cut leaves
        self._unnamed: set[Path] = set()  # made, and their folder not synced since
        self._kill: Kill | None = None
        self._left = 0
        self.dead = False
        self.full = False
        self.sync_fails = False

    def arm(self, kill: Kill) -> None:
        """Die at the `kill.at`-th call from now."""
        self._kill, self._left = kill, kill.at

    def disarm(self) -> None:
        if not self.dead:
            self._kill = None

    @property
    def lost_power(self) -> bool:
        """Whether it was the machine that died."""
        return self.dead and self._kill is not None and self._kill.lost != "nothing"

    def die(self, kill: Kill | None = None) -> None:
        """The process is gone, now."""
        self.dead = True
        self._kill = kill = kill or self._kill
        if kill is not None and kill.lost != "nothing":
            for path, safe in self._safe.items():
                if path in self._unnamed:
                    path.unlink(missing_ok=True)
                elif path.exists():
                    written = path.read_bytes()
                    path.write_bytes(left_after(written[:safe], written, kill.lost))
                    self._date(path)
        for fd in list(self._paths):
            self.close(fd)
        self._died()

    # --- the calls -----------------------------------------------------------------------------

    def open_append(self, path: Path) -> int:
        self._point("open_append")
        is_new = not path.exists()
        return self._opened(path, super().open_append(path), is_new=is_new)

    def open_new(self, path: Path) -> int:
        self._point("open_new")
        if self.full:
            raise OSError(errno.ENOSPC, "simulated: the disk is full")
        is_new = not path.exists()
        fd = super().open_new(path)
        self._safe.pop(path, None)
        return self._opened(path, fd, is_new=is_new)

    def close(self, fd: int) -> None:
        # Also after a kill, as the kernel does; it changes nothing on the medium.
        if self._paths.pop(fd, None) is not None:
            super().close(fd)

    def write(self, fd: int, data: bytes) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "simulated: the disk is full")
        if self._strikes("half"):
            super().write(fd, data[: len(data) // 2])
            self._end()
        self._point("write")
        count = super().write(fd, data)
        self._date(fd)
        self._after()
        return count

    def write_at(self, fd: int, data: bytes, offset: int) -> int:
        self._point("write_at")
        count = super().write_at(fd, data, offset)
        self._after()
        return count

    def sync(self, fd: int) -> None:
        if self.sync_fails:
            raise OSError(errno.EIO, "simulated: the medium does not answer")
        self._point("sync")
        if fd in self._paths:
            self._safe[self._paths[fd]] = os.fstat(fd).st_size
        self._after()

    def forget(self, fd: int) -> None:
        """Nothing is remembered that the medium does not have."""

    def truncate(self, fd: int, size: int) -> None:
        self._point("truncate")
        super().truncate(fd, size)
        path = self._paths.get(fd)
        if path is not None:
            self._safe[path] = min(self._safe.get(path, 0), size)
        self._after()

    def replace(self, source: Path, target: Path) -> None:
        self._point("replace")
        super().replace(source, target)
        self._safe[target] = self._safe.pop(source, target.stat().st_size)
        self._unnamed.discard(source)
        self._after()

    def unlink(self, path: Path) -> None:
        self._point("unlink")
        super().unlink(path)
        self._safe.pop(path, None)
        self._after()

    def sync_folder(self, folder: Path) -> None:
        self._point("sync_folder")
        self._unnamed = {path for path in self._unnamed if path.parent != folder}
        self._after()

    # --- inside --------------------------------------------------------------------------------

    def _opened(self, path: Path, fd: int, *, is_new: bool) -> int:
        if is_new:
            self._unnamed.add(path)
            self._date(fd)
        self._paths[fd] = path
        self._safe.setdefault(path, os.fstat(fd).st_size)
        self._after()
        return fd

    def _date(self, of: int | Path) -> None:
        at = self._wall() * NANOSECONDS
        os.utime(of, ns=(at, at))

    def _strikes(self, when: When) -> bool:
        """Whether the end has come, at a call that is being made in this way."""
        if self.dead:
            raise Killed("the process is gone")
        kill = self._kill
        return kill is not None and self._left == 0 and kill.when == when

    def _point(self, name: str) -> None:
        if self._strikes("before") or (name != "write" and self._strikes("half")):
            self._end()

    def _after(self) -> None:
        if self._strikes("after"):
            self._end()
        self._left = max(0, self._left - 1)

    def _end(self) -> None:
        self.die()
        raise Killed("the process is gone")


class UnsyncedDisk(SystemDisk):
    """A disk that is taken at its word: nothing is ever lost on it."""

    def sync(self, fd: int) -> None:
        del fd

    def sync_folder(self, folder: Path) -> None:
        del folder
