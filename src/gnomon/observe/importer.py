"""Reads files and folders for an import: a batch at a time, only what is new.

Runs in the jailed importer. It opens what it was granted, and writes nothing.
"""

import base64
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gnomon.domain.records_observe import ImportedSession, Observation
from gnomon.domain.views_history import ImportRow
from gnomon.observe.cursors import Fingerprint, ReadFile, body_digest, load
from gnomon.observe.exchange import Batch, FinishedFile
from gnomon.observe.identity import Owners
from gnomon.observe.transcripts.file_fold import FoundSession, FoundTurn
from gnomon.observe.transcripts.reading import Progress, Reading, bare_row, reason_of

MOST_STATEMENTS = 64
"""Observations and sessions of one batch."""
MOST_FILES = 64
"""Finished files of one batch."""

Step = Observation | ImportedSession | FinishedFile | Progress


def regular_files(paths: tuple[Path, ...]) -> Iterator[Path | ImportRow]:
    """The files under the paths, sorted, each once; a row for a folder that cannot be
    listed. Links that stand inside a folder are not followed.
    """
    seen: set[Path] = set()
    for path in paths:
        if not path.is_dir():
            found: Iterator[Path | ImportRow] = iter((path,))
        else:
            found = _walk(path)
        for each in found:
            if isinstance(each, ImportRow):
                yield each
            elif each not in seen:
                seen.add(each)
                yield each


def _walk(folder: Path) -> Iterator[Path | ImportRow]:
    failures: list[OSError] = []
    for root, folders, files in os.walk(folder, onerror=failures.append):
        folders.sort()
        for name in sorted(files):
            path = Path(root, name)
            if _is_regular(path):
                yield path
    for error in failures:
        yield bare_row(str(error.filename), note=reason_of(error), unreadable=True)


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return True  # its reading will say what is wrong with it


def fingerprint_of(path: Path) -> Fingerprint | None:
    """How the file is now; null where it cannot be asked."""
    try:
        now = path.stat()
    except OSError:
        return None
    return Fingerprint(now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns)


class Importer:
    """One import. `next` gives batches until one is `done`."""

    def __init__(self, paths: tuple[Path, ...], cursors: Path) -> None:
        known = load(cursors)
        self._owners = Owners(known.entries)
        self._rows: dict[str, ReadFile] = known.rows
        self._steps = self._read(paths)

    def next(self) -> Batch:
        observations: list[Observation] = []
        sessions: list[ImportedSession] = []
        files: list[FinishedFile] = []
        progress: Progress | None = None
        done = True
        for step in self._steps:
            match step:
                case Observation():
                    observations.append(step)
                case ImportedSession():
                    sessions.append(step)
                case FinishedFile():
                    files.append(step)
                case Progress():
                    progress = step
            full = len(observations) + len(sessions) >= MOST_STATEMENTS
            if full or len(files) >= MOST_FILES or progress is not None:
                done = False
                break
        return Batch(
            observations=tuple(observations),
            sessions=tuple(sessions),
            files=tuple(files),
            entries=base64.b64encode(self._owners.take_new()).decode("ascii"),
            progress=progress,
            done=done,
        )

    def _read(self, paths: tuple[Path, ...]) -> Iterator[Step]:
        for found in regular_files(paths):
            if isinstance(found, ImportRow):
                yield FinishedFile(row=found, fingerprint=None)
            else:
                yield from self._file(found)

    def _file(self, path: Path) -> Iterator[Step]:
        fingerprint = fingerprint_of(path)
        known = self._rows.get(str(path))
        if known is not None and known.fingerprint == fingerprint:
            row = msgspec.structs.replace(known.row, new_observations=0)
            yield FinishedFile(row=row, fingerprint=fingerprint)
            return
        reading = Reading(path, self._owners)
        new = 0
        for found in reading.run():
            match found:
                case FoundTurn():
                    new_here, step = self._turn(found)
                    new += new_here
                    if step is not None:
                        yield step
                case FoundSession():
                    step = self._session(found)
                    if step is not None:
                        yield step
                case Progress():
                    yield found
        yield FinishedFile(row=reading.row(new), fingerprint=fingerprint if reading.whole else None)

    def _turn(self, found: FoundTurn) -> tuple[int, Observation | None]:
        """Whether a turn of the user's is new, and the statement that is to be written, if any. A
        turn that has gone on since it was read is stated again; it is not new.
        """
        said = body_digest(found.observation)
        match self._owners.news(found.name, found.owner, said):
            case True:
                return int(found.spoken), found.observation
            case None:
                return 0, found.observation
            case False:
                return 0, None

    def _session(self, found: FoundSession) -> ImportedSession | None:
        said = body_digest(found.session)
        news = self._owners.news(found.name, found.owner, said)
        return None if news is False else found.session
