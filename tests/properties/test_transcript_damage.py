"""Whatever happens to a transcript's bytes: no crash, no more than there was, all of it named."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import BODIES
from gnomon.domain.views_history import ImportRow
from gnomon.ledger.codec import decode_line, encode_line
from gnomon.observe.identity import Owners
from gnomon.observe.transcripts import lines as lines_module
from gnomon.observe.transcripts.file_fold import FoundSession, FoundTurn
from gnomon.observe.transcripts.lines import lines_of
from gnomon.observe.transcripts.reading import Reading

CASES = Path(__file__).parents[1] / "cases" / "transcripts"
SMALL = {
    name: (CASES / name).read_bytes()
    for name in (
        "claude-code/06-small-reject.jsonl",
        "claude-code/11-edge-values.jsonl",
        "codex/03-rollout-cut-mid-call.jsonl",
        "codex/07-compacted.jsonl",
        "codex/08-escalation-abort.jsonl",
    )
}
relaxed = settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(path: Path) -> ImportRow:
    """The row; and everything that was found fits into a ledger line."""
    reading = Reading(path, Owners())
    for found in reading.run():
        match found:
            case FoundTurn(observation=body) | FoundSession(session=body):
                raw = encode_line(1, Millis(0), "0" * 64, body)
                assert decode_line(raw, BODIES["observations-imported"]).body == body
            case _:
                pass
    return reading.row(0)


def no_more_than(row: ImportRow, whole: ImportRow) -> None:
    assert row.user_turns <= whole.user_turns
    assert sum(row.tool_calls.values()) <= sum(whole.tool_calls.values())
    assert (row.tool_errors or 0) <= (whole.tool_errors or 0)


@relaxed
@given(
    name=st.sampled_from(sorted(SMALL)),
    places=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=8
    ),
)
def test_any_bytes_may_be_any_others(tmp_path: Path, name: str, places: list) -> None:
    data = bytearray(SMALL[name])
    for place, value in places:
        data[int(place * len(data))] = value
    path = tmp_path / "t.jsonl"
    path.write_bytes(bytes(data))
    read(path)


@relaxed
@given(name=st.sampled_from(sorted(SMALL)), place=st.floats(0, 1, exclude_max=True))
def test_a_cut_anywhere_loses_only_what_is_behind_it(
    tmp_path: Path, name: str, place: float
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(SMALL[name])
    whole = read(path)
    path.write_bytes(SMALL[name][: int(place * len(SMALL[name]))])
    no_more_than(read(path), whole)


@relaxed
@given(
    name=st.sampled_from(sorted(SMALL)),
    order=st.randoms(use_true_random=False),
    doubled=st.booleans(),
)
def test_order_and_repetition_of_lines_change_no_count(
    tmp_path: Path, name: str, order, doubled: bool
) -> None:
    if not name.startswith("claude-code/06"):
        return  # the others repeat ids on purpose, or have items that only their place dates
    records = SMALL[name].split(b"\n")
    path = tmp_path / "t.jsonl"
    path.write_bytes(SMALL[name])
    whole = read(path)
    mixed = [line for line in records if line] * (2 if doubled else 1)
    order.shuffle(mixed)
    path.write_bytes(b"\n".join(mixed))
    row = read(path)
    assert (row.user_turns, row.tool_calls, row.tool_errors, row.tokens) == (
        whole.user_turns,
        whole.tool_calls,
        whole.tool_errors,
        whole.tokens,
    )


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["user", "assistant", "system", "message", "tool_use", "tool_result"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "message",
                    "content",
                    "uuid",
                    "sessionId",
                    "timestamp",
                    "usage",
                    "id",
                    "name",
                    "input",
                    "payload",
                    "role",
                    "call_id",
                    "output",
                    "info",
                    "cwd",
                    "isSidechain",
                    "tool_use_id",
                    "is_error",
                    "text",
                    "model",
                ]
            )
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@relaxed
@given(name=st.sampled_from(sorted(SMALL)), odd=st.lists(json_values, min_size=1, max_size=4))
def test_any_json_between_the_records_is_survived(tmp_path: Path, name: str, odd: list) -> None:
    extra = b"".join(json.dumps(value).encode() + b"\n" for value in odd)
    path = tmp_path / "t.jsonl"
    path.write_bytes(SMALL[name].rstrip(b"\n") + b"\n" + extra + SMALL[name])
    read(path)


@given(data=st.binary(max_size=4000))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bytes_of_any_kind_are_a_row(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(data)
    row = read(path)
    assert row.user_turns == 0 or row.format is not None


@given(
    text=st.text(
        alphabet=st.sampled_from('ab"\\\u00e9\U0001f388\ud83c\n'), min_size=0, max_size=300
    ),
    piece=st.integers(1, 40),
    kept=st.integers(4, 64),
)
@settings(max_examples=200)
def test_a_line_that_is_read_in_pieces_is_still_the_same_record(
    text: str, piece: int, kept: int
) -> None:
    line = json.dumps({"type": "user", "text": text, "uuid": "u", "a": "x"}).encode()
    utf8 = json.dumps({"t": text}, ensure_ascii=False).encode("utf-8", "replace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "KEPT", kept)
        for data in (line, utf8):
            shortener = lines_module._Shortener()
            for at in range(0, len(data), piece):
                shortener.feed(data[at : at + piece])
            value = json.loads(shortener.result())
            whole = json.loads(data)
            assert set(value) == set(whole)
            for name, told in value.items():
                assert whole[name].startswith(told) or told.endswith("\ufffd")


@given(rows=st.lists(st.binary(max_size=30).filter(lambda row: b"\n" not in row), max_size=6))
def test_lines_split_on_newlines_alone(tmp_path_factory, rows: list) -> None:
    path = tmp_path_factory.mktemp("lines") / "f"
    path.write_bytes(b"\n".join(rows))
    with path.open("rb") as file:
        told = [line.data for line in lines_of(file)]
    expected = [row.removesuffix(b"\r") for row in path.read_bytes().split(b"\n")]
    if expected and expected[0].startswith(b"\xef\xbb\xbf"):
        expected[0] = expected[0][3:].removesuffix(b"\r")
    if not expected[-1] and rows[-1:] != [b"\r"]:
        expected.pop()  # nothing stands behind the last newline
    assert told == expected
