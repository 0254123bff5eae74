"""The few system calls that make bytes durable, behind one port.

Everything that changes the home's files goes through `Disk`, so that tests can fail, cut
short or kill at each single call (`gnomon.testing.crash`).
"""

import fcntl
import os
from pathlib import Path
from typing import Protocol

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


class Disk(Protocol):
    """Each method is one system call, or one that must not be split. All raise OSError."""

    def open_append(self, path: Path) -> int:
        """A descriptor that writes at the end only; creates the file, follows no link."""
        ...

    def open_new(self, path: Path) -> int:
        """A descriptor of an empty file."""
        ...

    def close(self, fd: int) -> None: ...

    def write(self, fd: int, data: bytes) -> int:
        """Bytes taken, which may be fewer than given."""
        ...

    def write_at(self, fd: int, data: bytes, offset: int) -> int: ...

    def sync(self, fd: int) -> None:
        """Returns once the file's content is on the medium."""
        ...

    def forget(self, fd: int) -> None:
        """Drop the file's clean pages from memory, so that it is read from the medium."""
        ...

    def truncate(self, fd: int, size: int) -> None: ...

    def replace(self, source: Path, target: Path) -> None: ...

    def unlink(self, path: Path) -> None: ...

    def sync_folder(self, folder: Path) -> None:
        """Returns once the folder's entries (a new name, a replaced one) are on the medium."""
        ...


class SystemDisk:
    """The disk of this machine."""

    def open_append(self, path: Path) -> int:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(path, flags, PRIVATE_FILE)

    def open_new(self, path: Path) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(path, flags, PRIVATE_FILE)

    def close(self, fd: int) -> None:
        os.close(fd)

    def write(self, fd: int, data: bytes) -> int:
        return os.write(fd, data)

    def write_at(self, fd: int, data: bytes, offset: int) -> int:
        return os.pwrite(fd, data, offset)

    def sync(self, fd: int) -> None:
        full = getattr(fcntl, "F_FULLFSYNC", None)
        if full is not None:  # macOS: fsync alone leaves the bytes in the drive's cache
            fcntl.fcntl(fd, full)
        else:
            os.fdatasync(fd)

    def forget(self, fd: int) -> None:
        if hasattr(os, "posix_fadvise"):  # macOS has none; there it reads what it has
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def replace(self, source: Path, target: Path) -> None:
        source.replace(target)

    def unlink(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def sync_folder(self, folder: Path) -> None:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


SYSTEM_DISK = SystemDisk()


def make_folder(folder: Path, disk: Disk = SYSTEM_DISK) -> None:
    """Make a folder and those above it (0700), each synced into the one that holds it."""
    missing: list[Path] = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        path.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        disk.sync_folder(path.parent)
