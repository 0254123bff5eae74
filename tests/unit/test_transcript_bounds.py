"""The bounds of a reading, and the corners of the pure parts that handed cases do not reach."""

import io
import json

import pytest

from gnomon.domain.instants import Millis
from gnomon.observe.identity import Owners
from gnomon.observe.transcripts import file_fold, lines, session_fold
from gnomon.observe.transcripts.events import (
    Finished,
    Interrupted,
    Seen,
    ToolCall,
    ToolResult,
    Usage,
    UserTurn,
)
from gnomon.observe.transcripts.file_fold import FileFold
from gnomon.observe.transcripts.lines import RawLine, lines_of
from gnomon.observe.transcripts.recognise import Recogniser, has_user_events, parser_for
from gnomon.observe.transcripts.records import salvage
from gnomon.observe.transcripts.reorder import CAPACITY


def fold() -> FileFold:
    return FileFold(source="test", path="/p", stem="stem", claims=Owners())


def at(number: int) -> Millis:
    return Millis(1_700_000_000_000 + number * 1000)


def usage(number: int, name: str | None, output: int, model: str = "m") -> Usage:
    return Usage(
        at=at(number),
        session="s",
        id=name,
        model=model,
        input=1,
        output=output,
        cache_read=0,
        cache_creation=0,
    )


def test_a_reply_is_the_row_with_most_output_and_old_replies_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(file_fold, "MOST_MESSAGES", 2)
    folded = fold()
    for number, (name, output) in enumerate(
        [("a", 1), ("a", 9), ("a", 5), ("b", 1), ("c", 1), ("a", 20), (None, 3), (None, 3)]
    ):
        folded.take(usage(number, name, output))
    folded.end()
    assert folded.token_counts().output == 20 + 1 + 1 + 3 + 3


def test_models_beyond_the_bound_are_counted_as_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_fold, "MOST_MODELS", 1)
    folded = fold()
    for number in range(3):
        folded.take(usage(number, f"r{number}", 5, model=f"m{number}"))
    folded.end()
    (found,) = folded.sessions()
    assert {used.model: used.output for used in found.session.tokens} == {"m0": 5, "unknown": 10}


def test_more_events_than_the_window_holds_all_count() -> None:
    folded = fold()
    folded.take(UserTurn(at=at(0), session="s", id="a", text="x", line=1))
    for number in range(CAPACITY + 100):
        folded.take(ToolCall(at=at(number), session="s", id=f"{number}", name="n", step="n"))
    folded.end()
    assert folded.calls["n"] == CAPACITY + 100


def test_times_without_a_session_are_the_files_alone() -> None:
    folded = fold()
    folded.take(Seen(at=at(1), session=None, stamp="x"))
    assert folded.folds() == ()
    assert folded.span.first == at(1)


def test_repeated_records_of_every_kind_count_once() -> None:
    folded = fold()
    for _ in range(2):
        folded.take(UserTurn(at=at(0), session="s", id="a", text="x", line=1))
        folded.take(ToolCall(at=at(1), session="s", id="c", name="n", step="n"))
        folded.take(ToolResult(at=at(2), session="s", call="c", failed=True))
        folded.take(Interrupted(at=at(3), session="s", id="i"))
    folded.end()
    (told,) = folded.folds()
    assert (told.turns, told.errors, told.interruptions) == (1, 1, 1)
    assert folded.calls.total() == 1


def test_what_happens_before_the_first_turn_is_counted_and_is_of_no_turn() -> None:
    folded = fold()
    folded.take(Finished(at=at(0), session="s", duration=5))
    folded.take(Interrupted(at=at(1), session="s", id=None))
    folded.take(ToolCall(at=at(2), session="s", id="c", name="n", step="n"))
    folded.take(ToolResult(at=at(3), session="s", call="c", failed=True))
    folded.take(usage(4, "r", 5))
    folded.end()
    (told,) = folded.folds()
    assert (told.turns, told.errors, told.interruptions) == (0, 1, 1)
    assert list(folded.turns()) == []


