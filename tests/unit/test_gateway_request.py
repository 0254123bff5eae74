"""From a request's words to arguments: strict, and clear about what is wrong."""

import re
from typing import Any, Literal

import msgspec
import pytest

from gnomon.daemon.arguments import (
    ChangesList,
    ChatTurn,
    HistoryImport,
    JobRun,
    LedgerRead,
    OfApproval,
    OfChange,
    OfSurface,
    Pause,
    SurfaceEmit,
)
from gnomon.domain.errors import UsageError
from gnomon.gateway.operation import Nothing, Operation
from gnomon.gateway.refused_words import refused_words
from gnomon.gateway.request import arguments_of_body, arguments_of_fields, arguments_of_query


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    lines: int = 20
    name: str | None = None
    paths: tuple[str, ...] = ()
    writable: bool = False


class Nested(msgspec.Struct, frozen=True, kw_only=True):
    odd: None = None
    pair: tuple[int, int] = (0, 0)
    side: Literal["left", "right"] | None = None


async def _run(arguments: Any, progress: Any) -> None:
    del arguments, progress


OPERATION = Operation("a.b", "", Wanted, None, _run)
NO_ARGUMENTS = Operation("c.d", "", Nothing, None, _run)


def test_an_empty_body_asks_with_the_defaults():
    assert arguments_of_body(OPERATION, b"") == Wanted()


def test_a_body_is_read_strictly():
    assert arguments_of_body(OPERATION, b'{"lines": 5, "paths": ["a"]}') == Wanted(
        lines=5, paths=("a",)
    )
    with pytest.raises(UsageError, match="`lines` takes a whole number, not text"):
        arguments_of_body(OPERATION, b'{"lines": "5"}')
    with pytest.raises(UsageError, match="`lines` takes a whole number, not true or false"):
        arguments_of_body(OPERATION, b'{"lines": true}')


@pytest.mark.parametrize(
    "body",
    [b"[]", b"null", b'"x"', b"{", b"{'a':1}", b"\xff", b"NaN", b"[" * 100_000],
)
def test_a_body_that_is_no_object_is_refused_in_words(body: bytes):
    with pytest.raises(UsageError) as caught:
        arguments_of_body(OPERATION, body)
    assert caught.value.message


def test_an_unknown_name_is_refused_with_those_that_are_known():
    with pytest.raises(UsageError) as caught:
        arguments_of_body(OPERATION, b'{"linse": 5}')
    assert "linse" in caught.value.message
    assert "lines, name, paths, writable" in caught.value.next_step
    with pytest.raises(UsageError, match="no arguments"):
        arguments_of_query(NO_ARGUMENTS, [("x", "1")])


def test_a_query_reads_numbers_flags_and_lists_from_text():
    query = [("lines", "5"), ("writable", "true"), ("paths", "a"), ("paths", "b"), ("name", "n")]
    assert arguments_of_query(OPERATION, query) == Wanted(
        lines=5, writable=True, paths=("a", "b"), name="n"
    )


def test_a_query_that_says_one_thing_twice_is_refused():
    with pytest.raises(UsageError, match="given twice"):
        arguments_of_query(OPERATION, [("lines", "5"), ("lines", "6")])
    with pytest.raises(UsageError, match="takes a whole number"):
        arguments_of_query(OPERATION, [("lines", "five")])


def test_a_page_asks_by_the_same_rules():
    assert arguments_of_fields(OPERATION, {"lines": 3}) == Wanted(lines=3)
    with pytest.raises(UsageError):
        arguments_of_fields(OPERATION, {"lines": "3"})


def test_what_is_out_of_its_bounds_is_refused_in_words() -> None:
    turn = Operation("a.b", "", ChatTurn, None, _run)
    with pytest.raises(UsageError, match="`text` is empty"):
        arguments_of_fields(turn, {"text": ""})
    listed = Operation("a.b", "", ChangesList, None, _run)
    with pytest.raises(UsageError, match="`limit` is at least 1"):
        arguments_of_fields(listed, {"limit": 0})


@pytest.mark.parametrize("word", ["a b", "../x", "", "CH-1", "x" * 200])
def test_a_word_that_cannot_be_an_id_is_answered_as_an_unknown_id_is(word: str) -> None:
    shown = f"{word[:80]!r}"
    cases = [
        (OfChange, "change_id", f"There is no change {shown}. See `gnomon changes list`."),
        (OfApproval, "id", f"There is no held action {shown}. `gnomon approvals list` shows "),
        (OfSurface, "surface_id", f"There is no item {shown} in the inbox."),
        (ChatTurn, "session", f"There is no session {shown}. `gnomon chat` starts a new one."),
        (JobRun, "name", f"There is no job {shown}. `gnomon jobs list` shows "),
    ]
    for arguments, name, said in cases:
        operation = Operation("a.b", "", arguments, None, _run)
        given = {"text": "x", name: word} if arguments is ChatTurn else {name: word}
        for read in (
            lambda o=operation, g=given: arguments_of_fields(o, g),
            lambda o=operation, g=given: arguments_of_query(o, g.items()),
        ):
            with pytest.raises(UsageError, match=re.escape(said)) as refused:
                read()
            assert refused.value.facts["reason"] == "unknown"
    with pytest.raises(UsageError, match="`change_id` takes text, not a whole number"):
        arguments_of_body(Operation("a.b", "", OfChange, None, _run), b'{"change_id": 5}')


@pytest.mark.parametrize(
    ("arguments", "given", "said"),
    [
        (Pause, {"for_seconds": 10**9}, "`for_seconds` is at most 31622400 (366 days)."),
        (Pause, {"for_seconds": 0}, "`for_seconds` is at least 1."),
        (Pause, {"for_seconds": "x"}, "`for_seconds` takes a whole number, not text."),
        (ChatTurn, {"text": "x" * 100_001}, "`text` is longer than 100000 characters."),
        (ChatTurn, {}, "`text` is missing."),
        (SurfaceEmit, {"title": "x", "kind": "foo"}, "`kind` cannot be 'foo'. It is one of: notif"),
        (LedgerRead, {"name": "session", "id": "A B"}, "`id` is not written as such a name is."),
        (HistoryImport, {"paths": ["x", 5]}, "`paths[1]` takes text, not a whole number."),
        (Nested, {"odd": b"x"}, "`odd` takes nothing, not bytes."),
        (Nested, {"side": "up"}, "`side` cannot be 'up'. It is one of: left, right."),
        (Nested, {"pair": [1]}, "pair: expected array of length 2, got 1."),
    ],
)
def test_no_text_of_a_library_reaches_people(
    arguments: type[msgspec.Struct], given: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        arguments_of_fields(Operation("a.b", "", arguments, None, _run), given)


def test_what_is_wrong_nowhere_in_particular_is_still_told() -> None:
    assert refused_words(Wanted, msgspec.ValidationError("It is off")) == "It is off."
