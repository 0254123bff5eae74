"""The ledger as a file: sharing a sync, segments, ranges, opening."""

import asyncio
import os
import stat
import threading
from pathlib import Path

import pytest

from gnomon.disk import SystemDisk
from gnomon.domain.errors import LedgerClosedError, LedgerCorruptError, LedgerError, RecordError
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import Head
from gnomon.domain.records import AnchoredHead, DecisionBody
from gnomon.ledger.codec import MAX_LINE, line_hash
from gnomon.ledger.reading import LedgerReader
from gnomon.ledger.stretch import StretchCount
from gnomon.testing.clock import START, FakeClock
from tests.ledger_kit import NAME, open_ticks, tick, tick_lines, versions

HOUR = 3_600


class SlowDisk(SystemDisk):
    """A sync takes until it is let go; counts calls."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.syncs = 0
        self.writes = 0
        self.sync_threads: set[int] = set()

    def write(self, fd: int, data: bytes) -> int:
        self.writes += 1
        return super().write(fd, data)

    def sync(self, fd: int) -> None:
        self.syncs += 1
        self.sync_threads.add(threading.get_ident())
        assert self.gate.wait(10)
        super().sync(fd)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kernel" / "decision-ledger.jsonl"


async def settle() -> None:
    """Let everything run that can run now."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_files_are_private_and_folders_too(path: Path) -> None:
    ledger = open_ticks(path)
    await ledger.append(tick(1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    await ledger.close()


async def test_appends_that_wait_share_one_write_and_one_sync_off_the_loop(path: Path) -> None:
    disk = SlowDisk()
    ledger = open_ticks(path, disk=disk)
    disk.syncs = 0
    await asyncio.gather(*(ledger.append(tick(n)) for n in range(64)))
    assert (disk.writes, disk.syncs) == (1, 1)
    assert threading.get_ident() not in disk.sync_threads
    await ledger.close()


async def test_writers_in_a_loop_stay_together(path: Path) -> None:
    """All who are answered by one sync share the next, and none waits for two."""
    disk = SlowDisk()
    ledger = open_ticks(path, disk=disk)
    disk.syncs = 0

    async def write(writer: int) -> list[int]:
        return [(await ledger.append(tick(writer * 100 + n))).seq for n in range(10)]

    seqs = await asyncio.gather(*(write(writer) for writer in range(64)))
    assert disk.syncs <= 12
    assert sorted(seq for of in seqs for seq in of) == list(range(1, 641))
    assert all(of == sorted(of) for of in seqs)
    read = versions(list(ledger.read()))
    for writer in range(64):
        assert [v for v in read if v // 100 == writer] == [writer * 100 + n for n in range(10)]
    await ledger.close()


async def test_nothing_is_acknowledged_before_its_sync(path: Path) -> None:
    disk = SlowDisk()
    ledger = open_ticks(path, disk=disk)
    disk.gate.clear()
    appending = asyncio.create_task(ledger.append(tick(1)))
    await settle()
    assert path.read_bytes().count(b"\n") == 1
    assert not appending.done()
    assert ledger.head == Head()
    assert list(ledger.read()) == []
    disk.gate.set()
    assert (await appending).seq == 1
    assert ledger.head == ledger.durable_head
    await ledger.close()


async def test_a_line_that_need_not_wait_is_acknowledged_at_once_and_synced_soon(
    path: Path,
) -> None:
    disk = SlowDisk()
    ledger = open_ticks(path, disk=disk)
    disk.syncs = 0
    ack = await asyncio.wait_for(ledger.append(tick(1), durable=False), 5)
    assert (ack.seq, disk.syncs) == (1, 0)
    assert (ledger.head.seq, ledger.durable_head.seq) == (1, 0)
    assert versions(list(ledger.read())) == [1]
    async with asyncio.timeout(1.0):  # page 2: within a second
        while ledger.durable_head.seq == 0:
            await asyncio.sleep(0.01)
    assert disk.syncs == 1
    await ledger.close()


async def test_early_lines_do_not_wait_for_a_sync_that_runs(path: Path) -> None:
    disk = SlowDisk()
    ledger = open_ticks(path, disk=disk)
    disk.gate.clear()
    durable = asyncio.create_task(ledger.append(tick(1)))
    await settle()
    assert (await asyncio.wait_for(ledger.append(tick(2), durable=False), 5)).seq == 2
    assert not durable.done()
    disk.gate.set()
    await durable
    await ledger.synced()
    assert ledger.durable_head.seq == 2
    await ledger.close()


async def test_closing_syncs_what_was_acknowledged_early(path: Path) -> None:
    disk = SlowDisk()
    ledger = open_ticks(path, disk=disk)
    disk.syncs = 0
    await ledger.append(tick(1), durable=False)
    await ledger.close()
    assert disk.syncs == 1
    with pytest.raises(LedgerClosedError):
        await ledger.append(tick(2))


async def test_an_append_cancelled_before_it_is_written_leaves_no_line(path: Path) -> None:
    ledger = open_ticks(path)
    appending = asyncio.create_task(ledger.append(tick(1)))
    await asyncio.sleep(0)
    appending.cancel()
    other = await ledger.append(tick(2))
    assert other.seq == 1
    assert versions(list(ledger.read())) == [2]
    await ledger.close()


async def test_a_line_over_the_bound_fails_alone(path: Path) -> None:
    ledger = open_ticks(path)
    results = await asyncio.gather(
        ledger.append(tick(1)),
        ledger.append(tick(2, "x" * MAX_LINE)),
        ledger.append(tick(3)),
        return_exceptions=True,
    )
    assert isinstance(results[1], RecordError)
    assert versions(list(ledger.read())) == [1, 3]
    await ledger.close()


async def test_a_closed_and_opened_ledger_goes_on_where_it_was(path: Path) -> None:
    clock = FakeClock()
    ledger = open_ticks(path, clock)
    await ledger.append(tick(1))
    head = ledger.head
    await ledger.close()
    clock.step(-200)
    ledger = open_ticks(path, clock)
    assert ledger.head == ledger.durable_head == head
    ack = await ledger.append(tick(2))
    assert (ack.seq, ack.at) == (2, START)
    assert versions(list(ledger.read())) == [1, 2]
    await ledger.close()


# --- segments ------------------------------------------------------------------------------


@pytest.mark.parametrize("back", [HOUR, 365 * 24 * HOUR])
async def test_a_backward_step_begins_the_next_segment(path: Path, back: int) -> None:
    clock = FakeClock()
    ledger = open_ticks(path, clock)
    await ledger.append(tick(1))
    await ledger.append(tick(2), durable=False)
    clock.step(-back)
    ack = await ledger.append(tick(3))
    assert (ack.seq, ack.at) == (3, START - back * 1_000)
    assert ledger.head.segment == 2
    second = path.with_name("decision-ledger.0002.jsonl")
    assert path.read_bytes().count(b"\n") == 2
    assert second.read_bytes().count(b"\n") == 1
    lines = list(ledger.read())
    assert lines[2].prev == lines[1].sha256
    await ledger.close()
    ledger = open_ticks(path, clock)
    assert ledger.head.segment == 2
    clock.step(2 * back)
    assert (await ledger.append(tick(4))).seq == 4
    assert versions(list(ledger.read(after_seq=1))) == [2, 3, 4]
    await ledger.close()


@pytest.mark.parametrize("forward", [HOUR, 365 * 24 * HOUR])
async def test_a_forward_step_stays_in_the_segment(path: Path, forward: int) -> None:
    clock = FakeClock()
    ledger = open_ticks(path, clock)
    await ledger.append(tick(1))
    clock.step(forward)
    assert (await ledger.append(tick(2))).at == START + forward * 1_000
    assert ledger.head.segment == 1
    await ledger.close()


async def test_ledgers_that_count_together_begin_the_same_segment(path: Path) -> None:
    clock, stretch = FakeClock(), StretchCount()
    often, seldom = (
        open_ticks(path.with_name(name), clock, stretch=stretch)
        for name in ("often.jsonl", "seldom.jsonl")
    )
    for n in range(1, 4):
        await often.append(tick(n))
        clock.step(-HOUR)
    await seldom.append(tick(1))
    assert (often.head.segment, seldom.head.segment) == (3, 4)
    await often.append(tick(4))
    assert (often.head.segment, often.head.seq) == (4, 4)
    reader = LedgerReader(path.with_name("often.jsonl"), NAME, DecisionBody)
    assert reader.segment_starts(often.head) == (2, 3, 4)
    reader = LedgerReader(path.with_name("seldom.jsonl"), NAME, DecisionBody)
    assert reader.segment_starts(seldom.head) == (1, 1, 1)
    assert versions(list(seldom.read())) == [1]
    await often.close()
    await seldom.close()
    stretch = StretchCount()
    often, seldom = (
        open_ticks(path.with_name(name), clock, stretch=stretch)
        for name in ("often.jsonl", "seldom.jsonl")
    )
    clock.step(-HOUR)
    await seldom.append(tick(2))
    assert (often.head.segment, seldom.head.segment, stretch.number) == (4, 5, 5)
    await often.close()
    await seldom.close()


async def test_no_ledger_dates_a_line_before_one_that_another_has(path: Path) -> None:
    clock, stretch = FakeClock(), StretchCount()
    one, other = (
        open_ticks(path.with_name(name), clock, stretch=stretch) for name in ("a.jsonl", "b.jsonl")
    )
    first = await one.append(tick(1))
    clock.step(-200)
    assert (await other.append(tick(1))).at == first.at
    assert other.head.segment == 1
    await one.close()
    await other.close()


async def test_the_loop_goes_on_while_many_segments_are_begun(path: Path) -> None:
    stretch, turns = StretchCount(), 0
    stretch.join(40, None)
    ledger = open_ticks(path, stretch=stretch)
    appending = asyncio.create_task(ledger.append(tick(1)))
    while not appending.done():
        await asyncio.sleep(0)
        turns += 1
    assert ledger.head.segment == 40
    assert turns >= 39
    await ledger.close()


async def test_an_empty_last_segment_is_gone_on_with(path: Path) -> None:
    ledger = open_ticks(path)
    await ledger.append(tick(1))
    await ledger.close()
    path.with_name("decision-ledger.0002.jsonl").touch()  # killed before its first line
    ledger = open_ticks(path)
    assert (ledger.head.segment, ledger.head.seq, ledger.head.offset) == (2, 1, 0)
    await ledger.append(tick(2))
    assert versions(list(ledger.read())) == [1, 2]
    await ledger.close()


async def test_a_torn_tail_before_an_empty_segment_is_set_aside_too(path: Path) -> None:
    ledger = open_ticks(path)
    await ledger.append(tick(1))
    await ledger.close()
    path.with_name("decision-ledger.0002.jsonl").touch()
    with path.open("ab") as file:
        file.write(b'{"torn')
    said: list[str] = []
    ledger = open_ticks(path, said=said)
    assert len(said) == 1
    assert (await ledger.append(tick(2))).seq == 2
    assert versions(list(ledger.read())) == [1, 2]
    await ledger.close()


async def test_a_missing_segment_refuses_to_open(path: Path) -> None:
    stretch = StretchCount()
    ledger = open_ticks(path, stretch=stretch)
    for n in (1, 2, 3):
        await ledger.append(tick(n))
        stretch.begin()
    await ledger.close()
    path.with_name("decision-ledger.0002.jsonl").unlink()
    with pytest.raises(LedgerCorruptError, match=r"0003\.jsonl"):
        open_ticks(path)
    path.unlink()
    with pytest.raises(LedgerCorruptError):
        open_ticks(path)
    assert not path.exists()


# --- ranges --------------------------------------------------------------------------------


def at(minute: int) -> Millis:
    return Millis(START + minute * 60_000)


@pytest.mark.parametrize("filler", ["", "x" * 3_000])
async def test_ranges_of_time_are_found_at_every_border(path: Path, filler: str) -> None:
    path.parent.mkdir()
    path.write_bytes(b"".join(tick_lines(300, filler)))
    ledger = open_ticks(path)
    for start, stop in [(0, 0), (0, 1), (0, 300), (17, 18), (17, 290), (299, 300), (300, 400)]:
        found = versions(list(ledger.read_range(at(start), at(stop))))
        assert found == list(range(start + 1, min(stop, 300) + 1))
    assert versions(list(ledger.read_range(Millis(at(17) + 1), Millis(at(18) + 1)))) == [19]
    assert versions(list(ledger.read_range(Millis(0)))) == list(range(1, 301))
    assert versions(list(ledger.read(after_seq=298))) == [299, 300]
    await ledger.close()


async def test_ranges_span_segments_whose_times_overlap(path: Path) -> None:
    clock = FakeClock()
    ledger = open_ticks(path, clock)
    for n in range(1, 21):
        clock.advance(60)
        await ledger.append(tick(n))
        if n == 10:
            clock.step(-600)
    assert ledger.head.segment == 2
    assert versions(list(ledger.read_range(at(8), at(10)))) == [8, 9, 18, 19]
    await ledger.close()


async def test_a_reader_without_a_writer_stops_at_the_head_it_was_given(path: Path) -> None:
    stretch = StretchCount()
    ledger = open_ticks(path, stretch=stretch)
    for n in range(1, 6):
        await ledger.append(tick(n))
    head = ledger.head
    await ledger.append(tick(6))
    stretch.begin()
    await ledger.append(tick(7))
    reader = LedgerReader(path, NAME, DecisionBody)
    assert versions(list(reader.read(until=head))) == [1, 2, 3, 4, 5]
    assert versions(list(reader.read_range(Millis(0), until=head))) == [1, 2, 3, 4, 5]
    assert versions(list(reader.read())) == [1, 2, 3, 4, 5, 6, 7]
    await ledger.close()


async def test_lines_that_a_search_cannot_read_are_named(path: Path) -> None:
    path.parent.mkdir()
    lines = tick_lines(3_000)
    lines[900:2_100] = [b"junk" * 40 + b"\n"] * 1_200
    path.write_bytes(b"".join(lines))
    ledger = open_ticks(path)
    with pytest.raises(LedgerCorruptError, match="searching") as refused:
        list(ledger.read_range(at(1_500)))
    assert refused.value.facts["line"] == 901
    with pytest.raises(LedgerCorruptError) as refused:
        list(ledger.read())
    assert refused.value.facts["line"] == 901
    await ledger.close()


async def test_a_range_that_begins_with_a_bad_line_names_it(path: Path) -> None:
    path.parent.mkdir()
    lines = tick_lines(3_000)
    lines[1_500] = lines[1_500].replace(b'"tick"', b'"tock"')
    path.write_bytes(b"".join(lines))
    ledger = open_ticks(path)
    with pytest.raises(LedgerCorruptError) as refused:
        list(ledger.read_range(at(1_500), at(1_600)))
    assert refused.value.facts["line"] == 1_501
    await ledger.close()


async def test_a_ledger_that_cannot_be_read_says_so(path: Path) -> None:
    ledger = open_ticks(path)
    await ledger.append(tick(1))
    path.rename(path.with_suffix(".away"))
    path.mkdir()
    with pytest.raises(LedgerError):
        list(ledger.read())
    await ledger.close()


# --- opening -------------------------------------------------------------------------------


async def test_a_bad_line_near_the_end_refuses_to_open_and_names_itself(path: Path) -> None:
    path.parent.mkdir()
    lines = tick_lines(5)
    lines[2] = lines[2].replace(b"000003", b"000009")
    path.write_bytes(b"".join(lines))
    before = path.read_bytes()
    with pytest.raises(LedgerCorruptError) as refused:
        open_ticks(path)
    assert refused.value.facts["ledger"] == NAME
    assert refused.value.facts["line"] == 4  # line 3 reads, and is not the one that 4 follows
    assert path.read_bytes() == before


@pytest.mark.parametrize("junk", [b"junk\n", b"\n", b"{}\n", b'{"seq":6}\n'])
async def test_a_whole_last_line_that_is_junk_refuses_to_open(path: Path, junk: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(b"".join(tick_lines(5)) + junk)
    with pytest.raises(LedgerCorruptError) as refused:
        open_ticks(path)
    assert refused.value.facts["line"] == 6


async def test_a_bad_line_is_named_in_a_long_ledger(path: Path) -> None:
    path.parent.mkdir()
    lines = tick_lines(3_000)
    lines[2_990] = lines[2_990].replace(b'"tick"', b'"tock"')
    path.write_bytes(b"".join(lines))
    with pytest.raises(LedgerCorruptError) as refused:
        open_ticks(path)
    assert refused.value.facts["line"] == 2_991


async def test_opening_reads_the_end_and_not_the_history(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"".join(tick_lines(50_000)))
    before = _read_bytes()
    ledger = open_ticks(path)
    assert _read_bytes() - before < 2_000_000 < path.stat().st_size
    assert ledger.head.seq == 50_000
    await ledger.close()


def _read_bytes() -> int:
    """Bytes that this process has read so far, by the kernel's count."""
    text = Path("/proc/self/io").read_text()
    return int(text.split("rchar: ")[1].split()[0])


async def test_opening_checks_from_the_anchored_head_on(path: Path) -> None:
    path.parent.mkdir()
    lines = tick_lines(3_000)
    path.write_bytes(b"".join(lines))
    known = AnchoredHead(seq=100, sha256=line_hash(lines[99][:-1]))
    await open_ticks(path, known=known).close()
    lines[150] = lines[150].replace(b"000151", b"999999")
    path.write_bytes(b"".join(lines))
    await open_ticks(path).close()  # far before the end: left to verify
    with pytest.raises(LedgerCorruptError) as refused:
        open_ticks(path, known=known)
    assert refused.value.facts["line"] == 152


@pytest.mark.parametrize("left", [0, 1, 99, 100])
async def test_a_ledger_that_lost_its_anchored_line_refuses_to_open(path: Path, left: int) -> None:
    path.parent.mkdir()
    lines = tick_lines(101)
    known = AnchoredHead(seq=101, sha256=line_hash(lines[100][:-1]))
    path.write_bytes(b"".join(lines[:left]))
    with pytest.raises(LedgerCorruptError, match="anchored"):
        open_ticks(path, known=known)


async def test_a_ledger_with_another_line_at_its_anchor_refuses_to_open(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"".join(tick_lines(10)))
    with pytest.raises(LedgerCorruptError, match="anchored") as refused:
        open_ticks(path, known=AnchoredHead(seq=7, sha256="a" * 64))
    assert refused.value.facts["line"] == 7


async def test_a_torn_tail_over_the_anchored_line_is_not_set_aside(path: Path) -> None:
    path.parent.mkdir()
    lines = tick_lines(3)
    known = AnchoredHead(seq=3, sha256=line_hash(lines[2][:-1]))
    path.write_bytes(b"".join(lines)[:-1])
    before = path.read_bytes()
    with pytest.raises(LedgerCorruptError):
        open_ticks(path, known=known)
    assert path.read_bytes() == before
    assert not path.with_name("decision-ledger.torn").exists()


async def test_a_link_in_the_place_of_a_ledger_is_not_followed(path: Path) -> None:
    path.parent.mkdir()
    elsewhere = path.with_name("elsewhere")
    elsewhere.touch()
    os.symlink(elsewhere, path)
    with pytest.raises(LedgerError):
        open_ticks(path)


async def test_no_descriptor_is_left_open(path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        stretch = StretchCount()
        ledger = open_ticks(path, stretch=stretch)
        await ledger.append(tick(1))
        stretch.begin()
        await ledger.append(tick(2))
        assert list(ledger.read())
        await ledger.close()
    assert len(os.listdir("/proc/self/fd")) == before
