"""The scaffold folder as the gateway keeps it: seen, versioned, written. Acts.

Three places. The folder holds what people and Gnomon edit. `.versions/` holds every content
that ever stood and no longer does; nothing there is overwritten or deleted. The *seen* file
holds what is in force, exactly: it is the only reason why a prior content can be kept when
someone overwrote it while Gnomon was stopped.

The order at a change is the point of this file: prior content into `.versions/` and on the
disk, then the new version's number on the disk, and only then is the new text handed out.
Whichever step fails or is cut short, the last good content stays in force and the next look
does the whole step again. Kill points: `scaffold.versioned`, `scaffold.numbered`,
`scaffold.written`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from gnomon.domain.errors import ScaffoldError
from gnomon.domain.instants import Millis, iso
from gnomon.scaffold.contents import (
    Found,
    ScaffoldProblem,
    Settled,
    Unreadable,
    accept,
    check_name,
    settle,
)
from gnomon.scaffold.folder import keep, read_found, replace, scan
from gnomon.scaffold.hashing import last_activation, version_name

SEEN_FORMAT = 1
Point = Callable[[str], None]


def no_point(name: str) -> None:
    """No kill point is armed."""


class Seen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is in force: the activation that put it there, since when, and the exact texts."""

    format: int
    activation: int
    since: str
    files: dict[str, str]


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
        point: Point = no_point,
    ) -> None:
        self._folder = folder
        self._versions = versions
        self._seen_file = seen
        self._defaults = defaults
        self._point = point
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
            if seen is None or settled.files != seen.files:
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
            left = keep(self._versions, path, seen.activation if seen else 0, standing)
            self._point("scaffold.versioned")
        replace(self._folder / path, content)
        self._point("scaffold.written")
        return left

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
            content = self._seen_file.read_bytes()
        except FileNotFoundError:
            return None
        try:
            seen = msgspec.json.decode(content, type=Seen)
            if seen.format != SEEN_FORMAT:
                raise msgspec.ValidationError(f"format {seen.format} is not {SEEN_FORMAT}")
        except msgspec.DecodeError as error:
            aside = keep(self._versions, self._seen_file.name, 0, content)
            self._seen_file.unlink()
            reason = f"{error}; set aside as {self._versions.name}/{aside}"
            problems.append(ScaffoldProblem(self._seen_file.name, 0, reason))
            return None
        return seen

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
        return settle(found, seen.files if seen else {}, self._defaults)

    def _restore_default(self, path: str, text: str) -> Found:
        try:
            replace(self._folder / path, text.encode())
        except OSError as error:
            return Unreadable(f"missing, and could not be written: {error.strerror}")
        self._point("scaffold.written")
        return text.encode()

    def _activate(self, seen: Seen | None, files: dict[str, str], now: Millis) -> Seen:
        last = seen.activation if seen else self._last_known_activation()
        if seen is not None:
            for path in sorted(seen.files):
                if files.get(path) != seen.files[path]:
                    keep(self._versions, path, seen.activation, seen.files[path].encode())
                    self._point("scaffold.versioned")
        after = Seen(format=SEEN_FORMAT, activation=last + 1, since=iso(now), files=files)
        replace(self._seen_file, msgspec.json.encode(after))
        self._seen = after
        self._point("scaffold.numbered")
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
            version=version_name(seen.activation, seen.files),
            files=dict(seen.files),
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
