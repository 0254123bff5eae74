"""`verify`: what was altered, dropped, restored or recomputed is found and named."""

import resource
from pathlib import Path

import pytest

from gnomon.daemon.store.stores import open_stores
from gnomon.domain.errors import LedgerCorruptError
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import BODIES, GENESIS
from gnomon.domain.records import Anchor, AnchoredHead, DecisionBody, SessionOpened
from gnomon.domain.views import LedgerReport, Verification
from gnomon.home import Home
from gnomon.ledger.anchors import Anchors
from gnomon.ledger.codec import encode_line, line_hash
from gnomon.ledger.file import LedgerFile
from gnomon.ledger.places import key
from gnomon.ledger.verify import first_bad as ledger_fault
from gnomon.ledger.verify import verify
from gnomon.testing.clock import FakeClock
from tests.ledger_kit import NAME, tick, tick_lines

AGENT = "ada"
KEY = key(AGENT, NAME)


@pytest.fixture
def path(home: Home) -> Path:
    path = home.agent(AGENT).decision_ledger
    path.parent.mkdir(parents=True)
    return path


def report(found: Verification, name: str = NAME) -> LedgerReport:
    return next(r for r in found.ledgers if r.name == name)


def first_bad(found: Verification, name: str = NAME) -> tuple[int, str]:
    assert not found.ok
    bad = report(found, name).first_bad
    assert bad is not None
    return bad.line, bad.reason


async def anchor(home: Home, lines: list[bytes], *upto: int) -> None:
    """Anchor the decision ledger's heads after the given lines, an hour apart."""
    clock = FakeClock()
    ledger = LedgerFile.open(home.anchors, "anchors", BODIES["anchors"], clock, print)
    for seq in upto:
        clock.advance(3_600)
        head = AnchoredHead(seq=seq, sha256=line_hash(lines[seq - 1][:-1]))
        await ledger.append(Anchor(heads={KEY: head}))
    await ledger.close()


def rehashed(lines: list[bytes], changed: int) -> list[bytes]:
    """The chain with tick `changed` replaced, and everything after it recomputed."""
    prev, result = GENESIS, list[bytes]()
    for number in range(1, len(lines) + 1):
        body = tick(number if number != changed else 999_999)
        raw = encode_line(number, Millis(1_780_000_000_000 + 60_000 * (number - 1)), prev, body)
        prev = line_hash(raw)
        result.append(raw + b"\n")
    return result


def test_a_home_without_ledgers_is_well(home: Home) -> None:
    assert verify(home) == Verification(ok=True, ledgers=())


async def test_a_whole_home_is_well_and_its_heads_are_told(home: Home, path: Path) -> None:
    lines = tick_lines(50)
    path.write_bytes(b"".join(lines))
    await anchor(home, lines, 10, 50)
    session = home.agent(AGENT).session("ses-1")
    ledger = LedgerFile.open(session, "session/ses-1", BODIES["session"], FakeClock(), print)
    await ledger.append(SessionOpened(title="t"))
    await ledger.close()
    found = verify(home)
    assert found.ok
    assert [r.name for r in found.ledgers] == ["anchors", NAME, "session/ses-1"]
    assert report(found) == LedgerReport(
        name=NAME, lines=50, head=line_hash(lines[-1][:-1]), ok=True
    )


async def test_two_agents_ledgers_are_told_apart(home: Home, path: Path) -> None:
    path.write_bytes(b"".join(tick_lines(2)))
    other = home.agent("bob").decision_ledger
    other.parent.mkdir(parents=True)
    other.write_bytes(b"".join(tick_lines(3)))
    assert [(r.name, r.lines) for r in verify(home).ledgers] == [(KEY, 2), (f"bob/{NAME}", 3)]


def test_each_flipped_byte_is_found_and_its_line_named(home: Home, path: Path) -> None:
    """Also in the last line, where only a head that someone kept can tell."""
    lines = tick_lines(4)
    data = b"".join(lines)
    last = {KEY: AnchoredHead(seq=4, sha256=line_hash(lines[3][:-1]))}
    borders = [sum(map(len, lines[:n])) for n in range(1, 5)]
    for index in range(len(data)):
        number = next(n for n, border in enumerate(borders, 1) if index < border)
        for mask in (0x01, 0x20, 0x80, 0xFF):
            path.write_bytes(data[:index] + bytes([data[index] ^ mask]) + data[index + 1 :])
            line, _ = first_bad(verify(home, last))
            assert number <= line <= number + 1, (index, mask)
    path.write_bytes(data)
    assert verify(home, last).ok


@pytest.mark.parametrize("left", [0, 1, 29, 30, 39])
async def test_a_dropped_tail_is_found_by_the_anchor(home: Home, path: Path, left: int) -> None:
    lines = tick_lines(40)
    await anchor(home, lines, 20, 40)
    path.write_bytes(b"".join(lines[:left]))
    line, reason = first_bad(verify(home))
    assert line == left + 1
    assert "anchored" in reason


async def test_a_ledger_that_is_gone_is_found_by_the_anchor(home: Home, path: Path) -> None:
    await anchor(home, tick_lines(40), 20, 40)
    path.unlink(missing_ok=True)
    line, reason = first_bad(verify(home))
    assert (line, "gone" in reason, "40" in reason) == (1, True, True)


async def test_a_restored_old_copy_that_went_on_is_found(home: Home, path: Path) -> None:
    """An old copy put back and written on: a sound chain, and not the acknowledged one."""
    lines = tick_lines(40)
    await anchor(home, lines, 20, 40)
    path.write_bytes(b"".join(rehashed(lines, 31)))
    assert first_bad(verify(home))[0] == 40


