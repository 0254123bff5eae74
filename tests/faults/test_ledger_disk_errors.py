"""A disk that is full, cuts writes short, or fails to sync."""

import asyncio
import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnomon.domain.errors import LedgerClosedError, LedgerError
from gnomon.domain.records import DecisionBody
from gnomon.ledger.family import LedgerFamily
from gnomon.testing.clock import FakeClock
from gnomon.testing.crash import CrashDisk, Fault
from tests.ledger_kit import NAME, open_ticks, tick, versions


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "decision-ledger.jsonl"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT])
async def test_a_refused_write_is_said_and_the_ledger_goes_on(path: Path, code: int) -> None:
    ledger = open_ticks(path, disk=CrashDisk(Fault("write", errno=code, at=1)))
    await ledger.append(tick(1))
    with pytest.raises(LedgerError) as refused:
        await ledger.append(tick(2))
    assert not isinstance(refused.value, LedgerClosedError)
    assert refused.value.facts["errno"] == code
    assert (await ledger.append(tick(3))).seq == 2
    assert versions(list(ledger.read())) == [1, 3]
    await ledger.close()


@pytest.mark.parametrize("short", [0, 1, 100, 184])
async def test_a_short_write_is_cut_back_and_glues_nothing(path: Path, short: int) -> None:
    ledger = open_ticks(path, disk=CrashDisk(Fault("write", short=short, at=1)))
    await ledger.append(tick(1))
    size = path.stat().st_size
    with pytest.raises(LedgerError):
        await ledger.append(tick(2))
    assert path.stat().st_size == size
    await ledger.append(tick(3))
    assert versions(list(ledger.read())) == [1, 3]
    await ledger.close()
    assert (await reopened(path)) == [1, 3]


async def test_all_who_shared_a_refused_write_hear_of_it(path: Path) -> None:
    ledger = open_ticks(path, disk=CrashDisk(Fault("write", short=300)))
    heard = await asyncio.gather(
        *(ledger.append(tick(n), durable=n > 3) for n in range(8)), return_exceptions=True
    )
    assert all(isinstance(error, LedgerError) for error in heard)
    assert path.stat().st_size == 0
    assert (await ledger.append(tick(9))).seq == 1
    await ledger.close()


async def test_a_short_write_that_cannot_be_cut_back_closes_the_ledger(path: Path) -> None:
    disk = CrashDisk(Fault("write", short=50, at=1), Fault("truncate", errno=errno.EIO))
    ledger = open_ticks(path, disk=disk)
    await ledger.append(tick(1))
    with pytest.raises(LedgerError):
        await ledger.append(tick(2))
    with pytest.raises(LedgerClosedError, match="cut back"):
        await ledger.append(tick(3))
    await ledger.reopen_verified(print)
    assert (await ledger.append(tick(4))).seq == 2
    assert versions(list(ledger.read())) == [1, 4]
    await ledger.close()
    assert (await reopened(path)) == [1, 4]


async def reopened(path: Path) -> list[int]:
    said: list[str] = []
    ledger = open_ticks(path, said=said)
    found = versions(list(ledger.read()))
    await ledger.close()
    assert said == []
    return found


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
async def test_after_a_failed_sync_nothing_is_acknowledged_until_reopened(
    path: Path, code: int
) -> None:
    """The next sync would succeed; it proves nothing."""
    ledger = open_ticks(path, disk=CrashDisk(Fault("sync", errno=code, at=1)))
    await ledger.append(tick(1))
    with pytest.raises(LedgerClosedError):
        await ledger.append(tick(2))
    for number in (3, 4):
        with pytest.raises(LedgerClosedError):
            await ledger.append(tick(number), durable=number == 3)
    assert ledger.head.seq == ledger.durable_head.seq == 1
    assert versions(list(ledger.read())) == [1]
    said: list[str] = []
    await ledger.reopen_verified(said.append)
    assert versions(list(ledger.read())) == [1]
    assert (await ledger.append(tick(2))).seq == 2  # asked again by its author: once, not twice
    await ledger.close()
    assert (await reopened(path)) == [1, 2]


async def test_a_failed_sync_fails_all_who_wait_for_it_or_the_next(path: Path) -> None:
    ledger = open_ticks(path, disk=CrashDisk(Fault("sync", errno=errno.EIO)))
    heard = await asyncio.gather(
        *(ledger.append(tick(n)) for n in range(10)), return_exceptions=True
    )
    assert all(isinstance(error, LedgerClosedError) for error in heard)
    with pytest.raises(LedgerClosedError):
        await ledger.synced()
    await ledger.close()


async def test_a_failed_late_sync_closes_the_ledger_too(path: Path) -> None:
    ledger = open_ticks(path, disk=CrashDisk(Fault("sync", errno=errno.EIO)))
    await ledger.append(tick(1), durable=False)
    with pytest.raises(LedgerClosedError):
        await ledger.synced()
    assert ledger.closed_because is not None
    await ledger.reopen_verified(print)
    assert ledger.head.seq == 0
    await ledger.close()


async def test_reopening_that_fails_leaves_it_closed(path: Path) -> None:
    ledger = open_ticks(path, disk=CrashDisk(Fault("sync", errno=errno.EIO, times=2)))
    with pytest.raises(LedgerClosedError):
        await ledger.append(tick(1))
    with pytest.raises(LedgerError):
        await ledger.reopen_verified(print)
    assert ledger.closed_because is not None
    await ledger.reopen_verified(print)
    assert (await ledger.append(tick(1))).seq == 1
    await ledger.close()


