"""State files: replaced whole or not at all, and read typed or not at all (page 2)."""

import json
import os
import secrets
from pathlib import Path
from typing import TypeVar

import msgspec

from gnomon.disk import PRIVATE_FILE, SYSTEM_DISK, Disk, make_folder
from gnomon.domain.canonical import canonical
from gnomon.domain.errors import StateError

T = TypeVar("T")

TEMPORARY = ".tmp"
"""How the names of half-written files end; a crash may leave one, which means nothing."""
MAX_STATE = 16 * 2**20
"""Bytes of the largest state file that is read: far above any, far below memory."""


def write_atomic(
    path: Path, data: bytes, *, mode: int = PRIVATE_FILE, disk: Disk = SYSTEM_DISK
) -> None:
    """Replace a file's content durably: afterwards it is the old or the new, never mixed.

    A temporary file in the same folder is written, synced and renamed over it, and the folder
    synced. Missing folders are made. Raises OSError; the old content then stands.
    """
    make_folder(path.parent, disk)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        _write_new(temporary, data, mode, disk)
        disk.replace(temporary, path)
    except OSError:
        disk.unlink(temporary)
        raise
    disk.sync_folder(path.parent)


def write_state(path: Path, value: object, *, disk: Disk = SYSTEM_DISK) -> None:
    """Write a record or JSON value as one canonical line. Raises RecordError, OSError."""
    write_atomic(path, canonical(value) + b"\n", disk=disk)


def read_state(path: Path, type_: type[T]) -> T | None:
    """The typed value of a state file; null when there is none yet.

    Raises StateError when it is there and is not that: never a silent default.
    """
    try:
        if path.stat().st_size > MAX_STATE:
            raise _bad(path, f"it is larger than {MAX_STATE} bytes")
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _bad(path, f"it cannot be read ({error.strerror})") from error
    try:
        value = msgspec.json.decode(data, type=type_)
        # The decoder takes the last of two equal names; one that a hand wrote twice is no
        # state that anyone meant.
        json.loads(data, object_pairs_hook=_refuse_twice)
        return value
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise _bad(path, str(error)) from error


def _refuse_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name stands twice in it")
    return fields


def _write_new(path: Path, data: bytes, mode: int, disk: Disk) -> None:
    fd = disk.open_new(path)
    try:
        os.fchmod(fd, mode)
        written = 0
        while written < len(data):
            written += disk.write(fd, data[written:])
        disk.sync(fd)
    finally:
        disk.close(fd)


def _bad(path: Path, reason: str) -> StateError:
    return StateError(
        f"{path} is not what Gnomon wrote: {reason}.",
        next_step="Put back a good copy, or move the file away to begin anew.",
        path=str(path),
        reason=reason,
    )
