"""`verify` finds what the referee's lines cite: the lines that a window was measured from, the
windows that a verdict rests on.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from gnomon.domain.ledgers import GENESIS, LedgerName
from gnomon.domain.records import AnchoredHead, Tick
from gnomon.ledger import citations
from gnomon.ledger.citations import cited_heads
from gnomon.ledger.codec import encode_line, line_hash
from gnomon.ledger.file import LedgerFile
from gnomon.ledger.places import ledgers_of
from gnomon.ledger.verify import first_bad, verify
from tests.change_kit import a_judgment
from tests.court_kit import Court, a_court
from tests.judge_kit import a_window, amended
from tests.referee_kit import hour


@pytest_asyncio.fixture
async def court(tmp_path: Path) -> AsyncIterator[Court]:
    """A home in which two windows cite ticks, and a verdict cites the windows."""
    made = a_court(tmp_path / "home")
    files = made.lab.stores.files
    for number in range(2):
        for _ in range(3):
            await files["decision-ledger"].append(Tick(scaffold_version="v"))
        inputs = {
            "decision-ledger": head(files["decision-ledger"]),
            "engagement-ledger": AnchoredHead(seq=0, sha256=GENESIS),
        }
        window = msgspec.structs.replace(a_window(hour(number), 0.4, 0.5), inputs=inputs)
        await files["fitness-ledger"].append(window)
        if number == 1:
            await files["fitness-ledger"].append(amended(window, engagement_rate=0.6))
    verdict = msgspec.structs.replace(
        a_judgment("kept"), fitness_head=head(files["fitness-ledger"])
    )
    await files["judgment-ledger"].append(verdict)
    await made.close()
    yield made


def head(ledger: LedgerFile) -> AnchoredHead:
    return AnchoredHead(seq=ledger.head.seq, sha256=ledger.head.sha256)


def without_anchors(court: Court) -> None:
    """So that nothing but the citation can tell."""
    court.lab.stores.home.anchors.unlink()


def told_anew(court: Court, name: LedgerName, changed: int) -> None:
    """A sound chain of the same length, in which one line says something else."""
    path = ledgers_of(court.lab.stores.agent)[name]
    ledger = court.lab.stores.files[name]
    prev, raws = GENESIS, list[bytes]()
    for line in ledger._reader.read():
        body = line.body
        if line.seq == changed and isinstance(body, Tick):
            body = Tick(scaffold_version="another")
        elif line.seq == changed:
            body = msgspec.structs.replace(body, stall_composite=0.1)
        raw = encode_line(line.seq, line.at, prev, body)
        prev = line_hash(raw)
        raws.append(raw + b"\n")
    path.write_bytes(b"".join(raws))


def bad(court: Court, name: LedgerName) -> tuple[int, str]:
    found = verify(court.lab.stores.home)
    assert not found.ok
    [report] = [each for each in found.ledgers if not each.ok]
    assert report.name == name
    assert report.first_bad is not None
    if report.lines:
        assert first_bad(court.lab.stores.home, f"main/{name}") == report.first_bad
    return report.first_bad.line, report.first_bad.reason


async def test_a_home_whose_citations_hold_is_well(court: Court) -> None:
    assert verify(court.lab.stores.home).ok
    without_anchors(court)
    assert verify(court.lab.stores.home).ok


async def test_each_head_is_given_once_and_empty_ones_not(court: Court) -> None:
    found = [(key, head.seq) for key, head in cited_heads(court.lab.stores.home)]
    assert found == [
        ("main/fitness-ledger", 3),
        ("main/decision-ledger", 3),
        ("main/decision-ledger", 6),
    ]


async def test_what_is_remembered_of_them_is_bounded(
    court: Court, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(citations, "REMEMBERED", 1)
    found = [head.seq for _, head in cited_heads(court.lab.stores.home)]
    assert found == [3, 3, 6]


@pytest.mark.parametrize(("changed", "named"), [(2, 3), (5, 6)])
async def test_a_rewritten_decision_ledger_is_found_by_the_windows(
    court: Court, changed: int, named: int
) -> None:
    without_anchors(court)
    told_anew(court, "decision-ledger", changed)
    line, reason = bad(court, "decision-ledger")
    assert line == named
    assert "cited" in reason


async def test_a_rewritten_fitness_ledger_is_found_by_the_verdict(court: Court) -> None:
    without_anchors(court)
    told_anew(court, "fitness-ledger", 1)
    line, reason = bad(court, "fitness-ledger")
    assert (line, "cited" in reason) == (3, True)


async def test_a_ledger_that_was_cut_short_or_taken_away_is_found(court: Court) -> None:
    without_anchors(court)
    path = court.lab.stores.agent.decision_ledger
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]))
    assert bad(court, "decision-ledger") == (
        5,
        f"the end is gone: line 6 was cited as {line_hash(lines[5][:-1])[:12]}",
    )
    path.unlink()
    assert bad(court, "decision-ledger") == (
        1,
        "the file is gone; it was cited up to line 6",
    )


async def test_a_citation_of_what_is_no_line_is_found(court: Court) -> None:
    for sha256, seq in (("no hash", 2), ("e" * 64, 2), ("e" * 64, 99)):
        await court.lab.stores.close()
        again = a_court(court.lab.stores.home.root, clock=court.clock)
        verdict = msgspec.structs.replace(
            a_judgment("kept"), fitness_head=AnchoredHead(seq=seq, sha256=sha256)
        )
        await again.lab.stores.append("judgment-ledger", verdict)
        await again.close()
        assert not verify(again.lab.stores.home).ok


async def test_a_damaged_citing_ledger_names_itself_and_hides_nothing_else(court: Court) -> None:
    path = court.lab.stores.agent.fitness_ledger
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"kind":"window"', b'"kind":"windon"')
    path.write_bytes(b"".join(lines))
    line, _ = bad(court, "fitness-ledger")
    assert line == 2