def test_a_session_that_stopped_stays_stopped_when_its_turn_is_closed() -> None:
    folded = fold()
    folded.take(UserTurn(at=at(0), session="s", id="a", text="x", line=1))
    folded.take(Interrupted(at=at(1), session="s", id=None))
    folded.take(Finished(at=at(2), session="s", duration=5))
    folded.take(Finished(at=at(3), session="s", duration=7))
    folded.end()
    (found,) = folded.sessions()
    assert found.session.ended == "interruption"
    assert next(folded.turns()).observation.durationMs == 12


def test_failures_that_wait_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_fold, "MOST_WAITING", 2)
    monkeypatch.setattr(session_fold, "MOST_HELD", 1)
    folded = fold()
    for number in range(5):
        folded.take(UserTurn(at=at(10 * number), session="s", id=f"{number}", text="x", line=1))
        folded.take(ToolResult(at=at(10 * number + 1), session="s", call=f"c{number}", failed=True))
    folded.end()
    assert len(list(folded.turns())) == 5


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONG", 100)
    monkeypatch.setattr(lines, "CHUNK", 16)
    monkeypatch.setattr(lines, "KEPT", 8)
    monkeypatch.setattr(lines, "MOST", 200)


def read(data: bytes) -> list[RawLine]:
    return list(lines_of(io.BytesIO(data)))


@pytest.mark.usefixtures("small")
def test_a_long_line_keeps_its_shape_and_the_beginnings_of_its_texts() -> None:
    record = {"a": "x" * 300, "b": 'say "hi" ' * 30, "c": [1, True], "d": "\\" * 61}
    (line,) = read(json.dumps(record).encode())
    told = json.loads(line.data)
    assert line.shortened
    assert (told["a"], told["b"], told["c"]) == ("x" * 8, 'say "hi', [1, True])
    assert set(told["d"]) == {"\\"}


@pytest.mark.usefixtures("small")
def test_a_long_line_that_ends_inside_a_text_is_cut_off_there() -> None:
    (line,) = read(b'{"a": "' + b"x" * 300)
    assert salvage(line).reason == "cut off: the file ends inside it"


@pytest.mark.usefixtures("small")
def test_a_line_that_stays_long_is_let_go_and_the_next_is_read() -> None:
    first, second = read(b"[" + b"1," * 300 + b"1]\n{}\n")
    assert first.too_long
    assert (second.number, second.data) == (2, b"{}")


@pytest.mark.usefixtures("small")
def test_nuls_of_a_long_line_are_noticed() -> None:
    (line,) = read(b"\0" * 500)
    assert (line.nul, line.data) == (True, b"")


@pytest.mark.usefixtures("small")
def test_a_backslash_at_a_seam_keeps_its_quote() -> None:
    for shift in range(20):
        text = "p" * shift + '\\"' * 80
        (line,) = read(json.dumps({"a": text, "z": 1}).encode())
        assert json.loads(line.data)["z"] == 1


def test_candidates_behind_a_stub_are_tried_until_one_is_whole() -> None:
    torn = b'{"a":"x{"b":1} {"c":{"d":2}} trailing {"e":{"f":3}}'
    assert salvage(RawLine(1, torn, ended=True)).values == ({"e": {"f": 3}},)


def test_a_document_or_enough_strangers_end_the_search_for_a_format() -> None:
    document = Recogniser()
    document.look(RawLine(1, b"{", ended=True))
    assert document.done
    strangers = Recogniser()
    strangers.look(RawLine(1, b"  ", ended=True))
    for number in range(200):
        assert not strangers.done
        strangers.look(RawLine(number, b'{"role":"user"}', ended=True))
    assert strangers.done
    assert strangers.kind is None
    fused = Recogniser()
    fused.look(RawLine(1, b'{"x":1}{"record_type":"state"}', ended=True))
    assert fused.kind == "codex-rollout-legacy-bare"


def test_a_parser_is_made_for_each_kind() -> None:
    named = io.BytesIO(b'{"type": "event_msg", "payload": {"type": "user_message"}}')
    assert has_user_events(named)
    assert parser_for("codex-rollout", io.BytesIO(b"")).format == "codex-rollout"
    assert parser_for("claude-code", io.BytesIO(b"")).source == "claude-code"
    bare = parser_for("codex-rollout-legacy-bare", io.BytesIO(b""))
    assert bare.format == "codex-rollout-legacy-bare"
