"""A torn tail at each byte of the last line, and NULs in its place."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gnomon.ledger.file import LedgerFile
from tests.ledger_kit import open_ticks, tick, tick_lines, versions

WHOLE = tick_lines(3)
BEFORE, LAST = b"".join(WHOLE[:2]), WHOLE[2]


@pytest.fixture
def path(ram: Path) -> Path:
    return ram / "decision-ledger.jsonl"


async def opened_and_gone_on(path: Path, said: list[str]) -> LedgerFile:
    ledger = open_ticks(path, said=said)
    assert ledger.head.seq == 2
    assert (await ledger.append(tick(3, "new"))).seq == 3
    assert versions(list(ledger.read())) == [1, 2, 3]
    await ledger.close()
    return ledger


async def test_a_tail_torn_at_any_byte_moves_whole_and_the_ledger_goes_on(path: Path) -> None:
    aside = path.with_name("decision-ledger.torn")
    for cut in range(1, len(LAST)):
        path.write_bytes(BEFORE + LAST[:cut])
        said: list[str] = []
        await opened_and_gone_on(path, said)
        assert aside.read_bytes() == LAST[:cut]
        assert len(said) == 1
        assert "decision-ledger.torn" in said[0]
        assert str(cut) in said[0]
        assert path.read_bytes().startswith(BEFORE)
        aside.unlink()


async def test_a_tail_cut_at_the_border_is_none(path: Path) -> None:
    said: list[str] = []
    path.write_bytes(BEFORE)
    await opened_and_gone_on(path, said)
    assert said == []


NULLED: dict[str, Callable[[int], bytes]] = {
    "NULs from this byte on": lambda i: LAST[:i] + b"\0" * (len(LAST) - i),
    "NULs from this byte on, but a newline": lambda i: LAST[:i] + b"\0" * (len(LAST) - i) + b"\n",
    "NULs up to this byte": lambda i: b"\0" * i + LAST[i:],
    "one NUL": lambda i: LAST[:i] + b"\0" + LAST[i + 1 :],
}


@pytest.mark.parametrize("shape", NULLED)
async def test_a_last_line_with_nulls_anywhere_moves_whole(path: Path, shape: str) -> None:
    aside = path.with_name("decision-ledger.torn")
    for index in range(1 if "up to" in shape else 0, len(LAST)):
        tail = NULLED[shape](index)
        path.write_bytes(BEFORE + tail)
        said: list[str] = []
        await opened_and_gone_on(path, said)
        assert aside.read_bytes() == tail
        assert len(said) == 1
        aside.unlink()


async def test_a_torn_first_line_leaves_an_empty_ledger(path: Path) -> None:
    path.write_bytes(tick_lines(1)[0][:-1])
    ledger = open_ticks(path)
    assert ledger.head.seq == 0
    assert (await ledger.append(tick(1))).seq == 1
    await ledger.close()


async def test_earlier_tails_are_kept_beside_later_ones(path: Path) -> None:
    aside = path.with_name("decision-ledger.torn")
    path.write_bytes(BEFORE + b"one")
    await open_ticks(path).close()
    with path.open("ab") as file:
        file.write(b"two")
    await open_ticks(path).close()
    assert aside.read_bytes() == b"one\ntwo"


async def test_an_enormous_torn_tail_moves_in_bounded_memory(path: Path) -> None:
    with path.open("wb") as file:
        file.write(BEFORE)
        file.truncate(len(BEFORE) + 300_000_000)  # sparse: NULs
    await opened_and_gone_on(path, [])
    assert path.with_name("decision-ledger.torn").stat().st_size == 300_000_000
