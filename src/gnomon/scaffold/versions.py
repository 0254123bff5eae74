"""The scaffold folder as the gateway keeps it: seen, versioned, written. Acts.

Three places. The folder holds what people and Gnomon edit. `.versions/` holds every content
that ever stood and no longer does; nothing there is overwritten or deleted. The *seen* file
holds what is in force, exactly: it is the only reason why a prior content can be kept when
someone overwrote it while Gnomon was stopped.

The order at a change is the point of this file: prior content into `.versions/` and on the
disk, then the new version's number on the disk, and only then is the new text handed out.
Whichever step fails or is cut short, the last good content stays in force and the next look
does the whole step again.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from gnomon.disk import SYSTEM_DISK, Disk
from gnomon.domain.errors import ScaffoldError, StateError
from gnomon.domain.instants import Millis, iso
from gnomon.domain.records import Sha256
from gnomon.scaffold.contents import (
    Found,
    ScaffoldProblem,
    Settled,
    Unreadable,
    accept,
    check_name,
    settle,
)
from gnomon.scaffold.folder import keep, read_found, scan
from gnomon.scaffold.hashing import content_sha256, last_activation, named_for, version_name
from gnomon.statefile import read_state, write_atomic, write_state

SEEN_FORMAT = 1


class Seen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is in force: the activation that put it there, since when, and the exact texts."""

    format: int
    activation: int
    since: str
    files: tuple[tuple[str, str], ...]
    """Name and text, sorted. (No object: a name need not be ASCII.)"""

    @property
    def texts(self) -> dict[str, str]:
        return dict(self.files)


@lru_cache(maxsize=4)
def _version_of(seen: Seen) -> str:
    """Hashed once for each set of files that comes into force, not at every look."""
    return version_name(seen.activation, seen.texts)


class ScaffoldState(msgspec.Struct, frozen=True, kw_only=True):
    """What is in force at a tick. `changed` says that this look put it in force.

    `problems` are the files that stand on the disk and cannot come into force;
    `new_problems` are those of them that the look before did not report.
    """

    version: str
    files: dict[str, str]
    changed: bool
    problems: tuple[ScaffoldProblem, ...] = ()
    new_problems: tuple[ScaffoldProblem, ...] = ()


