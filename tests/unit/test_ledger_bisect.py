"""Finding lines by bisecting bytes, on bytes in memory."""

from collections.abc import Callable

import pytest

from gnomon.domain.errors import RecordError
from gnomon.ledger.bisect import (
    BLOCK,
    MemorySource,
    first_line_with,
    last_border,
    line_at,
    lines,
    next_border,
)
from gnomon.ledger.codec import MAX_LINE


class Counting(MemorySource):
    """Counts what is read."""

    reads = 0
    bytes_read = 0

    def read(self, offset: int, count: int) -> bytes:
        self.reads += 1
        data = super().read(offset, count)
        self.bytes_read += len(data)
        return data


def number(raw: bytes) -> int:
    return int(raw[:9])


def numbered(count: int, length: Callable[[int], int] = lambda _: 90) -> bytes:
    return b"".join(b"%09d" % i + b"." * length(i) + b"\n" for i in range(1, count + 1))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 1_000, 5_000])
def test_each_line_is_found_by_its_key(count: int) -> None:
    data = numbered(count)
    source = MemorySource(data)
    for target in range(0, count + 2, 1 if count < 10 else 37):
        found = first_line_with(source, source.size, number, target)
        wanted = min(max(target, 1) - 1, count) * 100
        assert found == wanted


def test_lines_of_very_different_lengths_are_found() -> None:
    data = numbered(400, lambda i: (i * 7919) % 3_000 if i % 50 else 300_000)
    source = MemorySource(data)
    borders = [offset for offset, _ in lines(source, 0, source.size)]
    for target in range(1, 401):
        assert first_line_with(source, source.size, number, target) == borders[target - 1]


def test_equal_keys_give_the_first_of_them() -> None:
    data = b"".join(b"%09d" % (i // 10) + b"." * 90 + b"\n" for i in range(20_000))
    source = MemorySource(data)
    assert first_line_with(source, source.size, number, 777) == 7_770 * 100


def test_a_bisection_reads_a_few_blocks_of_a_large_file() -> None:
    source = Counting(numbered(200_000))
    first_line_with(source, source.size, number, 123_456)
    assert source.reads <= 2 * 18
    assert source.bytes_read <= 20 * BLOCK


def test_only_a_newline_ends_a_line() -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\rg\n".encode()
    assert [raw for _, raw in lines(MemorySource(text), 0, len(text))] == [text[:-1]]


def test_bytes_after_the_last_newline_are_no_line() -> None:
    data = b"one\ntwo\nthr"
    source = MemorySource(data)
    assert list(lines(source, 0, len(data))) == [(0, b"one"), (4, b"two")]
    assert last_border(source, len(data)) == 8
    assert last_border(source, 8) == 8
    assert last_border(source, 7) == 4
    assert last_border(source, 3) == 0


def test_borders_are_after_newlines() -> None:
    source = MemorySource(b"one\ntwo\n")
    assert [next_border(source, i, 8) for i in range(9)] == [0, 4, 4, 4, 4, 8, 8, 8, 8]


def test_a_line_is_read_from_its_border() -> None:
    long = b"x" * (3 * BLOCK)
    source = MemorySource(b"one\n" + long + b"\nrest")
    assert line_at(source, 0, source.size) == b"one"
    assert line_at(source, 4, source.size) == long
    with pytest.raises(RecordError):
        line_at(source, 5 + len(long), source.size)


class Endless:
    """A line of `size` bytes that would not fit into memory, and counts what is held."""

    size = 10**9

    def read(self, offset: int, count: int) -> bytes:
        return b"x" * min(count, self.size - offset)


def test_a_line_over_the_bound_is_refused_before_it_is_held() -> None:
    with pytest.raises(RecordError, match=str(MAX_LINE)):
        line_at(Endless(), 0, Endless.size)
    with pytest.raises(RecordError, match=str(MAX_LINE)):
        list(lines(Endless(), 0, Endless.size))


def test_a_line_just_over_the_bound_is_refused_though_it_ends() -> None:
    data = b"x" * (MAX_LINE + 1) + b"\n"
    with pytest.raises(RecordError):
        list(lines(MemorySource(data), 0, len(data)))