async def test_a_rehashed_chain_is_found_at_the_first_anchor_after_it(
    home: Home, path: Path
) -> None:
    lines = tick_lines(60)
    await anchor(home, lines, 20, 40, 60)
    path.write_bytes(b"".join(rehashed(lines, 25)))
    line, reason = first_bad(verify(home))
    assert line == 40
    assert "another line" in reason


async def test_later_anchors_over_a_rehashed_chain_do_not_hide_it(home: Home, path: Path) -> None:
    lines = tick_lines(60)
    forged = rehashed(lines, 25)
    clock = FakeClock()
    ledger = LedgerFile.open(home.anchors, "anchors", BODIES["anchors"], clock, print)
    for seq, chain in ((20, lines), (40, lines), (60, forged)):
        head = AnchoredHead(seq=seq, sha256=line_hash(chain[seq - 1][:-1]))
        await ledger.append(Anchor(heads={KEY: head}))
    await ledger.close()
    path.write_bytes(b"".join(forged))
    assert first_bad(verify(home))[0] == 40


async def test_a_damaged_anchor_is_named_too(home: Home, path: Path) -> None:
    lines = tick_lines(40)
    path.write_bytes(b"".join(lines))
    await anchor(home, lines, 20, 40)
    data = home.anchors.read_bytes()
    home.anchors.write_bytes(data.replace(b'"seq":20', b'"seq":21'))
    assert first_bad(verify(home), "anchors")[0] == 2


def test_a_torn_tail_is_told_and_not_touched(home: Home, path: Path) -> None:
    data = b"".join(tick_lines(3)) + b'{"at":'
    path.write_bytes(data)
    line, reason = first_bad(verify(home))
    assert (line, "unfinished" in reason) == (4, True)
    assert path.read_bytes() == data


async def test_segments_are_one_chain_and_a_missing_one_is_found(home: Home, path: Path) -> None:
    clock = FakeClock()
    ledger = LedgerFile.open(path, NAME, DecisionBody, clock, print)
    for number in range(1, 7):
        await ledger.append(tick(number))
        if number % 2 == 0:
            clock.step(-3_600)
    await ledger.close()
    assert report(verify(home)).lines == 6
    second = path.with_name("decision-ledger.0002.jsonl")
    kept = second.read_bytes()
    second.write_bytes(b"")
    assert first_bad(verify(home))[0] == 3
    second.unlink()
    assert not verify(home).ok
    second.write_bytes(kept.replace(b"000003", b"000009"))
    assert first_bad(verify(home))[0] == 4


async def test_anchors_are_written_when_due_and_only_for_what_changed(home: Home) -> None:
    clock = FakeClock()
    path = home.agent(AGENT).decision_ledger
    ledger = LedgerFile.open(path, NAME, DecisionBody, clock, print)
    store = LedgerFile.open(home.anchors, "anchors", BODIES["anchors"], clock, print)
    anchors = Anchors(store, clock)
    assert await anchors.write_if_due({KEY: ledger.durable_head}) is None
    await ledger.append(tick(1))
    assert await anchors.write_if_due({KEY: ledger.durable_head}) is not None
    await ledger.append(tick(2))
    assert await anchors.write_if_due({KEY: ledger.durable_head}) is None
    clock.advance(3_600)
    assert await anchors.write_if_due({KEY: ledger.durable_head}) is not None
    clock.advance(3_600)
    assert await anchors.write_if_due({KEY: ledger.durable_head}) is None
    assert store.head.seq == 2
    again = Anchors(store, clock)
    assert again.known(KEY) == AnchoredHead(seq=2, sha256=ledger.head.sha256)
    assert again.known("other") is None
    await ledger.close()
    await store.close()
    assert verify(home).ok


def test_a_100_mb_line_is_refused_in_bounded_memory(home: Home, path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"".join(tick_lines(2)))
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b"\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    line, reason = first_bad(verify(home))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert (line, "longer" in reason) == (3, True)
    assert grown < 80_000  # kB; the line alone has 100,000


@pytest.mark.parametrize("changed", [2, 5, 7])
async def test_a_start_names_the_line_that_verify_names(
    home: Home, path: Path, changed: int
) -> None:
    """A start looks at the last anchor alone; what it refuses is then looked for as verify does."""
    lines = tick_lines(8)
    path.write_bytes(b"".join(rehashed(lines, changed)))
    await anchor(home, lines, 3, 6, 8)
    with pytest.raises(LedgerCorruptError) as refused:
        open_stores(home, home.agent(AGENT), FakeClock())
    line, reason = first_bad(verify(home))
    assert line == {2: 3, 5: 6, 7: 8}[changed]
    assert (refused.value.facts["line"], refused.value.facts["reason"]) == (line, reason)
    assert f"Line {line} of {NAME} is bad" in refused.value.message


async def test_a_start_that_is_refused_for_another_fault_says_that_one(
    home: Home, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(b"".join(tick_lines(2)))

    def refuse(*_: object, **__: object) -> LedgerFile:
        raise LedgerCorruptError("Line 9 is bad.", ledger=NAME, line=9, reason="odd")

    monkeypatch.setattr(LedgerFile, "open", refuse)
    with pytest.raises(LedgerCorruptError, match="Line 9 is bad"):
        open_stores(home, home.agent(AGENT), FakeClock())
    assert ledger_fault(home, "no/such") is None
