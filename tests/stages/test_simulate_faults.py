"""The simulated disk and the witness: what a kill and a power cut leave, and what is noticed."""

import asyncio
import errno
from dataclasses import replace
from pathlib import Path

import pytest

from gnomon.domain.errors import DiskError
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import Ack
from gnomon.domain.records import DecisionBody
from gnomon.ledger.file import LedgerFile
from gnomon.resident.protocol import ArtifactArguments
from gnomon.simulate.disk import SimulatedDisk
from gnomon.simulate.witness import Witness, hashes
from gnomon.testing.clock import FakeClock
from gnomon.testing.crash import Kill, Killed
from gnomon.testing.ledger import InlineThreads
from tests.ledger_kit import NAME, tick
from tests.world_kit import World, in_virtual_time

DRAFT = """---
kind: draft
title: A draft
summary: One thing is open.
points:
  - One thing is open.
assumptions: []
---

Text.
"""


class Bench:
    """One ledger on a simulated disk, with a witness."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{NAME}.jsonl"
        self.clock = FakeClock()
        self.deaths = 0
        self.disk = SimulatedDisk(self.clock.wall, self._died)
        self.witness = Witness(lambda: Millis(0))

    def _died(self) -> None:
        self.deaths += 1

    def open(self) -> LedgerFile:
        ledger = LedgerFile.open(
            self.path,
            NAME,
            DecisionBody,
            self.clock,
            lambda _: None,
            disk=self.disk,
            threads=InlineThreads(),
        )
        self.witness.watch(ledger, self.path)
        return ledger


async def write(bench: Bench, *, durable: int, early: int) -> None:
    ledger = bench.open()
    for number in range(durable):
        await ledger.append(tick(number))
    for number in range(early):
        await ledger.append(tick(durable + number), durable=False)


async def test_a_kill_loses_nothing_that_was_written(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    await write(bench, durable=3, early=2)
    bench.disk.die(Kill(0))
    assert len(list(hashes(bench.path))) == 5
    assert list(bench.witness.compare()) == []
    assert bench.deaths == 1


async def test_a_power_cut_loses_what_was_not_synced_and_that_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    await write(bench, durable=3, early=2)
    bench.disk.die(Kill(0, lost="unsynced"))
    assert bench.disk.lost_power
    assert len(list(hashes(bench.path))) == 3
    assert len(list(bench.witness.compare())) == 2, "the witness was not told that power failed"
    bench.witness.medium_failed()
    assert list(bench.witness.compare(everything=True)) == []


async def test_an_armed_kill_strikes_at_its_call_and_nothing_gets_through_after(
    tmp_path: Path,
) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
    bench = Bench(tmp_path)
    ledger = bench.open()
    await ledger.append(tick(1))
    bench.disk.arm(Kill(0, "half"))
    with pytest.raises(Killed):
        await ledger.append(tick(2))
    assert len(list(hashes(bench.path))) == 1
    assert not bench.path.read_bytes().endswith(b"\n")
    with pytest.raises(Killed):
        bench.disk.unlink(bench.path)
    assert bench.path.exists()


async def test_a_full_disk_and_a_medium_that_fails_are_errors_that_pass(tmp_path: Path) -> None:
    disk = SimulatedDisk(FakeClock().wall, lambda: None)
    fd = disk.open_append(tmp_path / "file")
    disk.full = True
    with pytest.raises(OSError, match="full") as refused:
        disk.write(fd, b"x")
    assert refused.value.errno == errno.ENOSPC
    disk.full, disk.sync_fails = False, True
    assert disk.write(fd, b"x") == 1
    with pytest.raises(OSError, match="medium"):
        disk.sync(fd)
    disk.close(fd)


def test_what_cannot_be_kept_on_a_full_disk_is_refused_by_name(tmp_path: Path) -> None:
    async def live() -> None:
        world = World(tmp_path)
        disk = SimulatedDisk(world.clock.wall, lambda: None)
        world.platform = replace(world.platform, disk=disk)
        async with world.up() as gateway:
            disk.full = True
            with pytest.raises(DiskError, match="no space"):
                await gateway.ask("inbox.emit", title="A test", count=True)
            made = ArtifactArguments(
                action_kind="draft", title="A draft", query="which one", text=DRAFT
            )
            with pytest.raises(DiskError, match="no space"):
                await gateway.core.artifacts.put(made)
            disk.full = False
            assert (await gateway.core.artifacts.put(made)).progressed

    in_virtual_time(live)


async def test_a_line_that_is_lost_changed_or_doubled_is_noticed(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    await write(bench, durable=3, early=0)
    first, second, third = bench.path.read_bytes().splitlines(keepends=True)

    def compared(data: bytes) -> list[str]:
        bench.path.write_bytes(data)
        return list(bench.witness.compare(everything=True))

    assert compared(first + second + third) == []
    assert any("is lost" in each for each in compared(first + second))
    assert any("is another" in each for each in compared(first + third + second))
    assert any("stand twice" in each for each in compared(first + second + third + third))


async def test_a_number_that_was_acknowledged_twice_is_noticed(tmp_path: Path) -> None:
    witness = Witness(lambda: Millis(0))

    class Forgetful:
        async def append(self, body: object, *, durable: bool = True) -> Ack:
            del body, durable
            return Ack(seq=1, at=Millis(0), sha256="0" * 64)

    ledger = Forgetful()
    witness.watch(ledger, tmp_path / "none.jsonl")
    await ledger.append(tick(1))
    await ledger.append(tick(2))
    assert any("twice" in each for each in witness.compare(everything=True))
