"""What one window costs the fitness writer, on decision-ledgers of any length.

Ours is the whole job's answer: find the cited line and check that it is still there, read on
in a checked chain up to the head, count, and make the line. The floor is a bisection by hand
that parses the window's lines and computes the composite, and checks nothing. `--quick` uses
ledgers of 10^5 and 10^6 lines, the full run 10^6 and 10^7.
"""

import functools
import hashlib
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.row import Row
from gnomon.domain.instants import DAY, HOUR, MINUTE, Millis, iso
from gnomon.domain.ledgers import GENESIS, Head, LedgerName
from gnomon.domain.records import AnchoredHead, Reflection
from gnomon.domain.records_referee import Components, EngagementCounts, Window
from gnomon.ledger.codec import encode_line
from gnomon.referee.config import default_text
from gnomon.referee.fitness import NOTHING
from gnomon.referee.fitness_tail import DECISIONS, ENGAGEMENT, FitnessTail
from gnomon.referee.writer_main import Work, Writer, WriterArgument

BEGIN = Millis(19_675 * DAY)
STEP = 2 * MINUTE
A_WINDOW = HOUR // STEP
TIMES, QUICK_TIMES = 200, 60
MARK = 1_234_567_890_123
"""Stands in a template where a line's own number and time belong."""
CHECKED = 2.5
"""The job checks each line's form and the chain; the floor believes what it parses."""

BODY = Reflection(
    reflection_no=7,
    focus="the flaky test in the build",
    desired_action="observe",
    summary="Looked at the failing runs of the last days and at the notes beside them.",
    concerns=("the cache may be stale", "the build of the docs is slow"),
    active_item=None,
    raw_signature="5e3a1f00c2b4",
    repeated=True,
    repeat_count=1,
    pressure="none",
    model="embedded",
    seconds=2.25,
    tokens_in=812,
    tokens_out=96,
    scaffold_version="000042-0123456789ab",
)
COMPOSITE = 0.7
"""Every reflection repeats, and both concerns last: 0.5 + 0.2."""


def rows(quick: bool) -> list[Row]:
    """One window's cost at two sizes, and the growth between them."""
    sizes = [10**5, 10**6] if quick else [10**6, 10**7]
    with tempfile.TemporaryDirectory(dir=Path(__file__).resolve().parent) as folder:
        ledgers = [_write(Path(folder) / str(size), size - size % A_WINDOW) for size in sizes]
        measured = _measure(ledgers, quick=quick)
    found = [
        Row(
            f"a window's fitness, 10^{len(str(size)) - 1} lines",
            cost.ours,
            cost.floor,
            cost.ours / cost.floor,
            CHECKED,
            "ms",
        )
        for size, cost in zip(sizes, measured, strict=True)
    ]
    small, large = measured
    growth = large.ours / small.ours
    equal = Row("its fitness, 10x the ledger", large.ours, small.ours, growth, 1.5, "ms")
    return [*found, equal]


@dataclass(frozen=True)
class _Cost:
    """Milliseconds, the best of many turns."""

    ours: float
    floor: float


@dataclass(frozen=True)
class _Ledgers:
    path: Path
    engagement: Path
    head: Head
    cited: AnchoredHead
    start: Millis
    """Of the last window."""


def _measure(sizes: list[_Ledgers], *, quick: bool) -> list[_Cost]:
    """Turn by turn, so that a noisy minute meets all sizes alike."""
    ours: list[list[float]] = [[] for _ in sizes]
    floor: list[list[float]] = [[] for _ in sizes]
    jobs = [functools.partial(_job, _writer(ledgers), ledgers) for ledgers in sizes]
    for _ in range(QUICK_TIMES if quick else TIMES):
        for number, ledgers in enumerate(sizes):
            ours[number].append(_timed(jobs[number]))
            floor[number].append(_timed(functools.partial(_by_hand, ledgers)))
    return [_Cost(min(mine), min(bare)) for mine, bare in zip(ours, floor, strict=True)]


def _timed(work: Callable[[], float | None]) -> float:
    begun = time.perf_counter()
    composite = work()
    took = time.perf_counter() - begun
    assert composite == COMPOSITE
    return took * 1_000


