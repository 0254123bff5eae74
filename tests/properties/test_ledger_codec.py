"""The codec: what it writes it reads, and what it did not write it refuses."""

import json
import math
import re
from collections.abc import Callable
from typing import cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.domain.canonical import MAX_DEPTH, MAX_INTEGER, canonical
from gnomon.domain.errors import RecordError
from gnomon.domain.instants import Millis
from gnomon.domain.json_value import Json
from gnomon.domain.ledgers import BODIES, GENESIS, Line
from gnomon.domain.records import (
    ActiveItem,
    Anchor,
    AnchoredHead,
    Body,
    DecisionBody,
    ErrorNoted,
    Reflection,
    Started,
    Stopped,
    Tick,
)
from gnomon.domain.records_observe import Failure, Observation
from gnomon.ledger.codec import ENVELOPE, MAX_LINE, decode_line, encode_line, judge_line, line_hash
from gnomon.ledger.typed import typed_reader

AT = Millis(1_780_000_000_123)
OBSERVED = Observation(
    session="s",
    turn=1,
    task="t",
    tools={"shell": 3},
    failures=(Failure(tool="shell", code="EXIT_NONZERO"),),
    corrected=False,
    durationMs=None,
    source="gnomon",
    happened_at=None,
)
REFLECTED = Reflection(
    reflection_no=3,
    focus="é",
    desired_action="rest",
    summary="s",
    concerns=("a", "b"),
    active_item=ActiveItem(title="t", source="operator", rationale="r"),
    raw_signature="x",
    repeated=False,
    repeat_count=0,
    pressure="none",
    model="m",
    seconds=0.25,
    tokens_in=None,
    tokens_out=12,
    scaffold_version="v",
)
EXAMPLES: list[tuple[object, Body]] = [
    (DecisionBody, REFLECTED),
    (DecisionBody, Tick(scaffold_version="x", skip_reason="idle")),
    (DecisionBody, ErrorNoted(code="c", where="w", facts={"n": [0.5, 0.00001, {"m": 3}]})),
    (DecisionBody, Stopped(reason="r")),
    (Observation, OBSERVED),
    (Anchor, Anchor(heads={"a": AnchoredHead(seq=3, sha256="0" * 64)})),
]
"""Of each way to hold numbers, one."""
names = st.text(st.characters(max_codepoint=127), max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.floats(-1e15, 1e15)
    | st.text(max_size=20)
)
values = st.recursive(
    scalars,
    lambda v: st.lists(v, max_size=4) | st.dictionaries(names, v, max_size=4),
    max_leaves=20,
)
fields = st.dictionaries(names, values, max_size=5)


def rounded(value: Json) -> Json:
    """What a value is after it was written: floats to six decimals, surrogates gone."""
    if isinstance(value, float):
        return round(value, 6) or 0.0
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return value


@given(fields)
def test_what_is_written_is_read_back(facts: dict[str, Json]) -> None:
    raw = encode_line(7, AT, "a" * 64, ErrorNoted(code="c", where="w", facts=facts))
    line = decode_line(raw, DecisionBody)
    assert (line.seq, line.at, line.prev, line.schema) == (7, AT, "a" * 64, 1)
    assert line.sha256 == line_hash(raw)
    assert line.body == ErrorNoted(code="c", where="w", facts=rounded(facts))  # type: ignore[arg-type]
    assert encode_line(7, AT, "a" * 64, line.body) == raw


@given(fields)
def test_a_line_is_plain_json_that_any_reader_agrees_on(facts: dict[str, Json]) -> None:
    raw = encode_line(1, AT, GENESIS, ErrorNoted(code="c", where="w", facts=facts))
    read = json.loads(raw)
    assert read["facts"] == rounded(facts)
    assert b"\n" not in raw
    assert list(read) == sorted(read)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-9e15, max_value=9e15))
def test_a_float_has_six_decimals_no_exponent_and_no_minus_zero(number: float) -> None:
    text = canonical(number).decode()
    assert "e" not in text.lower()
    assert text not in {"-0", "-0.0"}
    assert len(text.partition(".")[2]) <= 6
    assert math.isclose(float(text), number, abs_tol=5.1e-7, rel_tol=1e-15)
    assert canonical(float(text)).decode() == text


@given(st.text(st.characters(categories=None), max_size=30))
def test_any_text_is_written_and_a_lone_surrogate_becomes_a_replacement(text: str) -> None:
    raw = encode_line(
        1, AT, GENESIS, Started(version=text, mode="off", model=None, scaffold_version="")
    )
    body = decode_line(raw, DecisionBody).body
    assert isinstance(body, Started)
    surrogates = any(0xD800 <= ord(c) <= 0xDFFF for c in text)
    assert body.version == text or (surrogates and "�" in body.version)


def verdict(read: Callable[[bytes, object], Line], raw: bytes, bodies: object) -> Line | None:
    try:
        return read(raw, bodies)
    except RecordError:
        return None


