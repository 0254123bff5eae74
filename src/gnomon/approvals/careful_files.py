"""Reads and writes one file that is not Gnomon's own, beneath folders of somebody else.

Every folder on the way is opened by the one above it and no link is followed, so that what is
opened lies where its path says, whoever moves things meanwhile. A write replaces the whole file
at once, keeps its mode and owner, and looks at the last moment whether it is still the file
that was looked at. Between that look and the replacement there is a moment that no call closes
on every system (docs/adr/1241-held-writes.md).
"""

import contextlib
import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gnomon.approvals.file_payload import MOST_BYTES, digest
from gnomon.disk import Disk
from gnomon.domain.records import Sha256

_ON_THE_WAY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})


class UnfitTargetError(Exception):
    """It is no file that can be looked at; `reason` is the rest of a sentence about it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ChangedError(Exception):
    """It is not the file that was looked at. `found`: the hash of what is there; null: nothing."""

    def __init__(self, found: Sha256 | None) -> None:
        super().__init__(found)
        self.found = found


@dataclass(frozen=True)
class Seen:
    """A regular file as it is."""

    data: bytes
    mode: int
    user: int
    group: int


def look(path: Path) -> bytes | None:
    """What a file holds; null when there is none. Raises UnfitTargetError."""
    try:
        with _in_folder(path.parent) as folder:
            seen = _seen(folder, path.name)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnfitTargetError(f"cannot be looked at: {_said(error)}") from error
    return None if seen is None else seen.data


def replace(path: Path, data: bytes, expected: Sha256 | None, mark: str, disk: Disk) -> None:
    """Let the file hold `data`, durably, if it still holds what has the hash `expected` (null:
    there is none, and its folders may be missing too).

    `mark` names what is left of it by a crash. Raises ChangedError, UnfitTargetError, OSError.
    """
    with _in_folder(path.parent, make=expected is None) as folder:
        found = _expected(folder, path.name, expected)
        temporary = _temporary(path, mark)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        try:
            _write(folder, temporary, data, found, disk)
            _expected(folder, path.name, expected)
            _put(folder, temporary, path.name, is_new=found is None)
        except Exception:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        _sync_folder(folder, disk)


def remove(path: Path, expected: Sha256, disk: Disk) -> None:
    """Take the file away, if it holds what has the hash `expected`.

    Raises ChangedError, UnfitTargetError, OSError.
    """
    try:
        with _in_folder(path.parent) as folder:
            _expected(folder, path.name, expected)
            os.unlink(path.name, dir_fd=folder)
            _sync_folder(folder, disk)
    except FileNotFoundError as error:
        raise ChangedError(None) from error


def clear(path: Path, mark: str) -> None:
    """Take away what a write that was cut off may have left beside the file."""
    with contextlib.suppress(OSError, UnfitTargetError), _in_folder(path.parent) as folder:
        os.unlink(_temporary(path, mark), dir_fd=folder)


# --- inside ------------------------------------------------------------------------------------


@contextmanager
def _in_folder(folder: Path, *, make: bool = False) -> Generator[int]:
    """A descriptor of a folder, reached from the root without following a link."""
    descriptor = os.open("/", _ON_THE_WAY)
    try:
        for name in folder.parts[1:]:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=descriptor)
            descriptor = _below(descriptor, name, _ON_THE_WAY)
        descriptor = _below(descriptor, ".", _FOLDER)
        yield descriptor
    finally:
        os.close(descriptor)


def _below(folder: int, name: str, flags: int) -> int:
    """Open what lies in a folder; that one is closed."""
    try:
        found = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise UnfitTargetError(
                "lies behind a link, or in something that is no folder"
            ) from error
        raise
    os.close(folder)
    return found


def _seen(folder: int, name: str) -> Seen | None:
    try:
        descriptor = os.open(
            name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise UnfitTargetError("is no regular file") from error
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise UnfitTargetError("is no regular file")
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise UnfitTargetError(f"is larger than anybody looks through ({MOST_BYTES} bytes)")
        return Seen(data, stat.S_IMODE(status.st_mode) & 0o777, status.st_uid, status.st_gid)


def _expected(folder: int, name: str, expected: Sha256 | None) -> Seen | None:
    """Raises ChangedError when it is another."""
    seen = _seen(folder, name)
    found = None if seen is None else digest(seen.data)
    if found != expected:
        raise ChangedError(found)
    return seen


def _write(folder: int, name: str, data: bytes, like: Seen | None, disk: Disk) -> None:
    """A new file; like the one that it replaces, else as the process makes files."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o666 if like is None else 0o600, dir_fd=folder)
    try:
        if like is not None:
            status = os.fstat(descriptor)
            if (status.st_uid, status.st_gid) != (like.user, like.group):
                with contextlib.suppress(PermissionError):  # not ours to give away
                    os.fchown(descriptor, like.user, like.group)
            os.fchmod(descriptor, like.mode)
        written = 0
        while written < len(data):
            written += disk.write(descriptor, data[written:])
        disk.sync(descriptor)
    finally:
        os.close(descriptor)


def _put(folder: int, temporary: str, name: str, *, is_new: bool) -> None:
    """In its place, at once. A new file never lands on one that was made meanwhile."""
    if is_new:
        try:
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except FileExistsError as error:
            seen = _seen(folder, name)
            raise ChangedError(None if seen is None else digest(seen.data)) from error
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
        else:
            os.unlink(temporary, dir_fd=folder)
            return
    os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _sync_folder(folder: int, disk: Disk) -> None:
    try:
        disk.sync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:  # where a folder cannot be synced, its names are
            raise


def _temporary(path: Path, mark: str) -> str:
    return f".{path.name[:100]}.{mark}.tmp"


def _said(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
