"""[Keep watching]: other agents' histories are read on as they grow (page 8).

Off until the operator says so. A change only marks a file; it is read at a beat, by the jailed
importer, at most every few minutes. A user's fresh turn there is a sign that the operator is here,
and no engagement.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gnomon.daemon.watch.inotify import Change, Inotify, is_bound
from gnomon.daemon.watch.watched import DEPTH, MOST_FOLDERS, Dirty, folders
from gnomon.domain.errors import GnomonError, UsageError
from gnomon.domain.instants import MINUTE, Millis, parse_iso
from gnomon.domain.views_history import ImportRow, WatchView
from gnomon.observe.discover import history_folder

APART = 5 * MINUTE
"""The least time between two readings while an agent works on: each reads its session anew."""
FRESH = 10 * MINUTE
"""A turn that was said so lately means that somebody is here."""
Read = Callable[[list[str]], Awaitable[list[ImportRow]]]


@dataclass
class Watching:
    """`read` imports paths; `seen` hears that the operator is near; `say` is the journal."""

    environ: Mapping[str, str]
    user_home: Path
    read: Read
    now: Callable[[], Millis]
    seen: Callable[[], None]
    say: Callable[[str], None]
    fault: str | None = None
    _watch: Inotify | None = None
    _dirty: Dirty = field(default_factory=lambda: Dirty(()))
    _depths: dict[Path, int] = field(default_factory=dict[Path, int])
    _roots: dict[Path, int] = field(default_factory=dict[Path, int])
    _missing: set[Path] = field(default_factory=set[Path])
    """Roots that were taken away: they are looked for at each beat."""
    _read_at: Millis | None = None
    _reading: bool = False

    @property
    def is_on(self) -> bool:
        return self._watch is not None

    def view(self) -> WatchView:
        return WatchView(
            on=self.is_on, folders=len(self._watch) if self._watch else 0, fault=self.fault
        )

    def start(self) -> None:
        """Watch every history that is there. What changed while nobody watched is read at the
        next beat. Raises UsageError where this system cannot watch, or there is no history.
        """
        if self._watch is not None:
            return
        roots = {root: depth for name, depth in DEPTH.items() if (root := self._root(name))}
        if not roots:
            raise UsageError(
                "There is no history of another agent here to watch.",
                next_step="It watches those of Claude Code and Codex at their usual places.",
            )
        try:
            self._watch = Inotify(self._changed)
        except (OSError, AttributeError) as error:
            raise UsageError(
                f"This system cannot tell of changes in files: {error}.",
                next_step="`gnomon import` reads what is new when you ask for it.",
            ) from error
        self.fault = None
        self._dirty = Dirty(tuple(roots))
        self._dirty.everything()
        self._roots = roots
        self._missing.clear()
        self._add_roots()

    def stop(self) -> None:
        """Watch nothing any more. May be called when nothing is watched."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        self._depths.clear()

    def is_due(self) -> bool:
        """Whether a beat should read what changed."""
        if self._watch is None or self._reading:
            return False
        if any(root.is_dir() for root in self._missing):
            self._missing.clear()
            self._add_roots()
            self._dirty.everything()
        if not self._dirty:
            return False
        return self._read_at is None or not 0 <= self.now() - self._read_at < APART

    async def read_changed(self) -> None:
        """Read what changed, and note whether somebody was there. What goes wrong is said; all is
        looked at again later.
        """
        if not self.is_due():
            return
        self._reading, self._read_at = True, self.now()
        try:
            paths = self._dirty.take()
            rows = await self.read(paths) if paths else []
        except (GnomonError, OSError) as error:
            self._dirty.everything()
            self.say(f"What other agents wrote could not be read: {error}")
            return
        finally:
            self._reading = False
        if any(self._is_fresh(row) for row in rows):
            self.seen()

    # --- inside --------------------------------------------------------------------------------

    def _root(self, source: str) -> Path | None:
        folder = history_folder(source, self.environ, self.user_home)
        return folder if folder is not None and folder.is_dir() else None

    def _is_fresh(self, row: ImportRow) -> bool:
        if not row.new_observations or row.last_at is None:
            return False
        return 0 <= self.now() - parse_iso(row.last_at) <= FRESH

    def _changed(self, change: Change) -> None:
        self._dirty.note(change)
        if change.lost:  # folders may have come meanwhile
            self._add_roots()
        elif change.folder in self._roots and not change.name:
            self._missing.add(change.folder)
        if change.is_folder and change.folder is not None and change.name:
            depth = self._depths.get(change.folder, 0)
            if depth:
                self._add(change.folder / change.name, depth - 1)

    def _add_roots(self) -> None:
        for root, depth in self._roots.items():
            if root.is_dir():
                self._add(root, depth)
            else:
                self._missing.add(root)

    def _add(self, root: Path, depth: int) -> None:
        """Watch a folder and those below it. What cannot be watched is said once."""
        assert self._watch is not None
        for folder in folders(root, depth):
            if len(self._watch) >= MOST_FOLDERS:
                self._cannot(f"there are over {MOST_FOLDERS} folders")
                return
            try:
                self._watch.add(folder)
            except OSError as error:
                if is_bound(error):
                    self._cannot("the system allows no more watches (fs.inotify.max_user_watches)")
                    return
                continue  # gone since it was listed
            self._depths[folder] = depth - len(folder.relative_to(root).parts)

    def _cannot(self, why: str) -> None:
        if self.fault is None:
            self.fault = f"Not every folder is watched: {why}."
            self.say(f"{self.fault} `gnomon import` reads the others.")
