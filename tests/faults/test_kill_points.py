"""A kill and a power cut at every call of every append and state write, in process.

Right outcome: what was acknowledged is there, nothing is there twice or out of order, and the
ledger opens and goes on. A state file is the old one or the new one.
"""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from gnomon.domain.ledgers import Ack
from gnomon.domain.records import DecisionBody
from gnomon.ledger.file import LedgerFile
from gnomon.ledger.opening import inspect, set_aside
from gnomon.ledger.reading import LedgerReader
from gnomon.ledger.stretch import StretchCount
from gnomon.statefile import read_state, write_state
from gnomon.testing.clock import FakeClock
from gnomon.testing.crash import LOST, POINTS_WHEN, CrashDisk, Kill, Killed
from gnomon.testing.ledger import InlineThreads
from tests.ledger_kit import NAME, open_ticks, tick, tick_lines, versions


class Script:
    """What a writer does before it dies, and what it was told."""

    def __init__(self, folder: Path, disk: CrashDisk) -> None:
        self.path = folder / "decision-ledger.jsonl"
        self.disk = disk
        self.clock = FakeClock()
        self.asked = 0
        self.acknowledged: dict[int, Ack] = {}
        """Of durable appends, by the tick's number."""
        self.early: dict[int, Ack] = {}

    async def run(self) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        try:
            await self._write()
        except Killed:
            self.disk.abandon()

    async def _write(self) -> None:
        stretch = StretchCount()
        ledger = LedgerFile.open(
            self.path,
            NAME,
            DecisionBody,
            self.clock,
            lambda _: None,
            stretch=stretch,
            disk=self.disk,
            threads=InlineThreads(),
        )
        for _ in range(10):
            await self._append(ledger)
        await asyncio.gather(*(self._append(ledger) for _ in range(3)))
        await self._append(ledger, durable=False)
        await self._append(ledger)
        await self._append(ledger, durable=False)
        self.clock.step(-3_600)
        await self._append(ledger)
        stretch.begin()
        await self._append(ledger)
        await self._append(ledger, durable=False)
        await ledger.close()
        self.acknowledged |= self.early

    async def _append(self, ledger: LedgerFile, *, durable: bool = True) -> None:
        self.asked += 1
        number = self.asked
        ack = await ledger.append(tick(number, "x" * 300), durable=durable)
        (self.acknowledged if durable else self.early)[number] = ack


def points(folder: Path, prepare: Callable[[Path], None]) -> int:
    """How many calls a run without a kill makes."""
    folder.mkdir()
    prepare(folder)
    script = Script(folder, CrashDisk())
    asyncio.run(script.run())
    assert len(script.acknowledged) == script.asked
    return len(script.disk.points)


def nothing(_folder: Path) -> None: ...


def torn_tail(folder: Path) -> None:
    """A ledger that an earlier crash left with a torn tail: its repair is swept too."""
    data = b"".join(tick_lines(3, "x" * 300))
    (folder / "decision-ledger.jsonl").write_bytes(data[:-100])


def cases(count: int) -> Iterator[Kill]:
    for at in range(count):
        for when in POINTS_WHEN:
            for lost in LOST:
                yield Kill(at, when, lost)


async def judge(script: Script, before: int) -> None:
    """`before` lines were in the ledger already."""
    said: list[str] = []
    ledger = open_ticks(script.path, script.clock, said=said)
    lines = list(ledger.read())
    found = versions(lines)[before:]
    by_seq = {line.seq: line for line in lines}
    assert found == list(range(1, len(found) + 1)), "lost in the middle, doubled or reordered"
    assert len(found) <= script.asked
    for ack in script.acknowledged.values():
        assert by_seq[ack.seq].sha256 == ack.sha256
    ack = await ledger.append(tick(len(found) + 1))
    assert ack.seq == len(lines) + 1
    await ledger.close()
    assert len(said) <= 1


@pytest.mark.parametrize(("prepare", "before"), [(nothing, 0), (torn_tail, 2)])
def test_no_kill_point_of_a_ledger_loses_or_doubles_an_acknowledged_line(
    ram: Path, prepare: Callable[[Path], None], before: int
) -> None:
    count = points(ram / "clean", prepare)
    done = 0
    for kill in cases(count):
        folder = ram / "case"
        folder.mkdir()
        prepare(folder)
        script = Script(folder, CrashDisk(kill))
        asyncio.run(script.run())
        assert script.disk.dead, f"{kill} was never reached"
        try:
            asyncio.run(judge(script, before))
        except Exception as error:
            raise AssertionError(f"{kill} at {script.disk.points[-1]}") from error
        shutil.rmtree(folder)
        done += 1
    assert done == 12 * count
    assert done >= 500


class Fact(msgspec.Struct, frozen=True):
    text: str


OLD, NEW = Fact("old" * 200), Fact("new" * 300)


@pytest.mark.parametrize("is_new", [False, True])
def test_no_kill_point_of_a_state_write_leaves_a_mixed_state(ram: Path, is_new: bool) -> None:
    clean = CrashDisk()
    write_state(ram / "clean" / "state" / "f.json", NEW, disk=clean)
    done = 0
    for kill in cases(len(clean.points)):
        path = ram / "case" / "state" / "f.json"
        path.parent.parent.mkdir()
        if not is_new:
            write_state(path, OLD)
        disk = CrashDisk(kill)
        try:
            write_state(path, NEW, disk=disk)
        except Killed:
            disk.abandon()
        else:
            assert read_state(path, Fact) == NEW, kill
        assert read_state(path, Fact) in ((None, NEW) if is_new else (OLD, NEW)), kill
        write_state(path, NEW)
        assert read_state(path, Fact) == NEW
        shutil.rmtree(ram / "case")
        done += 1
    assert done >= 60


def test_setting_a_torn_tail_aside_can_be_killed_and_repeated(ram: Path) -> None:
    """Each kill point of the repair: the tail is in one of the two files, once."""
    tail = tick_lines(3, "x" * 300)[2][:-100]

    def repair(disk: CrashDisk, folder: Path) -> None:
        reader = LedgerReader(folder / "decision-ledger.jsonl", NAME, DecisionBody)
        torn = inspect(reader).torn
        if torn is not None:
            set_aside(torn, reader.first, NAME, disk)

    clean = CrashDisk()
    (ram / "clean").mkdir()
    torn_tail(ram / "clean")
    repair(clean, ram / "clean")
    for kill in cases(len(clean.points)):
        folder = ram / "case"
        folder.mkdir()
        torn_tail(folder)
        disk = CrashDisk(kill)
        with pytest.raises(Killed):
            repair(disk, folder)
        disk.abandon()
        ledger, aside = folder / "decision-ledger.jsonl", folder / "decision-ledger.torn"
        kept = aside.read_bytes() if aside.exists() else b""
        assert ledger.read_bytes().endswith(tail) or kept.endswith(tail), kill
        repair(CrashDisk(), folder)
        assert aside.read_bytes().endswith(tail)
        assert ledger.read_bytes() == b"".join(tick_lines(2, "x" * 300))
        shutil.rmtree(folder)