class Scaffold:
    """One agent's scaffold. `seen` is its state file, outside the folder.

    Made without I/O; `observe` creates what is missing. Used from one thread, by the one
    process that holds the home's lock.
    """

    def __init__(
        self,
        folder: Path,
        versions: Path,
        seen: Path,
        defaults: Mapping[str, str],
        disk: Disk = SYSTEM_DISK,
    ) -> None:
        self._folder = folder
        self._versions = versions
        self._seen_file = seen
        self._defaults = defaults
        self._disk = disk
        self._seen: Seen | None = None
        self._loaded = False
        self._reported: tuple[ScaffoldProblem, ...] = ()

    def observe(self, now: Millis) -> ScaffoldState:
        """Look at the folder, at a tick or at start, and say what is in force from here on.

        Missing files are written from the packaged defaults. A difference from what was in
        force, whoever made it and whenever, takes force here, after its predecessor is on
        the disk. Raises ScaffoldError only when there is nothing to fall back on: the first
        look of all failed.
        """
        problems: list[ScaffoldProblem] = []
        changed = False
        try:
            seen = self._load(problems)
            settled = self._look(seen)
            problems.extend(settled.problems)
            if seen is None or settled.files != seen.texts:
                seen = self._activate(seen, settled.files, now)
                changed = True
        except (OSError, ScaffoldError) as error:
            seen = self._fall_back(error)
            problems.append(_not_in_force(error))
        return self._report(seen, changed, tuple(problems))

    def write(self, path: str, text: str) -> str | None:
        """An edit made through Gnomon: what stands on the disk gets its version, then the
        text is put in its place. It takes force at the next `observe`.

        Returns the name of the version that was left, or null when the file was not there or
        held this very text. Raises ScaffoldError when the text could not come into force, or
        when what stands there cannot be kept; OSError when the disk refuses.
        """
        check_name(path)
        content = text.encode()
        verdict = accept(path, content)
        if isinstance(verdict, ScaffoldProblem):
            raise _refusal(verdict)
        standing = read_found(self._folder / path)
        if isinstance(standing, Unreadable):
            raise _refusal(ScaffoldProblem(path, 0, f"what stands there is {standing.reason}"))
        if standing == content:
            return None
        left: str | None = None
        if standing is not None:
            seen = self._load([])
            activation = seen.activation if seen else 0
            left = keep(self._versions, path, activation, standing, self._disk)
        write_atomic(self._folder / path, content, disk=self._disk)
        return left

    def standing(self, path: str) -> bytes | None:
        """What a file holds on the disk now; null where there is none that can be read."""
        check_name(path)
        found = read_found(self._folder / path)
        return None if isinstance(found, Unreadable) else found

    def kept(self, path: str, sha256: Sha256) -> tuple[str, bytes] | None:
        """A prior content of a file by its hash, and its name in `.versions/`; null where none
        was kept.
        """
        if not self._versions.is_dir():
            return None
        names = [entry.name for entry in self._versions.iterdir()]
        for name in named_for(path, sha256, names):
            if not (self._versions / name).is_file():
                continue
            content = (self._versions / name).read_bytes()
            if content_sha256(content) == sha256:
                return name, content
        return None

    def _load(self, problems: list[ScaffoldProblem]) -> Seen | None:
        if not self._loaded:
            self._seen = self._read_seen(problems)
            self._loaded = True
        return self._seen

    def _read_seen(self, problems: list[ScaffoldProblem]) -> Seen | None:
        """The seen file, or null where there is none. One that cannot be read is set aside,
        never overwritten: it may hold the only copy of a prior content.
        """
        try:
            seen = read_state(self._seen_file, Seen)
            reason = f"its format {seen.format} is unknown" if seen else ""
        except StateError as error:
            seen, reason = None, str(error.facts["reason"])
        if not reason or (seen is not None and seen.format == SEEN_FORMAT):
            return seen
        content = self._seen_file.read_bytes()
        aside = keep(self._versions, self._seen_file.name, 0, content, self._disk)
        self._disk.unlink(self._seen_file)
        reason = f"{reason}; set aside as {self._versions.name}/{aside}"
        problems.append(ScaffoldProblem(self._seen_file.name, 0, reason))
        return None

    def _fall_back(self, error: OSError | ScaffoldError) -> Seen:
        """What was in force stays; what did reach the disk is read again at the next look."""
        if self._seen is None:
            raise ScaffoldError(
                f"The scaffold in {self._folder} cannot be set up: {error}.",
                next_step="Free some space or correct the permissions.",
                file=str(self._folder),
                line=0,
            ) from error
        self._loaded = False
        return self._seen

    def _look(self, seen: Seen | None) -> Settled:
        found: dict[str, Found] = scan(self._folder, first=self._defaults)
        for path, text in self._defaults.items():
            if path not in found:
                found[path] = self._restore_default(path, text)
        return settle(found, seen.texts if seen else {}, self._defaults)

    def _restore_default(self, path: str, text: str) -> Found:
        try:
            write_atomic(self._folder / path, text.encode(), disk=self._disk)
        except OSError as error:
            return Unreadable(f"missing, and could not be written: {error.strerror}")
        return text.encode()

    def _activate(self, seen: Seen | None, files: dict[str, str], now: Millis) -> Seen:
        last = seen.activation if seen else self._last_known_activation()
        if seen is not None:
            for path, text in seen.files:
                if files.get(path) != text:
                    keep(self._versions, path, seen.activation, text.encode(), self._disk)
        after = Seen(
            format=SEEN_FORMAT,
            activation=last + 1,
            since=iso(now),
            files=tuple(sorted(files.items())),
        )
        write_state(self._seen_file, after, disk=self._disk)
        self._seen = after
        return after

    def _last_known_activation(self) -> int:
        """Without a seen file the numbers given so far are known from the versions alone: the
        last one that is named there was followed by at least one more.
        """
        if not self._versions.exists():
            return 0
        names = [entry.name for entry in self._versions.iterdir()]
        return last_activation(names) + 1 if names else 0

    def _report(
        self, seen: Seen, changed: bool, problems: tuple[ScaffoldProblem, ...]
    ) -> ScaffoldState:
        news = tuple(problem for problem in problems if problem not in self._reported)
        self._reported = problems
        return ScaffoldState(
            version=_version_of(seen),
            files=seen.texts,
            changed=changed,
            problems=problems,
            new_problems=news,
        )


def _refusal(problem: ScaffoldProblem) -> ScaffoldError:
    return ScaffoldError(
        f"{problem.file} was not written: {problem.reason}.",
        next_step="Nothing was changed.",
        file=problem.file,
        line=problem.line,
    )


def _not_in_force(error: OSError | ScaffoldError) -> ScaffoldProblem:
    if isinstance(error, ScaffoldError):
        return ScaffoldProblem(str(error.facts["file"]), 0, error.message)
    name = Path(str(error.filename)).name if error.filename else "scaffold"
    return ScaffoldProblem(name, 0, f"{error.strerror}; the change is not in force")
