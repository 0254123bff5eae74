"""Files of the scaffold folder: read bounded, and kept for good. Acts."""

import os
import stat
from collections.abc import Container
from pathlib import Path

from gnomon.disk import Disk, make_folder
from gnomon.domain.errors import ScaffoldError
from gnomon.scaffold.contents import (
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_PATH_BYTES,
    Found,
    Unreadable,
    belongs,
)
from gnomon.scaffold.hashing import snapshot_count, snapshot_name, snapshots_of
from gnomon.statefile import write_atomic

MAX_DEPTH = 3


def scan(folder: Path, first: Container[str]) -> dict[str, Found]:
    """Every file of the scaffold by its path in the folder; hidden and editors' files left out.

    At most `MAX_FILES`, those in `first` before others; the ones beyond are `Unreadable`.
    Links are not followed.
    """
    paths = sorted(_paths(folder, "", 0), key=lambda path: (path not in first, path))
    found: dict[str, Found] = {}
    for path in paths[:MAX_FILES]:
        content = read_found(folder / path)
        if not path.isprintable():  # also what is not UTF-8
            plain = path.encode("unicode_escape").decode("ascii")
            found[plain] = Unreadable("its name cannot be printed")
        elif len(path.encode()) > MAX_PATH_BYTES:
            found[path] = Unreadable(f"its name is longer than {MAX_PATH_BYTES} bytes")
        elif content is not None:
            found[path] = content
    for path in paths[MAX_FILES : 2 * MAX_FILES]:
        found[path] = Unreadable(f"one too many: the scaffold holds at most {MAX_FILES} files")
    return found


def _paths(folder: Path, prefix: str, depth: int) -> list[str]:
    paths: list[str] = []
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return paths
    for entry in entries:
        path = prefix + entry.name
        if not belongs(path):
            continue
        if not entry.is_dir(follow_symlinks=False):
            paths.append(path)
        elif depth < MAX_DEPTH:
            paths.extend(_paths(folder / entry.name, f"{path}/", depth + 1))
    return paths


def read_found(path: Path) -> Found | None:
    """A file's bytes, why it cannot be read, or null when it is not there.

    Opened without following a link and without waiting (a pipe would wait for ever).
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Unreadable(f"not a plain file that can be read ({error.strerror})")
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return Unreadable("not a plain file")
        if status.st_size > MAX_FILE_BYTES:
            return Unreadable(f"larger than {MAX_FILE_BYTES} bytes")
        return _read(descriptor)
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> bytes:
    parts: list[bytes] = []
    left = MAX_FILE_BYTES + 1
    while left and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def keep(versions: Path, path: str, activation: int, content: bytes, disk: Disk) -> str:
    """Put a content into `.versions/` and on the disk; answers its name there.

    A second call for the same content under the same activation, with nothing kept between
    them, finds the first one's file: so a step that a crash cut short is done again without a
    double. A name is taken once: its count is one above the last, and one that is there all
    the same is refused (only the holder of the home's lock writes here).
    """
    make_folder(versions, disk)
    kept = snapshots_of(path, activation, (entry.name for entry in versions.iterdir()))
    if kept and (versions / kept[-1]).read_bytes() == content:
        disk.sync_folder(versions)  # a crash may have come between its name and this
        return kept[-1]
    count = snapshot_count(kept[-1]) + 1 if kept else 1
    name = snapshot_name(path, activation, count, content)
    if os.path.lexists(versions / name):
        raise ScaffoldError(
            f"A version named {name} appeared while it was being written.",
            next_step="Nothing was overwritten; it is tried again at the next tick.",
            file=path,
            line=0,
        )
    write_atomic(versions / name, content, mode=0o400, disk=disk)
    return name
