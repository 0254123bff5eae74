"""The ledger against bare system calls and a bare bisection, in the same run.

Appends are bound by the device's flush. Page 9's device takes 3.9 ms for one; a disk that is
quicker is held back to that on both sides, so that the ratio means the same everywhere. What
we add to a flush is also told by itself, against this disk as it is.
"""

import asyncio
import contextlib
import functools
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

from bench.row import Row, bounded, told
from gnomon.clock import SystemClock
from gnomon.disk import SystemDisk
from gnomon.domain.instants import DAY, MINUTE, Millis, iso
from gnomon.domain.ledgers import GENESIS
from gnomon.domain.records import DecisionBody, Reflection
from gnomon.ledger.codec import prepare, seal
from gnomon.ledger.file import LedgerFile
from gnomon.ledger.reading import LedgerReader

FLUSH_SECONDS = 0.0039
"""One flush of the device on which page 9's floors were measured."""
WRITERS = 64
CHUNK = 5
"""Rounds of all writers that are timed as one, by turns with as many bare batches."""
WINDOW = 1_000
"""Lines of the last window: 33 hours of a tick each two minutes."""
BEGIN = Millis(19_675 * DAY)
STEP = 2 * MINUTE
MARK = 1_234_567_890_123
"""Stands in a template where a line's own number and time belong."""

BODY = Reflection(
    reflection_no=7,
    focus="the flaky test in the build",
    desired_action="observe",
    summary="Looked at the failing runs of the last days and at the notes beside them.",
    concerns=("the cache may be stale",),
    active_item=None,
    raw_signature="5e3a1f00c2b4",
    repeated=False,
    repeat_count=0,
    pressure="none",
    model="embedded",
    seconds=2.25,
    tokens_in=812,
    tokens_out=96,
    scaffold_version="000042-0123456789ab",
)


class PageNineDisk(SystemDisk):
    """A disk whose flush is no quicker than page 9's."""

    def sync(self, fd: int) -> None:
        begun = time.perf_counter()
        super().sync(fd)
        time.sleep(max(FLUSH_SECONDS - (time.perf_counter() - begun), 0))


def rows(quick: bool) -> list[Row]:
    """All figures of page 9 about ledgers."""
    found: list[Row] = []
    with tempfile.TemporaryDirectory(dir=_folder()) as folder:
        found += asyncio.run(_appends(Path(folder), quick=quick))
        sizes = [10**5, 10**6] if quick else [10**6, 10**7]
        found += _reads(Path(folder), sizes)
    return found


def _folder() -> Path:
    """On the disk that the home would be on, not in memory."""
    return Path(__file__).resolve().parent


# --- appending -----------------------------------------------------------------------------


async def _appends(folder: Path, *, quick: bool) -> list[Row]:
    rounds = 40 if quick else 250
    held = await _one_writer(folder / "held", PageNineDisk(), rounds)
    raw = await _one_writer(folder / "raw", SystemDisk(), rounds)
    batch, batch_floor = await _many_writers(folder / "batch", PageNineDisk(), rounds)
    return [
        Row(
            "append, 1 writer, flush 3.9 ms", held.ours, held.off, held.ours / held.off, 1.05, "ms"
        ),
        told("a bare flush off the loop", held.off, held.on, "ms"),
        bounded(
            "append, added to this disk's flush",
            (raw.ours - raw.on) * 1_000,
            raw.on * 1_000,
            0.05 * FLUSH_SECONDS * 1e6,
            "us",
        ),
        Row("append, 64 writers, a line", batch, batch_floor, batch / batch_floor, 1 / 0.7, "us"),
    ]


@dataclass(frozen=True)
class _Append:
    """Milliseconds of one append, and of a bare write and sync: in a thread that asyncio waits
    for, and with the event loop standing still.
    """

    ours: float
    off: float
    on: float


async def _one_writer(folder: Path, disk: SystemDisk, rounds: int) -> _Append:
    """All three, turn by turn."""
    ledger = _ledger(folder, disk)
    line, loop = _bytes(1), asyncio.get_running_loop()
    ours, off, on = list[float](), list[float](), list[float]()
    with _bare(folder, disk) as fd:
        for turn in range(rounds + 10):
            begun = time.perf_counter()
            await ledger.append(BODY)
            appended = time.perf_counter()
            os.write(fd, line)
            await loop.run_in_executor(None, disk.sync, fd)
            heard = time.perf_counter()
            os.write(fd, line)
            disk.sync(fd)
            done = time.perf_counter()
            if turn >= 10:  # the first ones warm caches up
                ours.append(appended - begun)
                off.append(heard - appended)
                on.append(done - heard)
    await ledger.close()
    return _Append(_calm(ours) * 1_000, _calm(off) * 1_000, _calm(on) * 1_000)


