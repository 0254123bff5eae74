"""Which bytes at a file's end are a torn tail."""

import pytest

from gnomon.ledger.bisect import MemorySource
from gnomon.ledger.tail import SECTOR, WINDOW, torn_start

LINES = b'{"n":1}\n{"n":2}\n'


def torn(data: bytes) -> int | None:
    return torn_start(MemorySource(data))


@pytest.mark.parametrize("whole", [b"", LINES, LINES * 10_000])
def test_a_file_of_whole_lines_has_none(whole: bytes) -> None:
    assert torn(whole) is None


def test_bytes_after_the_last_newline_are_torn() -> None:
    assert torn(LINES + b"{") == len(LINES)
    assert torn(LINES + b'{"n":3}') == len(LINES)
    assert torn(b"{") == 0


def test_a_last_line_with_nulls_is_torn_with_or_without_its_newline() -> None:
    for tail in (
        b"\0",
        b"\0\n",
        b'{"n"\0:3}\n',
        b'{"n":3}\0\n',
        b"\0" * 9_000,
        b"\0" * 9_000 + b"\n",
    ):
        assert torn(LINES + tail) == len(LINES), tail


def test_a_null_in_an_earlier_line_is_no_tail_but_corruption() -> None:
    assert torn(b'{"n\0":1}\n' + LINES) is None


def lines_to(size: int) -> bytes:
    """Whole lines of exactly `size` bytes."""
    return b"x" * (size - 1) + b"\n" if size else b""


@pytest.mark.parametrize("before", [SECTOR, 8 * SECTOR, 100, 8 * SECTOR - 3])
def test_a_hole_of_whole_sectors_and_what_follows_is_torn(before: int) -> None:
    """Lines that share a sync: the first page never reached the medium, the second did."""
    good = lines_to(before)
    hole = b"\0" * (-before % SECTOR or SECTOR)
    assert torn(good + hole + b'the rest of one"}\n{"n":7}\n') == before


def test_a_hole_in_the_middle_of_a_line_takes_the_line_with_it() -> None:
    good = lines_to(100)
    start = b"y" * (SECTOR - 100)
    assert torn(good + start + b"\0" * SECTOR + b"rest\n" + LINES) == 100


def test_nulls_that_fill_no_sector_are_no_hole() -> None:
    good = lines_to(SECTOR - 10)
    assert torn(good + b"y" * 3 + b"\0" * 7 + b"rest\n" + LINES) is None
    assert torn(good + b"\0" * 9 + b"rest\n" + LINES) is None


def test_a_hole_far_before_the_end_is_corruption() -> None:
    good = lines_to(SECTOR)
    assert torn(good + b"\0" * SECTOR + b"\n" + lines_to(WINDOW)) is None