# --- ours ------------------------------------------------------------------------------------


def _writer(ledgers: _Ledgers) -> Writer:
    paths: dict[LedgerName, str] = {
        DECISIONS: str(ledgers.path),
        ENGAGEMENT: str(ledgers.engagement),
    }
    return Writer(WriterArgument(paths=paths, config=default_text()))


def _job(writer: Writer, ledgers: _Ledgers) -> float | None:
    tail = FitnessTail()
    tail.take(_before(ledgers))
    now = Millis(ledgers.start + HOUR + MINUTE)
    due = writer.due(Work(heads={DECISIONS: ledgers.head}, tail=tail, now=now))
    [line] = due.lines
    assert isinstance(line, Window)
    assert line.reflection_count == A_WINDOW
    return line.stall_composite


def _before(ledgers: _Ledgers) -> Window:
    """The line that stands for the window before."""
    return Window(
        window_start=iso(Millis(ledgers.start - HOUR)),
        window_end=iso(ledgers.start),
        window_seconds=HOUR // 1_000,
        stall_composite=COMPOSITE,
        stall_reason=None,
        components=Components(),
        engagement_rate=None,
        engagement_reason="low_sample",
        engagement_counts=EngagementCounts(),
        system_unavailable_count=0,
        system_unavailable_seconds=0,
        pending=0,
        mature=True,
        rule_counts=EngagementCounts(),
        synthetic_counts=EngagementCounts(),
        tick_count=0,
        reflection_count=A_WINDOW,
        executive_attempt_count=0,
        scaffold_version=BODY.scaffold_version,
        mixed_scaffold=False,
        config_sha256=GENESIS,
        inputs={DECISIONS: ledgers.cited, ENGAGEMENT: NOTHING},
    )


# --- by hand ---------------------------------------------------------------------------------


def _by_hand(ledgers: _Ledgers) -> float:
    wanted = iso(ledgers.start)
    reflections: list[dict[str, Any]] = []
    with ledgers.path.open("rb") as file:
        low, high = 0, ledgers.head.offset
        while high - low > 4_096:
            middle = (low + high) // 2
            file.seek(middle)
            file.readline()
            line = file.readline()
            if not line or json.loads(line)["at"] >= wanted:
                high = middle
            else:
                low = middle
        file.seek(low)
        if low:
            file.readline()
        for line in file:
            record = json.loads(line)
            if record["at"] >= wanted and record["kind"] == "reflection":
                reflections.append(record)
    repeats = sum(record["repeated"] is True for record in reflections) / len(reflections)
    said = [{str(each) for each in record["concerns"]} for record in reflections]
    lasting = len(said[-1] & set[str]().union(*said[:-1])) / len(set[str]().union(*said))
    return round(0.5 * repeats + 0.2 * lasting, 6)


# --- a ledger to measure on ------------------------------------------------------------------


def _write(folder: Path, size: int) -> _Ledgers:
    """A sound chain of `size` lines, made by filling in a line's three changing places."""
    folder.mkdir()
    path, engagement = folder / "decisions.jsonl", folder / "engagement.jsonl"
    engagement.touch()
    marks = (iso(Millis(MARK)), "f" * 64, str(MARK))
    template = encode_line(MARK, Millis(MARK), marks[1], BODY)
    first, rest = template.split(marks[0].encode())
    second, rest = rest.split(marks[1].encode())
    third, last = rest.split(marks[2].encode())
    prev, cited = GENESIS.encode(), GENESIS.encode()
    with path.open("wb", buffering=1 << 20) as file:
        for index in range(size):
            if index == size - A_WINDOW:
                cited = prev
            at, seq = iso(Millis(BEGIN + index * STEP)).encode(), b"%d" % (index + 1)
            raw = b"".join((first, at, second, prev, third, seq, last))
            prev = hashlib.sha256(raw).hexdigest().encode()
            file.write(raw)
            file.write(b"\n")
    return _Ledgers(
        path=path,
        engagement=engagement,
        head=Head(seq=size, sha256=prev.decode(), offset=path.stat().st_size),
        cited=AnchoredHead(seq=size - A_WINDOW, sha256=cited.decode()),
        start=Millis(BEGIN + (size - A_WINDOW) * STEP),
    )
