"""Every text that a scaffold file had, and how any two of them differ. Reads alone."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from gnomon.change.life import ChangesState
from gnomon.domain.errors import UsageError
from gnomon.domain.records import Sha256
from gnomon.domain.unified_diff import unified
from gnomon.domain.version_name import activation_of
from gnomon.domain.views_change import VersionDiff, VersionView
from gnomon.scaffold.folder import read_found
from gnomon.scaffold.hashing import Snapshot, content_sha256, snapshots, text_sha256
from gnomon.scaffold.versions import ScaffoldState

CURRENT = "current"


class PastTexts:
    """`folder` is `.versions/`; `in_force` answers the set of files that is; `state` where every
    change stands.
    """

    def __init__(
        self,
        folder: Path,
        in_force: Callable[[], ScaffoldState],
        state: Callable[[], ChangesState],
    ) -> None:
        self._folder = folder
        self._in_force = in_force
        self._state = state
        self._hashes: dict[str, Sha256] = {}
        """By name in `.versions/`, where nothing is ever written twice."""

    def listed(self, file: str | None, limit: int) -> list[VersionView]:
        """What is in force, then what was, newest first; of one file or of each."""
        now = self._in_force()
        by_text = self._changes_by_text()
        number = activation_of(now.version)
        found = [
            _view(path, CURRENT, number, text_sha256(text), by_text)
            for path, text in sorted(now.files.items())
            if file in (None, path)
        ]
        count: Counter[str] = Counter(each.file for each in found)
        for past in self._past(now):
            if file in (None, past.path) and count[past.path] < limit:
                count[past.path] += 1
                sha256 = self._sha256(past.name)
                found.append(_view(past.path, past.name, past.activation, sha256, by_text))
        return found

    def diff(self, file: str, before: str, after: str) -> VersionDiff:
        """Raises UsageError for a text that the file never had."""
        now = self._in_force()
        names = {past.name for past in self._past(now) if past.path == file}
        old, new = (self._text(now, names, file, name) for name in (before, after))
        return VersionDiff(file=file, before=before, after=after, diff=unified(old, new, file))

    def _past(self, now: ScaffoldState) -> list[Snapshot]:
        if not self._folder.is_dir():
            return []
        return snapshots((entry.name for entry in self._folder.iterdir()), now.files)

    def _text(self, now: ScaffoldState, names: set[str], file: str, name: str) -> str:
        if name == CURRENT and file in now.files:
            return now.files[file]
        if name in names:
            return self._bytes(name).decode(errors="replace")
        raise UsageError(
            f"{file[:100]!r} has no version {name[:100]!r}.",
            next_step="`scaffold.versions` lists them.",
        )

    def _sha256(self, name: str) -> Sha256:
        if name not in self._hashes:
            self._hashes[name] = content_sha256(self._bytes(name))
        return self._hashes[name]

    def _bytes(self, name: str) -> bytes:
        found = read_found(self._folder / name)
        return found if isinstance(found, bytes) else b""

    def _changes_by_text(self) -> dict[tuple[str, Sha256], str]:
        """Which change first put a text in its file."""
        return {
            (life.change.target, life.change.candidate_sha256): life.change_id
            for life in self._state().newest_first()
            if life.applied_at is not None
        }


def _view(
    file: str,
    name: str,
    activation: int,
    sha256: Sha256,
    by_text: dict[tuple[str, Sha256], str],
) -> VersionView:
    return VersionView(
        file=file,
        name=name,
        activation=activation,
        sha256=sha256,
        change_id=by_text.get((file, sha256)),
    )
