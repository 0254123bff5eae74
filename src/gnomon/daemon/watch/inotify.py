"""The kernel's word that files changed: inotify, one watch a folder, nothing polled.

Through ctypes (docs/adr/1272-watching-without-polling.md). The event loop sleeps until the
descriptor can be read; an idle watch costs nothing at all.
"""

import asyncio
import ctypes
import errno
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

IN_MODIFY = 0x0002
IN_MOVED_TO = 0x0080
IN_CREATE = 0x0100
IN_DELETE_SELF = 0x0400
IN_MOVE_SELF = 0x0800
IN_Q_OVERFLOW = 0x4000
IN_IGNORED = 0x8000
IN_ONLYDIR = 0x0100_0000
IN_DONT_FOLLOW = 0x0200_0000
IN_ISDIR = 0x4000_0000
WANTED = (
    IN_MODIFY
    | IN_MOVED_TO
    | IN_CREATE
    | IN_DELETE_SELF
    | IN_MOVE_SELF
    | IN_ONLYDIR
    | IN_DONT_FOLLOW
)
_EVENT = struct.Struct("iIII")
_AT_ONCE = 64 * 1024
"""Bytes of one read: some thousand events."""


class Change(NamedTuple):
    """Something in a watched folder changed. `name` is empty for the folder itself; `lost` says
    that the kernel dropped events, so that anything may have changed.
    """

    folder: Path | None
    name: str
    is_folder: bool
    lost: bool = False


class Inotify:
    """Watches folders and tells of changes in them, in order. Raises OSError, AttributeError
    where the system has none.
    """

    def __init__(self, changed: Callable[[Change], None]) -> None:
        self._changed = changed
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._folders: dict[int, Path] = {}
        asyncio.get_running_loop().add_reader(self._fd, self._read)

    def __len__(self) -> int:
        return len(self._folders)

    def add(self, folder: Path) -> None:
        """Watch a folder. Raises OSError: it is gone or none, or the system's bound is reached
        (ENOSPC).
        """
        watch = self._checked(
            self._libc.inotify_add_watch(self._fd, os.fsencode(folder), ctypes.c_uint32(WANTED))
        )
        self._folders[watch] = folder

    def close(self) -> None:
        """End all watches. May be called twice."""
        if self._fd >= 0:
            asyncio.get_running_loop().remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
            self._folders.clear()

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _AT_ONCE)
        except BlockingIOError:
            return
        for watch, mask, name in events(data):
            folder = self._folders.get(watch)
            if mask & IN_IGNORED:
                self._folders.pop(watch, None)
            elif mask & IN_Q_OVERFLOW:
                self._changed(Change(None, "", is_folder=False, lost=True))
            elif folder is not None:
                self._changed(Change(folder, name, is_folder=bool(mask & IN_ISDIR)))

    @staticmethod
    def _checked(answer: int) -> int:
        if answer < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return answer


def events(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Watch, mask and name of each event in what was read (inotify(7))."""
    at = 0
    while at + _EVENT.size <= len(data):
        watch, mask, _, length = _EVENT.unpack_from(data, at)
        at += _EVENT.size
        yield watch, mask, os.fsdecode(data[at : at + length].rstrip(b"\0"))
        at += length


def is_bound(error: OSError) -> bool:
    """Whether the system allows no more watches."""
    return error.errno in {errno.ENOSPC, errno.EMFILE}
