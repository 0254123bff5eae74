"""The home's lock: one Gnomon a home.

An exclusive `flock` on an open descriptor: the kernel lets go of it when its last holder is
gone, however it died, so there is nothing stale to judge and no process to kill. It fences
by itself: a holder that is frozen still holds it. (`lockf` would be lost when any descriptor
of the file is closed.) The file's text only tells people who holds it.
"""

import errno
import fcntl
import os
import time
from pathlib import Path

import msgspec

from gnomon.domain.errors import HomeError, HomeLockedError

_TRIES = 10
"""A lock file that is swapped under us this often is being fought over."""
_BUSY = frozenset({errno.EWOULDBLOCK, errno.EAGAIN})
_WAITS = (0.005, 0.02)
"""Seconds between tries: someone who only asks (`holder`) holds it for microseconds."""


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """What the lock's file says. `url` and `agent` are null until the gateway listens."""

    pid: int
    url: str | None = None
    agent: str | None = None


class HomeLock:
    """A lock that is held. Made by `acquire`."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd = fd

    @classmethod
    def acquire(cls, path: Path, *, pid: int, url: str | None = None) -> "HomeLock":
        """Take the lock at once or not at all.

        Raises HomeLockedError naming the holder, HomeError when the file cannot be used.
        """
        for _ in range(_TRIES):
            lock = cls(path, _locked(path))
            if lock.is_held():
                lock.tell(pid=pid, url=url)
                return lock
            os.close(lock._fd)  # the file was replaced between opening and locking it
        raise HomeError(f"{path} is replaced again and again; the home cannot be locked.")

    def is_held(self) -> bool:
        """Whether the locked file is still the one at its path.

        False once someone removed it: a second Gnomon could then lock a new one.
        """
        try:
            mine, named = os.fstat(self._fd), self._path.stat()
        except OSError:
            return False
        return (mine.st_dev, mine.st_ino) == (named.st_dev, named.st_ino)

    def tell(self, *, pid: int, url: str | None, agent: str | None = None) -> None:
        """Write who holds it."""
        text = msgspec.json.encode(Holder(pid=pid, url=url, agent=agent)) + b"\n"
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, text, 0)

    def release(self) -> None:
        """Let go. The file stays: removing it would race with the next holder."""
        if self._fd >= 0:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = -1


def holder(path: Path) -> Holder | None:
    """Who holds the lock now, by their own words; null when it is free.

    A holder that has not written yet is pid 0. Never waits, changes nothing.

    Raises HomeError when the home is none, or not ours to look into.
    """
    try:
        with path.open("rb") as file:
            try:
                # A shared lock, so that two who ask do not take each other for the holder.
                fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _read(file.read(4096))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unopened(path, error) from error
    return None


def _locked(path: Path) -> int:
    fd = _open(path)
    for wait in (*_WAITS, None):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if wait is not None and error.errno in _BUSY:
                time.sleep(wait)
                continue
            os.close(fd)
            raise _held(path, error) from error
        return fd
    raise AssertionError("the last try returns or raises")


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _unopened(path, error) from error


def _unopened(path: Path, error: OSError) -> HomeError:
    return HomeError(
        f"The lock {path} cannot be opened: {error.strerror}.",
        next_step=f"Is {path.parent} a folder, and yours? Name another with --home or GNOMON_HOME.",
        path=str(path),
    )


def _held(path: Path, error: OSError) -> HomeError:
    if error.errno not in _BUSY:
        return HomeError(f"The lock {path} cannot be taken: {error.strerror}.", path=str(path))
    who = _read(path.read_bytes()[:4096])
    where = f" at {who.url}" if who.url else ""
    named = f"process {who.pid}" if who.pid else "a process that is just starting"
    return HomeLockedError(
        f"Another Gnomon runs this home: {named}{where}.",
        next_step="`gnomon open` shows it, `gnomon down` ends it.",
        pid=who.pid or None,
        url=who.url,
    )


def _read(text: bytes) -> Holder:
    try:
        return msgspec.json.decode(text, type=Holder)
    except msgspec.MsgspecError:
        return Holder(pid=0)
