"""A prompt that breaks the replies is undone early; one stray reply is no reason."""

from collections.abc import Iterable

import pytest

from gnomon.change.early import (
    ATTEMPTS,
    FirstReplies,
    Replies,
    last_replies,
    undone_early,
)
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import GENESIS, Line
from gnomon.domain.records import Body, Reflection, Started, Tick

OLD, NEW = "000001-aaaaaaaaaaaa", "000002-bbbbbbbbbbbb"


def lines(bodies: Iterable[Body]) -> list[Line]:
    return [
        Line(seq=seq, at=Millis(seq), schema=1, prev=GENESIS, sha256=GENESIS, body=body)
        for seq, body in enumerate(bodies, start=1)
    ]


def reflection(version: str = OLD) -> Reflection:
    return Reflection(
        reflection_no=1,
        focus="a",
        desired_action="rest",
        summary="a",
        concerns=(),
        active_item=None,
        raw_signature="a",
        repeated=False,
        repeat_count=0,
        pressure="none",
        model="m",
        seconds=1.0,
        tokens_in=None,
        tokens_out=None,
        scaffold_version=version,
    )


def invalid(version: str = OLD) -> Tick:
    return Tick(scaffold_version=version, skip_reason="invalid-output")


def idle(version: str = OLD) -> Tick:
    return Tick(scaffold_version=version, skip_reason="idle")


def test_the_first_replies_under_a_version_are_counted_and_no_later_ones() -> None:
    started = Started(version="1", mode="full", model="m", scaffold_version=OLD)
    told = [started, reflection(), idle(NEW), *[invalid(NEW)] * 4, *[reflection(NEW)] * 7]
    first = FirstReplies(NEW)
    for line in lines(told):
        first.take(line)
    assert not first.are_there
    assert first.began == 3
    for line in lines([reflection(NEW), invalid(NEW)]):
        first.take(line)
    assert first.are_there
    assert first.replies == Replies(valid=ATTEMPTS - 4, invalid=4)


def test_the_last_replies_are_counted() -> None:
    told = [*[invalid()] * 5, *[reflection()] * 11, idle(), invalid()]
    assert last_replies(lines(told)) == Replies(valid=11, invalid=1)
    assert last_replies(()) == Replies()
    assert Replies().share == 0.0


@pytest.mark.parametrize(
    ("before", "after", "undone"),
    [
        (Replies(12, 0), Replies(9, 3), True),
        (Replies(12, 0), Replies(10, 2), False),
        (Replies(9, 3), Replies(9, 3), False),
        (Replies(8, 4), Replies(6, 6), True),
        (Replies(12, 0), Replies(0, 11), False),
        (Replies(), Replies(0, 12), True),
    ],
)
def test_it_takes_twelve_replies_three_bad_ones_and_a_rise(
    before: Replies, after: Replies, undone: bool
) -> None:
    assert (undone_early(before, after) is not None) == undone


def test_the_reason_says_the_counts() -> None:
    said = undone_early(Replies(12, 0), Replies(8, 4))
    assert said == "4 of its first 12 replies were unusable, 0 of the last 12 before it"
