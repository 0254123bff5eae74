"""Which folders of another agent's history are watched, and what a change in one means. Pure but
for listing folders.

Claude Code has one folder a project, and below it one a session for sub-agents, whose changes come
with the session's own file. Codex has one folder a day.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from gnomon.daemon.watch.inotify import Change

DEPTH = {"claude-code": 1, "codex": 3}
"""How far below its root a source keeps folders with sessions in them."""
SESSION = ".jsonl"
MOST_FOLDERS = 50_000
MOST_DIRTY = 200
"""Changed files that are remembered one by one; of more, their whole history is looked at."""


def folders(root: Path, depth: int) -> Iterator[Path]:
    """A history's folders, its root first; links are not followed, what is closed is left out."""
    yield root
    if not depth:
        return
    try:
        with os.scandir(root) as entries:
            below = sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    for each in below:
        yield from folders(Path(each), depth - 1)


class Dirty:
    """What changed since it was last read. `roots` are the histories that are watched."""

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self._roots = roots
        self._paths: dict[Path, None] = {}

    def __bool__(self) -> bool:
        return bool(self._paths)

    def everything(self) -> None:
        """Anything may have changed."""
        self._paths = dict.fromkeys(self._roots)

    def note(self, change: Change) -> None:
        """Remember what a change may have brought. Other files than sessions bring nothing."""
        if change.lost or change.folder is None:
            self.everything()
        elif change.name and (change.is_folder or change.name.endswith(SESSION)):
            self._paths[change.folder / change.name] = None
            if len(self._paths) > MOST_DIRTY:
                self.everything()

    def take(self) -> list[str]:
        """The paths to read, and none of them twice."""
        paths, self._paths = list(self._paths), {}
        files = [path for path in paths if path.suffix == SESSION]
        beside = [path.with_suffix("") for path in files]
        return [str(path) for path in dict.fromkeys((*paths, *beside)) if path.exists()]
