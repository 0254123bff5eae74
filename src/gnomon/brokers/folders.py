"""`folders add|list|remove`: what the agent's tools may reach outside the workspace.

Only the operator grants. A grant is for reading unless said otherwise. Links are resolved when
a grant is made, and it is looked at again at each use, so that a folder that was since
replaced by a link to somewhere else grants nothing.
"""

import os
import pwd
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from gnomon.brokers.folder_rules import HOME_KEYS, KEY_NAMES, Machine, refusal
from gnomon.domain.errors import StateError, UsageError
from gnomon.domain.views import Folder
from gnomon.statefile import read_state, write_state

FIRST_USER_ID = 1000
"""Ids from here are people's (Debian, Fedora, Arch); so is 0."""
LOOK_DEPTH = 3
LOOK_ENTRIES = 5_000
"""How deep, and at how many entries, a folder is searched for keys before it is granted."""


class Granted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state file: every grant, in the order of its path."""

    folders: tuple[Folder, ...] = ()


class Folders:
    """The grants of one agent, in the state file `path`. `machine` says what to refuse."""

    def __init__(self, path: Path, machine: Callable[[], Machine]) -> None:
        self._path = path
        self._machine = machine

    def list(self) -> tuple[Folder, ...]:
        """Every grant, in the order of its path. Raises StateError when the file is damaged."""
        return (read_state(self._path, Granted) or Granted()).folders

    def add(self, path: str, *, writable: bool = False) -> Folder:
        """Grant a folder; granting it again changes whether it may be written.

        Raises UsageError (facts: `path`) when it is no folder, or one that is never granted.
        """
        real = _resolved(path)
        if not real.is_dir():
            raise UsageError(
                f"{path} is not a folder.",
                next_step="Name one that is there, or make it first.",
                path=path,
            )
        reason = refusal(real, self._machine(), tuple(_keys_within(real)))
        if reason is not None:
            raise UsageError(f"{_named(path, real)} cannot be granted: it {reason}.", path=path)
        granted = Folder(path=str(real), writable=writable)
        self._keep(*(f for f in self.list() if f.path != granted.path), granted)
        return granted

    def remove(self, path: str) -> Folder:
        """Take a grant back. Raises UsageError when there is none."""
        names = {path.rstrip("/") or "/", str(_resolved(path))}
        folders = self.list()
        for folder in folders:
            if folder.path in names:
                self._keep(*(f for f in folders if f is not folder))
                return folder
        raise UsageError(
            f"{path} is not granted.", next_step="`gnomon folders list` shows what is.", path=path
        )

    def in_force(self) -> tuple[Folder, ...]:
        """The grants that still name what they named. Nothing when the list is damaged."""
        try:
            folders = self.list()
        except StateError:
            return ()  # fail closed; `folders list` and doctor name the damage
        machine = self._machine()
        return tuple(f for f in folders if _still_is(Path(f.path), machine))

    def _keep(self, *folders: Folder) -> None:
        ordered = tuple(sorted(folders, key=lambda folder: folder.path))
        write_state(self._path, Granted(folders=ordered))


def this_machine(gnomon_home: Path) -> Machine:
    """What there is to protect here: everybody's home, their keys, and Gnomon's own home."""
    found = [Path.home(), *(Path(user.pw_dir) for user in pwd.getpwall() if _is_person(user))]
    homes = tuple(dict.fromkeys(Path(os.path.realpath(home)) for home in found))
    keys = (home / key for home in homes for key in HOME_KEYS)
    return Machine(
        gnomon_home=Path(os.path.realpath(gnomon_home)),
        homes=homes,
        keys=tuple(Path(os.path.realpath(key)) for key in keys if os.path.lexists(key)),
    )


def _is_person(user: pwd.struct_passwd) -> bool:
    return user.pw_uid == 0 or FIRST_USER_ID <= user.pw_uid < 65_534


def _resolved(path: str) -> Path:
    given = Path(path).expanduser()
    if "\0" in path or not given.is_absolute():
        raise UsageError(
            f"{path!r} is not a whole path.", next_step="Write it from / on.", path=path
        )
    return Path(os.path.realpath(given))


def _still_is(path: Path, machine: Machine) -> bool:
    real = Path(os.path.realpath(path))
    return real == path and path.is_dir() and refusal(path, machine) is None


def _keys_within(root: Path) -> Iterator[Path]:
    """Folders with a key's name, near the top: breadth first, bounded."""
    level, looked_at = [root], 0
    for _ in range(LOOK_DEPTH):
        below: list[Path] = []
        for folder in level:
            for entry in _entries(folder):
                looked_at += 1
                if looked_at > LOOK_ENTRIES:
                    return
                if entry.name in KEY_NAMES:
                    yield Path(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    below.append(Path(entry.path))
        level = below


def _entries(folder: Path) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:  # not ours to read: then no tool of ours reads it either
        return []


def _named(path: str, real: Path) -> str:
    return path if str(real) == (path.rstrip("/") or "/") else f"{path} ({real})"