async def test_a_segment_that_cannot_be_begun_closes_the_ledger(path: Path) -> None:
    disk = CrashDisk(Fault("sync_folder", errno=errno.ENOSPC, at=1))
    clock = FakeClock()
    ledger = open_ticks(path, clock, disk=disk)
    await ledger.append(tick(1))
    clock.step(-3_600)
    with pytest.raises(LedgerClosedError):
        await ledger.append(tick(2))
    await ledger.reopen_verified(print)
    assert (await ledger.append(tick(2))).seq == 2
    assert versions(list(ledger.read())) == [1, 2]
    await ledger.close()
    assert (await reopened(path)) == [1, 2]


class HeldDisk(CrashDisk):
    """Its syncs wait until they are let go."""

    gate = threading.Event()

    def sync(self, fd: int) -> None:
        assert self.gate.wait(10)
        super().sync(fd)


async def test_a_ledger_that_closes_while_a_sync_runs_reopens_after_it(path: Path) -> None:
    disk = HeldDisk(Fault("write", short=50, at=1), Fault("truncate", errno=errno.EIO))
    disk.gate.set()
    ledger = open_ticks(path, disk=disk)
    disk.gate.clear()
    first = asyncio.create_task(ledger.append(tick(1)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with pytest.raises(LedgerError):
        await ledger.append(tick(2))
    reopening = asyncio.create_task(ledger.reopen_verified(print))
    await asyncio.sleep(0)
    assert not first.done()
    disk.gate.set()
    assert (await first).seq == 1
    await reopening
    assert (await ledger.append(tick(3))).seq == 2
    await ledger.reopen_verified(print)  # nothing to do
    await ledger.close()
    assert (await reopened(path)) == [1, 3]


async def test_a_family_reopens_its_failed_members(tmp_path: Path) -> None:
    disk = CrashDisk(Fault("sync", errno=errno.EIO))
    family = LedgerFamily(tmp_path, NAME, DecisionBody, FakeClock(), print, disk=disk)
    with pytest.raises(LedgerClosedError):
        await family.get("a").append(tick(1))
    with pytest.raises(LedgerClosedError):
        await family.get("a").append(tick(1))
    await family.reopen_failed()
    assert (await family.get("a").append(tick(1))).seq == 1
    assert family.get("a").head.seq == 1
    await family.close()


# --- a real full disk ------------------------------------------------------------------------


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 256 KiB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], check=True, timeout=10
    )
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=10)


@pytest.mark.root
async def test_a_full_disk_loses_nothing_and_the_ledger_resumes_with_space(tiny: Path) -> None:
    ballast = tiny / "ballast"
    ballast.write_bytes(b"x" * 200_000)
    ledger = open_ticks(tiny / "decision-ledger.jsonl")
    acknowledged: list[int] = []
    refused: list[LedgerError] = []
    for number in range(1, 150):
        try:
            await ledger.append(tick(number, "y" * 1_000))
        except LedgerError as error:
            refused.append(error)
        else:
            acknowledged.append(number)
    assert len(refused) > 50
    assert not any(isinstance(error, LedgerClosedError) for error in refused)
    ballast.unlink()
    for number in range(150, 200):
        await ledger.append(tick(number, "y" * 1_000))
        acknowledged.append(number)
    assert versions(list(ledger.read())) == acknowledged
    await ledger.close()
    assert (await reopened(tiny / "decision-ledger.jsonl")) == acknowledged


# --- a real failing sync ---------------------------------------------------------------------

WRITER = """
import asyncio, contextlib, json, sys
from pathlib import Path
from gnomon.clock import SystemClock
from gnomon.domain.errors import LedgerError
from gnomon.domain.records import DecisionBody, Tick
from gnomon.ledger.file import LedgerFile

async def main():
    path = Path(sys.argv[1])
    ledger = LedgerFile.open(path, "decision-ledger", DecisionBody, SystemClock(), print)
    told = []
    for number in range(1, 7):
        try:
            ack = await ledger.append(Tick(scaffold_version=f"{number:06d}-"))
            told.append(ack.seq)
        except LedgerError as error:
            told.append(error.code)
            for _ in range(3):  # its own sync may be one of those that fail
                with contextlib.suppress(LedgerError):
                    await ledger.reopen_verified(print)
    await ledger.close()
    print(json.dumps(told))

asyncio.run(main())
"""


@pytest.mark.needs("strace")
@pytest.mark.parametrize(
    ("inject", "fails"),
    [
        ("fdatasync:error=EIO:when=3", True),
        ("fdatasync:error=EIO:when=2", True),
        ("fdatasync:error=ENOSPC:when=2+2", True),
        ("ftruncate:error=EIO:when=1", False),
    ],
)
async def test_a_sync_that_the_kernel_fails_is_not_acknowledged(
    path: Path, inject: str, fails: bool
) -> None:
    strace = shutil.which("strace")
    assert strace is not None
    done = subprocess.run(
        [
            strace, "-f", "-qq", "-o", os.devnull, "-e", "trace=fdatasync,ftruncate",
            "-e", f"inject={inject}", sys.executable, "-c", WRITER, str(path),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )  # fmt: skip
    told: list[int | str] = json.loads(done.stdout.splitlines()[-1])
    acknowledged = [number for number, word in enumerate(told, 1) if isinstance(word, int)]
    # The tool counts calls by thread, and a reopened ledger has a new one: it may fail again.
    assert ("ledger-closed" in told) == fails
    assert [word for word in told if isinstance(word, int)] == list(range(1, len(acknowledged) + 1))
    assert acknowledged
    assert (await reopened(path)) == acknowledged
