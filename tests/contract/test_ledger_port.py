"""The `Ledger` port: the file and the fake behave alike."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from gnomon.domain.errors import LedgerCorruptError, RecordError
from gnomon.domain.ledgers import GENESIS, Head
from gnomon.domain.records import (
    Body,
    DecisionBody,
    ErrorNoted,
    RunClosed,
    SkipReason,
    Stopped,
    Tick,
)
from gnomon.ledger.family import LedgerFamily
from gnomon.ledger.file import LedgerFile
from gnomon.testing.clock import START, FakeClock
from gnomon.testing.ledger import MemoryLedger
from tests.ledger_kit import NAME, tick, versions

Any = LedgerFile | MemoryLedger


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["file", "memory", "family"])
async def ledger(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> AsyncIterator[Any]:
    match request.param:
        case "file":
            file = LedgerFile.open(tmp_path / "x.jsonl", NAME, DecisionBody, clock, print)
            yield file
            await file.close()
        case "family":
            family = LedgerFamily(tmp_path, NAME, DecisionBody, clock, print)
            yield cast("LedgerFile", family.get("one"))  # it is the port alone
            await family.close()
        case _:
            yield MemoryLedger(NAME, DecisionBody, clock)


async def test_an_empty_ledger_has_no_lines_and_the_empty_head(ledger: Any) -> None:
    assert ledger.head == Head()
    assert list(ledger.read()) == []
    assert ledger.name.startswith(NAME)


async def test_an_append_is_numbered_dated_chained_and_read_back(ledger: Any) -> None:
    first = await ledger.append(tick(1))
    second = await ledger.append(Stopped(reason="é\u2028"))
    one, two = ledger.read()
    assert (one.seq, one.at, one.prev, one.sha256) == (1, START, GENESIS, first.sha256)
    assert (two.seq, two.at, two.prev, two.sha256) == (2, START, first.sha256, second.sha256)
    assert (one.body, two.body) == (tick(1), Stopped(reason="é\u2028"))
    assert (ledger.head.seq, ledger.head.sha256) == (2, second.sha256)


async def test_appends_made_at_once_are_kept_in_the_order_of_asking(ledger: Any) -> None:
    acks = await asyncio.gather(*(ledger.append(tick(n), durable=n % 3 > 0) for n in range(1, 65)))
    assert [ack.seq for ack in acks] == list(range(1, 65))
    assert versions(list(ledger.read())) == list(range(1, 65))


async def test_reading_goes_after_a_line_and_up_to_a_head(ledger: Any) -> None:
    for n in range(1, 11):
        await ledger.append(tick(n))
    head = ledger.head
    await ledger.append(tick(11))
    assert versions(list(ledger.read(after_seq=7))) == [8, 9, 10, 11]
    assert versions(list(ledger.read(after_seq=7, until=head))) == [8, 9, 10]
    assert list(ledger.read(after_seq=10, until=head)) == []
    assert list(ledger.read(after_seq=99)) == []


async def test_reading_does_not_see_what_is_appended_meanwhile(ledger: Any) -> None:
    await ledger.append(tick(1))
    await ledger.append(tick(2))
    reading = ledger.read()
    next(reading)
    await ledger.append(tick(3))
    assert versions(list(reading)) == [2]


async def test_a_head_that_is_not_of_this_ledger_is_refused(ledger: Any) -> None:
    await ledger.append(tick(1))
    await ledger.append(tick(2))
    known = ledger.head
    other = Head(seq=2, sha256="f" * 64, offset=known.offset, segment=known.segment)
    with pytest.raises(LedgerCorruptError):
        list(ledger.read(until=other))


async def test_time_never_runs_backwards(ledger: Any, clock: FakeClock) -> None:
    await ledger.append(tick(1))
    clock.step(-200)
    ack = await ledger.append(tick(2))
    assert ack.at == START
    clock.step(500)
    assert (await ledger.append(tick(3))).at == START + 300_000


async def test_a_body_without_a_canonical_form_leaves_nothing(ledger: Any) -> None:
    with pytest.raises(RecordError):
        await ledger.append(ErrorNoted(code="c", where="w", facts={"n": float("nan")}))
    assert list(ledger.read()) == []
    assert (await ledger.append(tick(1))).seq == 1


@pytest.mark.parametrize(
    "body",
    [
        RunClosed(reason="of another ledger"),
        Stopped(reason=cast("str", 5)),
        Tick(scaffold_version="x", skip_reason=cast("SkipReason", "bored")),
        ErrorNoted(code="c", where="w", facts={"n": 2**53}),
    ],
)
async def test_nothing_is_written_that_could_not_be_read(ledger: Any, body: Body) -> None:
    with pytest.raises(RecordError):
        await ledger.append(body)
    assert (await ledger.append(tick(1))).seq == 1
    assert versions(list(ledger.read())) == [1]
