"""The list of conversations: each session's title, length and last time.

A session is read whole for that, so it is read beside the event loop and again only when its
files have changed: a list that is shown after each turn costs one session, not fifty.
"""

from collections.abc import Callable
from pathlib import Path
from threading import Lock

from gnomon.daemon.talk import conversations
from gnomon.domain.views import SessionView
from gnomon.ledger.reading import LedgerReader
from gnomon.ledger.segments import segments

MOST_SHOWN = 50

Stand = tuple[tuple[int, int], ...]
"""Size and time of the last change, of each of a session's files."""


class SessionList:
    """`reader` opens a session by its name. Used by one thread at a time."""

    def __init__(self, folder: Path, reader: Callable[[str], LedgerReader]) -> None:
        self._folder = folder
        self._reader = reader
        self._known: dict[str, tuple[Stand, SessionView]] = {}
        self._one = Lock()

    def newest(self) -> list[SessionView]:
        """The newest first, by when they were last written. Raises LedgerCorruptError."""
        with self._one:
            known, self._known = self._known, {}
            for name in self._newest_names():
                stand = self._stand(name)
                seen = known.get(name)
                self._known[name] = seen if seen and seen[0] == stand else (stand, self._read(name))
            return [shown for _, shown in self._known.values()]

    def _newest_names(self) -> list[str]:
        files = [path for path in self._folder.glob("*.jsonl") if path.is_file()]
        newest = sorted(files, key=lambda path: path.stat().st_mtime_ns, reverse=True)
        names = dict.fromkeys(path.name.split(".", 1)[0] for path in newest)
        return list(names)[:MOST_SHOWN]

    def _stand(self, name: str) -> Stand:
        now = [each.path.stat() for each in segments(self._folder / f"{name}.jsonl")]
        return tuple((found.st_size, found.st_mtime_ns) for found in now)

    def _read(self, name: str) -> SessionView:
        return conversations.view(conversations.conversation(name, self._reader(name).read()))
