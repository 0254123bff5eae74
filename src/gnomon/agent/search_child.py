"""Searching files for a regular expression, in a process of its own.

A pattern can take for ever on a line (`(a+)+$`), and nothing in this process could stop it;
`search_tool` runs this file as a program and ends it when its time is over. It imports the
standard library alone, so that it starts in milliseconds. Input and output are JSON.
"""

import fnmatch
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"})
"""Folders that hold no text of their owner's."""
FILE_LIMIT = 5_000_000
LINE_LIMIT = 20_000
SHOWN_LIMIT = 300
"""Bytes of a file and of a line that are looked at, and characters of a line shown."""


class Question(TypedDict):
    pattern: str
    root: str
    files: str
    limit: int


class Answer(TypedDict):
    matches: list[str]
    more: bool
    error: str | None


def search(question: Question) -> Answer:
    """Lines that match, as `path:line: text`, up to `limit`. Links are not followed."""
    try:
        pattern = re.compile(question["pattern"])
    except (re.error, RecursionError, OverflowError) as error:
        return {"matches": [], "more": False, "error": str(error)}
    found: list[str] = []
    for path in _files(question["root"], question["files"]):
        for match in _matches(path, pattern):
            if len(found) == question["limit"]:
                return {"matches": found, "more": True, "error": None}
            found.append(match)
    return {"matches": found, "more": False, "error": None}


def _files(root: str, wanted: str) -> Iterator[str]:
    if not Path(root).is_dir():
        yield root
        return
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(name for name in subfolders if name not in SKIPPED)
        yield from (f"{folder}/{name}" for name in sorted(names) if fnmatch.fnmatch(name, wanted))


def _matches(path: str, pattern: "re.Pattern[str]") -> Iterator[str]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:  # gone, or not ours to read: a search goes on with the next file
        return
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        data = file.read(FILE_LIMIT)
    if b"\0" in data[:8192]:
        return
    for number, raw in enumerate(data.split(b"\n"), 1):
        line = raw[:LINE_LIMIT].decode("utf-8", "replace").rstrip("\r")
        if pattern.search(line):
            yield f"{path}:{number}: {line.strip()[:SHOWN_LIMIT]}"


if __name__ == "__main__":
    json.dump(search(json.load(sys.stdin)), sys.stdout)