numbers = (
    st.sampled_from(["-0", "-0.0", "0.0", "1.0", "1e-6", "0.00001", "1e16", "9007199254740992"])
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.integers(-(2**60), 2**60).map(repr)
    | st.sampled_from(["true", "null", '"1"', "1.5", "[1]"])
)


@given(st.data())
def test_the_quick_and_the_slow_way_of_reading_agree(data: st.DataObject) -> None:
    """For each record: with any number, or any changed byte, in any place."""
    bodies, body = data.draw(st.sampled_from(EXAMPLES))
    raw = encode_line(3, AT, "b" * 64, body)
    if data.draw(st.booleans()):
        places = list(re.finditer(rb"[:,\[](-?[\d.]+|null)(?=[,\]}])", raw))
        place = data.draw(st.sampled_from(places))
        raw = raw[: place.start(1)] + data.draw(numbers).encode() + raw[place.end(1) :]
    else:
        index = data.draw(st.integers(0, len(raw) - 1))
        raw = raw[:index] + bytes([data.draw(st.integers(0, 255))]) + raw[index + 1 :]
    assert verdict(decode_line, raw, bodies) == verdict(judge_line, raw, bodies)


def test_every_record_is_read_the_quick_way() -> None:
    for bodies, body in EXAMPLES:
        read = typed_reader(bodies).read(encode_line(3, AT, "b" * 64, body), GENESIS)
        assert read is not None, body
        assert read.body == body


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_reader(raw: bytes) -> None:
    with pytest.raises(RecordError):
        decode_line(raw, DecisionBody)


@given(st.data())
def test_no_changed_byte_of_a_line_reads_as_the_same_line(data: st.DataObject) -> None:
    raw = encode_line(3, AT, "b" * 64, Tick(scaffold_version="000001-é", skip_reason="idle"))
    index = data.draw(st.integers(0, len(raw) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda b: b != raw[index]))
    try:
        line = decode_line(raw[:index] + bytes([byte]) + raw[index + 1 :], DecisionBody)
    except RecordError:
        return
    assert line.sha256 != line_hash(raw)  # it reads, and the chain finds it


def line_of(**changes: Json) -> dict[str, Json]:
    plain: dict[str, Json] = {
        "at": "2026-05-28T20:26:40.123Z",
        "kind": "tick",
        "prev": GENESIS,
        "schema": 1,
        "scaffold_version": "x",
        "seq": 1,
        "skip_reason": None,
    }
    merged = plain | changes
    return {name: item for name, item in merged.items() if item != "(gone)"}


def dumped(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()


GOOD = dumped(line_of())
REFUSED: dict[str, bytes] = {
    "nothing": b"",
    "no object": b"[]",
    "NaN": GOOD.replace(b'"scaffold_version":"x"', b'"scaffold_version":NaN'),
    "infinity by exponent": GOOD.replace(b'"seq":1', b'"seq":1e999'),
    "a duplicate key": GOOD.replace(b'"seq":1', b'"seq":1,"seq":1'),
    "a duplicate key that differs": GOOD.replace(b'"seq":1', b'"seq":2,"seq":1'),
    "keys out of order": dumped(line_of())
    .replace(b'{"at"', b'{"seq":1,"at"')
    .replace(b',"seq":1,"skip', b',"skip'),
    "a space": GOOD.replace(b'"seq":1', b'"seq": 1'),
    "a bool as a number": dumped(line_of(seq=True)),
    "a float as a number": GOOD.replace(b'"seq":1', b'"seq":1.0'),
    "a text as a number": dumped(line_of(seq="1")),
    "seq 0": dumped(line_of(seq=0)),
    "a negative seq": dumped(line_of(seq=-1)),
    "no seq": dumped(line_of(seq="(gone)")),
    "an integer of 2^53": GOOD.replace(b'"seq":1', b'"seq":9007199254740992'),
    "an endless integer": GOOD.replace(b'"seq":1', b'"seq":' + b"9" * 400),
    "schema 0": dumped(line_of(schema=0)),
    "an unknown field": dumped(line_of(zzz=1)),
    "an unknown kind": dumped(line_of(kind="tock")),
    "a kind of another ledger": dumped(line_of(kind="spend")),
    "no kind": dumped(line_of(kind="(gone)")),
    "a missing field": dumped(line_of(scaffold_version="(gone)")),
    "a value outside its set": dumped(line_of(skip_reason="bored")),
    "an offset instead of Z": dumped(line_of(at="2026-05-28T20:26:40.123+00:00")),
    "no milliseconds": dumped(line_of(at="2026-05-28T20:26:40Z")),
    "no such day": dumped(line_of(at="2026-02-30T20:26:40.123Z")),
    "a short hash": dumped(line_of(prev="0" * 63)),
    "an upper-case hash": dumped(line_of(prev="A" * 64)),
    "a name beyond ASCII": GOOD.replace(b'"skip_reason":null', '"skip_reason":null,"é":1'.encode()),
    "an escape that is not needed": GOOD.replace(b'"x"', b'"\\u0078"'),
    "a lone surrogate": GOOD.replace(b'"x"', b'"\\ud800"'),
    "a surrogate in bytes": GOOD.replace(b'"x"', b'"\xed\xa0\x80"'),
    "bytes that are no UTF-8": GOOD.replace(b'"x"', b'"\xff"'),
    "a NUL": GOOD.replace(b'"x"', b'"\x00"'),
    "deep lists": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "text after it": GOOD + b" ",
    "two objects": GOOD + GOOD,
}


def test_the_good_line_is_good() -> None:
    assert decode_line(GOOD, DecisionBody).body == Tick(scaffold_version="x")


@pytest.mark.parametrize("name", REFUSED)
def test_a_line_is_refused_that_has(name: str) -> None:
    raw = REFUSED[name]
    assert raw != GOOD
    with pytest.raises(RecordError) as refused:
        decode_line(raw, DecisionBody)
    assert refused.value.facts["reason"]


NUMBERS = {
    "-0": -0.0,
    "1e-6 spelt so": 1e-6,
    "seven decimals": 0.1234567,
    "1E2": 100.0,
    "1e16": 1e16,
}
SPELT = {
    "-0": b"-0.0",
    "1e-6 spelt so": b"1e-6",
    "seven decimals": b"0.1234567",
    "1E2": b"1E2",
    "1e16": b"1e16",
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_refused_that_is_spelt_as(name: str) -> None:
    good = encode_line(1, AT, GENESIS, ErrorNoted(code="c", where="w", facts={"n": 0.5}))
    assert b'"n":0.5' in good
    with pytest.raises(RecordError):
        decode_line(good.replace(b'"n":0.5', b'"n":' + SPELT[name]), DecisionBody)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 2**53, -(2**53), 1e300])
