"""The index of notes: SQLite's full-text search in one file, rebuilt when it is not whole.

It holds nothing that the ledgers do not hold. It has no journal file beside it, since it is
the one file that its process may write; a mark in it says when a change was under way, and
an index that carries that mark, or cannot be read, is made anew.
"""

import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gnomon.domain.records_observe import Observation
from gnomon.memory.query import Query, indexed
from gnomon.memory.ranking import estimated_notes, score, weight
from gnomon.memory.recall import FEW, Hit, ordered

VERSION = 3
SAMPLED = 32
"""Newest notes of a term or of all terms that are looked at: bounds a question's time."""
_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE places (ledger TEXT PRIMARY KEY, seq INTEGER, sha256 TEXT) WITHOUT ROWID;
CREATE TABLE notes (
  id INTEGER PRIMARY KEY, name TEXT UNIQUE, source TEXT, session TEXT, at TEXT, path TEXT,
  line INTEGER, task TEXT, answer TEXT, session_at TEXT
);
CREATE VIRTUAL TABLE words USING fts5(
  task, answer, content='', tokenize='porter unicode61 remove_diacritics 2'
);
"""


class RecallIndex:
    """One open index. All methods belong to one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = self._open()

    # --- life ----------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        try:
            db = self._connect()
        except sqlite3.DatabaseError:
            return self._anew()
        try:
            if _is_whole(db):
                return db
        except sqlite3.DatabaseError:
            pass  # not an index of ours: made anew below
        db.close()
        return self._anew()

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, isolation_level=None)
        try:
            db.execute("PRAGMA locking_mode=EXCLUSIVE")
            db.execute("PRAGMA journal_mode=MEMORY")
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute("PRAGMA temp_store=MEMORY")
            db.execute("PRAGMA cache_size=-32000")
        except sqlite3.DatabaseError:
            db.close()
            raise
        return db

    def _anew(self) -> sqlite3.Connection:
        """Empties the file in place: its process may write it, and not replace it."""
        with self._path.open("wb"):
            pass
        db = self._connect()
        db.executescript(_SCHEMA)
        db.execute("INSERT INTO meta VALUES ('version', ?), ('changing', 0)", (VERSION,))
        return db

    def rebuild(self) -> None:
        """Forget everything: the next `add`s begin at the ledgers' first lines."""
        self._db.close()
        self._db = self._anew()

    def close(self) -> None:
        self._db.close()

    # --- writing -------------------------------------------------------------------------

    def place(self, ledger: str) -> tuple[int, str]:
        """Up to which line the index knows a ledger: its number and its hash."""
        row = self._row("SELECT seq, sha256 FROM places WHERE ledger = ?", (ledger,))
        return (0, "") if row is None else (int(row[0]), str(row[1]))

    @contextmanager
    def _changing(self) -> Generator[None]:
        self._db.execute("UPDATE meta SET value = 1 WHERE name = 'changing'")
        self._db.execute("BEGIN")
        yield
        self._db.execute("UPDATE meta SET value = 0 WHERE name = 'changing'")
        self._db.execute("COMMIT")

    def add(self, ledger: str, seq: int, sha256: str, seen: Iterable[Observation]) -> None:
        """Notes of lines up to `seq`. A turn that is known is replaced."""
        with self._changing():
            for observation in seen:
                self._put(observation)
            self._db.execute(
                "INSERT OR REPLACE INTO places VALUES (?, ?, ?)", (ledger, seq, sha256)
            )

    def _put(self, seen: Observation) -> None:
        name = f"{seen.source}\0{seen.turn_id or f'{seen.session}/{seen.turn}'}"
        answer = "\n".join(part for part in (seen.answer, seen.correction) if part)
        known = self._row("SELECT id, task, answer FROM notes WHERE name = ?", (name,))
        if known is not None:
            self._db.execute(
                "INSERT INTO words(words, rowid, task, answer) VALUES ('delete', ?, ?, ?)",
                (known[0], indexed(known[1]), indexed(known[2])),
            )
            self._db.execute("DELETE FROM notes WHERE id = ?", (known[0],))
        added = self._db.execute(
            "INSERT INTO notes"
            " (id, name, source, session, at, path, line, task, answer, session_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                None if known is None else known[0],
                name,
                seen.source,
                seen.session,
                seen.happened_at,
                seen.path,
                seen.line,
                seen.task,
                answer,
                seen.session_at,
            ),
        )
        self._db.execute(
            "INSERT INTO words(rowid, task, answer) VALUES (?, ?, ?)",
            (added.lastrowid, indexed(seen.task), indexed(answer)),
        )

    # --- asking --------------------------------------------------------------------------

    @property
    def notes(self) -> int:
        row = self._row("SELECT max(id) FROM notes", ())
        return 0 if row is None or row[0] is None else int(row[0])

    def search(self, query: Query, limit: int) -> list[Hit]:
        """The best notes: those with all terms; when few have them, those with the rarest."""
        if not query.terms:
            return []
        found = dict.fromkeys(self._newest(query.terms))
        weights = dict.fromkeys(query.terms, 1.0)
        if len(found) < FEW and len(query.terms) > 1:
            newest = {term: self._newest((term,)) for term in query.terms}
            weights = self._weights(newest)
            self._widen(found, weights, newest, limit)
        return ordered(self._hits(list(found), weights))[:limit]

    def _newest(self, terms: tuple[str, ...]) -> list[int]:
        """The newest notes that hold all of the terms."""
        rows = self._db.execute(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?",
            (Query(terms).all_of, SAMPLED),
        )
        return [int(row[0]) for row in rows]

    def _weights(self, newest: dict[str, list[int]]) -> dict[str, float]:
        """How much each term tells, rarest first; one that stands nowhere tells nothing."""
        notes = self.notes
        weights = {
            term: weight(estimated_notes(found, SAMPLED, notes), notes)
            for term, found in newest.items()
            if found
        }
        return dict(sorted(weights.items(), key=lambda each: -each[1]))

    def _widen(
        self,
        found: dict[int, None],
        weights: dict[str, float],
        newest: dict[str, list[int]],
        limit: int,
    ) -> None:
        """Lets go of the commonest term, then the next, until enough is found."""
        terms = tuple(weights)
        if len(terms) < len(newest):
            found.update(dict.fromkeys(self._newest(terms) if terms else ()))
        for kept in range(len(terms) - 1, 1, -1):
            if len(found) >= limit:
                return
            found.update(dict.fromkeys(self._newest(terms[:kept])))
        for term in terms:
            if len(found) >= limit:
                return
            found.update(dict.fromkeys(newest[term][: limit * 2]))

    def _hits(self, notes: list[int], weights: dict[str, float]) -> Iterator[Hit]:
        marks = ",".join("?" * len(notes))
        rows = self._db.execute(
            "SELECT id, source, session, at, path, line, task, answer, session_at"  # noqa: S608
            " FROM notes"
            f" WHERE id IN ({marks})",
            notes,
        )
        for note, source, session, at, path, line, task, answer, session_at in rows:
            yield Hit(
                note=note,
                score=score(task, answer, weights),
                source=source,
                session=session,
                at=at,
                path=path,
                line=line,
                task=task,
                answer=answer,
                session_at=session_at,
            )

    def _row(self, sql: str, values: tuple[object, ...]) -> tuple[Any, ...] | None:
        return self._db.execute(sql, values).fetchone()


def _is_whole(db: sqlite3.Connection) -> bool:
    """Whether the index is of this version, and no change was under way when it was left."""
    known = dict(db.execute("SELECT name, value FROM meta").fetchall())
    return known.get("version") == VERSION and known.get("changing") == 0
