"""The tools that work on files: read, write, edit, list. Each answers text or raises
ToolFaultError; what the system refuses is translated in one place (`tool_host`).
"""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from gnomon.agent.outcome import ToolFaultError
from gnomon.agent.passages import passage_replaced
from gnomon.agent.places import Places
from gnomon.agent.tool_specs import Edit, List, Read, Write

TEXT_LIMIT = 28_000
"""Characters of file text in one answer; the loop's own bound for a result is 30,000."""
LINE_LIMIT = 2_000
"""Characters of one line; minified files have lines of megabytes."""
SNIFF = 8_192
"""Bytes looked at for a NUL, which text does not hold (git's own rule)."""
EDIT_LIMIT = 16 * 1024 * 1024
"""Bytes of a file that `edit` takes into memory."""
LIST_LIMIT = 500
SCAN_LIMIT = 20_000
"""Entries shown of a folder, and entries looked at."""


def read(places: Places, asked: Read) -> str:
    """Lines `start` to `start + lines - 1`, bounded, with a mark where more follows."""
    path = places.resolve(asked.path)
    with _open(path, asked.path) as file:
        head = file.read(SNIFF)
        if b"\0" in head:
            size = os.fstat(file.fileno()).st_size
            raise ToolFaultError("BINARY", f"{asked.path} is not text ({size} bytes).")
        file.seek(0)
        return _window(file, asked)


def _window(file: BinaryIO, asked: Read) -> str:
    shown: list[str] = []
    characters = 0
    rows = islice(_lines(file), asked.start - 1, None)
    for count, row in enumerate(rows):
        if count >= asked.lines or characters + len(row) > TEXT_LIMIT:
            shown.append(f"[more follows: start={asked.start + count}]")
            break
        shown.append(row)
        characters += len(row) + 1
    if not shown:
        where = "is empty" if asked.start == 1 else f"has fewer than {asked.start} lines"
        return f"[{asked.path} {where}]"
    return "\n".join(shown)


def _lines(file: BinaryIO) -> Iterator[str]:
    """Lines without their end, cut to LINE_LIMIT, in bounded memory however long one is."""
    while chunk := file.readline(LINE_LIMIT * 4):
        whole = chunk.endswith(b"\n")
        text = chunk.decode("utf-8", "replace").rstrip("\r\n")
        left_out = max(0, len(text) - LINE_LIMIT)
        while not whole and (rest := file.readline(65_536)):
            whole = rest.endswith(b"\n")
            left_out += len(rest.rstrip(b"\r\n"))
        yield f"{text[:LINE_LIMIT]}[line goes on: {left_out} more]" if left_out else text


def write(places: Places, asked: Write) -> str:
    path = places.resolve(asked.path, writing=True)
    data = asked.content.encode("utf-8", "replace")
    path.parent.mkdir(parents=True, exist_ok=True)
    existed = path.exists()
    _replace(path, data, asked.path)
    return f"{'Replaced' if existed else 'Created'} {asked.path} ({len(data)} bytes)."


def edit(places: Places, asked: Edit) -> str:
    """Replace the one passage `old`."""
    path = places.resolve(asked.path, writing=True)
    with _open(path, asked.path) as file:
        if os.fstat(file.fileno()).st_size > EDIT_LIMIT:
            raise ToolFaultError("TOO_LARGE", f"{asked.path} is larger than {EDIT_LIMIT} bytes.")
        data = file.read()
    edited, line = passage_replaced(data, asked.old, asked.new, asked.path)
    _replace(path, edited, asked.path)
    return f"Edited {asked.path} at line {line}."


def list_folder(places: Places, asked: List) -> str:
    path = places.resolve(asked.path)
    with os.scandir(path) as entries:
        rows = sorted(_entry(entry) for entry in islice(entries, SCAN_LIMIT))
        cut = next(entries, None) is not None
    if not rows:
        return f"[{asked.path} is empty]"
    if len(rows) > LIST_LIMIT:
        total = f"more than {SCAN_LIMIT}" if cut else str(len(rows))
        rows = [*rows[:LIST_LIMIT], f"[{LIST_LIMIT} of {total} entries]"]
    return "\n".join(rows)


def _entry(entry: "os.DirEntry[str]") -> str:
    name = entry.name.encode("utf-8", "replace").decode()
    if entry.is_symlink():
        return f"{name} (link)"
    if entry.is_dir(follow_symlinks=False):
        return f"{name}/"
    with contextlib.suppress(FileNotFoundError):  # gone since it was listed
        return f"{name} ({entry.stat(follow_symlinks=False).st_size} bytes)"
    return name


def _open(path: Path, shown: str) -> BinaryIO:
    """Open a regular file. A pipe or a device could block for ever; neither is opened."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise ToolFaultError("NOT_A_FILE", f"{shown} is not a regular file.")


def _replace(path: Path, data: bytes, shown: str) -> None:
    """Put `data` in the place of `path` at once: a reader sees the old file or the new one."""
    mode = 0o666
    with contextlib.suppress(FileNotFoundError):
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise ToolFaultError("NOT_A_FILE", f"{shown} is not a regular file.")
        mode = stat.S_IMODE(status.st_mode)
    # The mode is given at creation: at jail level `partial` no chmod is to be had.
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