def test_a_number_without_a_canonical_form_is_not_written(number: float) -> None:
    with pytest.raises(RecordError):
        encode_line(1, AT, GENESIS, ErrorNoted(code="c", where="w", facts={"n": number}))


def nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_is_bounded_on_both_sides() -> None:
    deepest = ErrorNoted(code="c", where="w", facts={"n": nested(MAX_DEPTH - 2)})
    raw = encode_line(1, AT, GENESIS, deepest)
    assert decode_line(raw, DecisionBody).body == deepest
    for depth in (MAX_DEPTH - 1, 5_000):
        with pytest.raises(RecordError):
            encode_line(1, AT, GENESIS, ErrorNoted(code="c", where="w", facts={"n": nested(depth)}))
    with pytest.raises(RecordError):
        decode_line(raw.replace(b"[1]", b"[[1]]"), DecisionBody)


def test_a_name_beyond_ascii_is_not_written() -> None:
    with pytest.raises(RecordError):
        encode_line(1, AT, GENESIS, ErrorNoted(code="c", where="w", facts={"é": 1}))


def test_a_line_over_the_bound_is_not_written() -> None:
    with pytest.raises(RecordError):
        encode_line(1, AT, GENESIS, ErrorNoted(code="c" * MAX_LINE, where="w"))


def test_unknown_fields_of_a_newer_schema_are_let_go() -> None:
    raw = dumped(line_of(schema=2, zzz={"new": 1}))
    line = decode_line(raw, DecisionBody)
    assert (line.schema, line.body) == (2, Tick(scaffold_version="x"))
    assert line.sha256 == line_hash(raw)


def test_an_unknown_field_inside_an_object_is_refused_at_our_schema() -> None:
    raw = encode_line(1, AT, GENESIS, OBSERVED)
    assert decode_line(raw, Observation).body == OBSERVED
    with pytest.raises(RecordError, match="zzz"):
        decode_line(raw.replace(b'"tool":"shell"', b'"tool":"shell","zzz":1'), Observation)


def test_no_record_takes_a_name_of_the_envelope() -> None:
    for bodies in BODIES.values():
        for record in cast("tuple[type[Body], ...]", get_args(bodies) or (bodies,)):
            assert not ENVELOPE & set(record.__struct_fields__), record


def test_the_bytes_of_a_line_stay_as_they_are_for_ever() -> None:
    body = ErrorNoted(
        code='a"\\\n\t\x01\x7f', where="é\u2028😀", facts={"b": [1e-6, 2.0, -1.5], "a": {}}
    )
    assert encode_line(1, Millis(0), GENESIS, body) == (
        b'{"at":"1970-01-01T00:00:00.000Z","code":"a\\"\\\\\\n\\t\\u0001\x7f",'
        b'"facts":{"a":{},"b":[0.000001,2.0,-1.5]},"kind":"error","prev":"' + b"0" * 64 + b'",'
        b'"schema":1,"seq":1,"where":"\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80"}'
    )
