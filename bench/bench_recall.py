"""Recall at 100,000 notes: a question by words, from text to dated quotes.

The floor is the same database asked for one row by its number. Notes and questions are made
up from words that are as unevenly spread as words are (Zipf), and questions are of the kinds
that people ask: all words in one note, some of them common, one that stands nowhere.
"""

import bisect
import itertools
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.row import Row, bounded
from gnomon.domain.records_observe import Observation
from gnomon.memory.index import RecallIndex
from gnomon.memory.query import parse
from gnomon.memory.recall import sources

NOTES = 100_000
QUICK_NOTES = 10_000
QUESTIONS = 1_000
P50_BUDGET_MS = 1.0
P99_BUDGET_MS = 8.0


class Words:
    """Words by Zipf's law."""

    def __init__(self, seed: int, size: int = 20_000) -> None:
        self._random = random.Random(seed)
        letters = "abcdefghijklmnopqrst"
        self.all = [
            "".join(self._random.choices(letters, k=self._random.randint(3, 9)))
            for _ in range(size)
        ]
        self._sums = list(itertools.accumulate(1 / (rank + 5) for rank in range(size)))

    def one(self) -> str:
        return self.all[bisect.bisect(self._sums, self._random.random() * self._sums[-1])]

    def text(self, count: int) -> str:
        return " ".join(self.one() for _ in range(count))

    def question(self, tasks: list[str]) -> str:
        """Two to four words of one note; now and then with one that is nowhere."""
        words = self._random.choice(tasks).split()
        asked = self._random.sample(words, self._random.randint(2, 4))
        if self._random.random() < 0.1:
            asked.append("zzzzzz")
        return " ".join(asked)


def _note(number: int, task: str, answer: str) -> Observation:
    return Observation(
        session=f"s{number // 20}",
        turn=number % 20 + 1,
        task=task,
        tools={},
        failures=(),
        corrected=False,
        durationMs=None,
        source="codex",
        happened_at="2026-01-01T00:00:00.000Z",
        answer=answer,
        path="/h/x.jsonl",
        line=number,
        turn_id=f"{number:016x}",
    )


def _filled(path: Path, words: Words, notes: int) -> tuple[RecallIndex, list[str]]:
    index = RecallIndex(path)
    tasks: list[str] = []
    for start in range(0, notes, 1_000):
        chunk = [_note(n, words.text(12), words.text(30)) for n in range(start, start + 1_000)]
        tasks += [note.task for note in chunk]
        index.add("bench", start + 1_000, "", chunk)
    return index, tasks


def _times(act: Callable[[str], object], questions: list[str]) -> list[float]:
    """Milliseconds of each, in order of size."""
    times: list[float] = []
    for question in questions:
        start = time.perf_counter()
        act(question)
        times.append((time.perf_counter() - start) * 1_000)
    return sorted(times)


def rows(quick: bool) -> list[Row]:
    """p50 and p99 of a question, in milliseconds."""
    words = Words(7)
    notes = QUICK_NOTES if quick else NOTES
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.db"
        index, tasks = _filled(path, words, notes)
        questions = [words.question(tasks) for _ in range(200 if quick else QUESTIONS)]

        def ask(question: str) -> object:
            query = parse(question)
            return sources(index.search(query, 8), query, 8)

        _times(ask, questions[:50])
        ours = _times(ask, questions)
        index.close()
        with sqlite3.connect(path) as db:
            floor = _times(
                lambda _: db.execute("SELECT task FROM notes WHERE id = 77").fetchone(), questions
            )
        db.close()
    count = f"{notes:,} notes"
    p50, p99 = statistics.median(ours), ours[int(len(ours) * 0.99)]
    least = statistics.median(floor)
    return [
        bounded(f"recall by words, {count}, p50", p50, least, P50_BUDGET_MS, "ms"),
        bounded(f"recall by words, {count}, p99", p99, floor[int(len(floor) * 0.99)],
                P99_BUDGET_MS, "ms"),
    ]  # fmt: skip