async def _many_writers(folder: Path, disk: SystemDisk, rounds: int) -> tuple[float, float]:
    """Microseconds a line: 64 writers that each wait for their acknowledgement, and one write
    of 64 lines with one sync.
    """
    ledger = _ledger(folder, disk)

    async def write(count: int) -> None:
        for _ in range(count):
            await ledger.append(BODY)

    batch = _bytes(1) * WRITERS
    ours, floor = list[float](), list[float]()
    await asyncio.gather(*(write(3) for _ in range(WRITERS)))
    with _bare(folder, disk) as fd:
        for _ in range(rounds // CHUNK):
            begun = time.perf_counter()
            await asyncio.gather(*(write(CHUNK) for _ in range(WRITERS)))
            between = time.perf_counter()
            for _ in range(CHUNK):
                os.write(fd, batch)
                disk.sync(fd)
            done = time.perf_counter()
            ours.append(between - begun)
            floor.append(done - between)
    await ledger.close()
    lines = CHUNK * WRITERS
    return _calm(ours) / lines * 1e6, _calm(floor) / lines * 1e6


def _calm(times: list[float]) -> float:
    """The first quartile: what others did to the machine meanwhile only ever adds."""
    return quantiles(times, n=4)[0]


def _ledger(folder: Path, disk: SystemDisk) -> LedgerFile:
    path = folder / "decision-ledger.jsonl"
    return LedgerFile.open(path, "bench", DecisionBody, SystemClock(), print, disk=disk)


@contextlib.contextmanager
def _bare(folder: Path, disk: SystemDisk) -> Generator[int]:
    fd = disk.open_append(folder / "bare")
    yield fd
    os.close(fd)


def _bytes(seq: int) -> bytes:
    return seal(prepare(BODY), seq, BEGIN, GENESIS) + b"\n"


# --- reading a range -----------------------------------------------------------------------


def _reads(folder: Path, sizes: list[int]) -> list[Row]:
    """Milliseconds to aggregate the last window, by the ledger and by a bare bisection, turn by
    turn; and that the same window costs the same in a ledger of ten times the size.
    """
    paths = [folder / f"{size}.jsonl" for size in sizes]
    ours: list[list[float]] = [[] for _ in sizes]
    floor: list[list[float]] = [[] for _ in sizes]
    for path, size in zip(paths, sizes, strict=True):
        _write_lines(path, size)
    for _ in range(25):
        for number, (path, size) in enumerate(zip(paths, sizes, strict=True)):
            since = Millis(BEGIN + (size - WINDOW) * STEP)
            ours[number].append(_timed(functools.partial(_aggregate, path, since)))
            floor[number].append(_timed(functools.partial(_bare_aggregate, path, since)))
    rows: list[Row] = []
    for size, mine, bare in zip(sizes, map(min, ours), map(min, floor), strict=True):
        what = f"last window of 10^{len(str(size)) - 1} lines"
        rows.append(Row(what, mine, bare, mine / bare, 1.5, "ms"))
    small, large = (row.ours for row in rows)
    return [*rows, Row("the same window, 10x the ledger", large, small, large / small, 1.2, "ms")]


def _timed(work: Callable[[], float]) -> float:
    begun = time.perf_counter()
    total = work()
    took = time.perf_counter() - begun
    assert total == WINDOW * BODY.seconds
    return took * 1_000


def _aggregate(path: Path, since: Millis) -> float:
    reader = LedgerReader(path, "bench", DecisionBody)
    return sum(
        line.body.seconds for line in reader.read_range(since) if isinstance(line.body, Reflection)
    )


def _bare_aggregate(path: Path, since: Millis) -> float:
    """What one would write by hand: bisect the bytes, then `json.loads` each line. It checks
    nothing and gives dicts.
    """
    wanted = iso(since)
    total = 0.0
    with path.open("rb") as file:
        low, high = 0, path.stat().st_size
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
                total += record["seconds"]
    return total


def _write_lines(path: Path, size: int) -> None:
    """A sound chain of `size` lines, made by filling in a line's three changing places."""
    clocks = [iso(Millis(BEGIN + i * STEP))[10:].encode() for i in range(DAY // STEP)]
    marks = (iso(Millis(MARK)), "f" * 64, str(MARK))
    template = seal(prepare(BODY), MARK, Millis(MARK), marks[1])
    first, rest = template.split(marks[0].encode())
    second, rest = rest.split(marks[1].encode())
    third, last = rest.split(marks[2].encode())
    prev, day = GENESIS.encode(), b""
    with path.open("wb", buffering=1 << 20) as file:
        for index in range(size):
            if index % len(clocks) == 0:
                day = iso(Millis(BEGIN + index * STEP))[:10].encode()
            at, seq = day + clocks[index % len(clocks)], b"%d" % (index + 1)
            raw = b"".join((first, at, second, prev, third, seq, last))
            prev = hashlib.sha256(raw).hexdigest().encode()
            file.write(raw)
            file.write(b"\n")
