"""Where other agents keep their history on this machine: counted by name, nothing opened.

Locations: Claude Code `$CLAUDE_CONFIG_DIR` or `~/.claude`, `projects/*/*.jsonl`; Codex
`$CODEX_HOME` or `~/.codex`, `sessions/Y/M/D/rollout-*.jsonl`.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import date
from pathlib import Path

from gnomon.domain.instants import DAY
from gnomon.domain.views_history import HistoryFound

MOST_FILES = 200_000
_ROLLOUT = re.compile(r"rollout-(\d{4})-(\d{2})-(\d{2})T")


def history_folder(source: str, environ: Mapping[str, str], user_home: Path) -> Path | None:
    """The folder that holds a source's sessions; null for a source that is not known."""
    match source:
        case "claude-code":
            root = environ.get("CLAUDE_CONFIG_DIR")
            return (Path(root) if root else user_home / ".claude") / "projects"
        case "codex":
            root = environ.get("CODEX_HOME")
            return (Path(root) if root else user_home / ".codex") / "sessions"
        case _:
            return None


def find_history(
    environ: Mapping[str, str], user_home: Path, known: Collection[str] = ()
) -> tuple[HistoryFound, ...]:
    """What there is to read. Empty histories and unreadable folders are left out. `known` are
    the files that were read before.
    """
    found: list[HistoryFound] = []
    for source in ("claude-code", "codex"):
        folder = history_folder(source, environ, user_home)
        if folder is None or not folder.is_dir():
            continue
        files, days = _claude(folder) if source == "claude-code" else _codex(folder)
        if files:
            unread = sum(file not in known for file in files)
            found.append(
                HistoryFound(
                    source=source,
                    path=str(folder),
                    sessions=len(files),
                    days=days,
                    unread=unread,
                )
            )
    return tuple(found)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return


def _claude(folder: Path) -> tuple[list[str], int | None]:
    """The sessions' files, and the days that they span. Sub-agents' own files (`agent-*.jsonl`)
    are no sessions. The days are those between the first and the last change: the names carry
    no date.
    """
    changed: list[int] = []
    files: list[str] = []
    for project in _entries(folder):
        if not project.is_dir(follow_symlinks=False):
            continue
        for entry in _entries(Path(project.path)):
            if not entry.name.endswith(".jsonl") or entry.name.startswith("agent-"):
                continue
            files.append(entry.path)
            try:
                changed.append(entry.stat(follow_symlinks=False).st_mtime_ns // 1_000_000)
            except OSError:
                continue  # gone since it was listed
            if len(files) >= MOST_FILES:
                break
    return files, (max(changed) - min(changed)) // DAY + 1 if changed else None


def _codex(folder: Path) -> tuple[list[str], int | None]:
    days: set[date] = set()
    files: list[str] = []
    for place, _, names in os.walk(folder):
        for name in names:
            if not (name.startswith("rollout-") and name.endswith(".jsonl")):
                continue
            files.append(os.path.join(place, name))  # noqa: PTH118 - of a walk, 200,000 times
            day = _day(name)
            if day is not None:
                days.add(day)
        if len(files) >= MOST_FILES:
            break
    return files, (max(days) - min(days)).days + 1 if days else None


def _day(name: str) -> date | None:
    dated = _ROLLOUT.match(name)
    if dated is None:
        return None
    try:
        return date(*(int(part) for part in dated.groups()))
    except ValueError:
        return None
