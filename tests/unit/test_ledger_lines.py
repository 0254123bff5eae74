"""Single facts about canonical text and lines, beside the properties."""

import pytest

from gnomon.domain.canonical import canonical
from gnomon.domain.errors import RecordError
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import GENESIS
from gnomon.domain.records import DecisionBody, ErrorNoted, RunClosed, RunStep, Spend
from gnomon.ledger.codec import decode_line, encode_line, peek

AT = Millis(1_780_000_000_123)


def test_a_lone_surrogate_becomes_a_replacement_and_a_pair_its_character() -> None:
    assert canonical("a\ud800b") == '"a\ufffdb"'.encode()
    assert canonical("\ud83d\ude00") == '"\U0001f600"'.encode()


@pytest.mark.parametrize("value", [object(), {"a": object()}, [AT, object], {object(): 1}])
def test_what_json_does_not_know_has_no_canonical_text(value: object) -> None:
    with pytest.raises(RecordError):
        canonical(value)


def spend(seconds: float) -> Spend:
    return Spend(
        role="resident",
        purpose="reflection",
        agent="ada",
        model="m",
        prompt="p",
        tokens_in=1,
        tokens_out=None,
        tokens_cached=None,
        seconds=seconds,
        cost_usd=0.0,
        joules=None,
    )


@pytest.mark.parametrize(
    "spelt", [b"-0.0", b"-0", b"1e-6", b"0.1234567", b"2.50", b"9007199254740993.0", b"1e300"]
)
def test_a_float_field_that_is_spelt_otherwise_is_refused(spelt: bytes) -> None:
    raw = encode_line(1, AT, GENESIS, spend(2.5))
    assert raw.count(b'"seconds":2.5') == 1
    with pytest.raises(RecordError):
        decode_line(raw.replace(b'"seconds":2.5', b'"seconds":' + spelt), Spend)


@pytest.mark.parametrize("seconds", [0.0, -0.0, 0.000004, 0.0000004, -2.5, 1e15, 3])
def test_a_float_field_is_read_as_it_was_written(seconds: float) -> None:
    line = decode_line(encode_line(1, AT, GENESIS, spend(seconds)), Spend)
    assert isinstance(line.body, Spend)
    assert line.body.seconds == round(seconds, 6)


def test_an_integer_in_a_float_field_stays_one() -> None:
    raw = encode_line(1, AT, GENESIS, spend(2.5)).replace(b'"seconds":2.5', b'"seconds":2')
    assert decode_line(raw, Spend).body == spend(2)


def test_free_json_is_read_with_its_tiny_numbers() -> None:
    step = RunStep(step=1, entry={"n": 0.000001, "m": [0.5, 7]})
    raw = encode_line(1, AT, GENESIS, step)
    assert decode_line(raw, RunStep | RunClosed).body == step


@pytest.mark.parametrize("raw", [b"junk", b"{}", b'{"seq":1,"at":"then"}', b'{"seq":"1","at":""}'])
def test_a_line_without_its_number_or_time_is_no_line(raw: bytes) -> None:
    with pytest.raises(RecordError):
        peek(raw)


def test_a_line_tells_its_number_and_time() -> None:
    raw = encode_line(7, AT, GENESIS, ErrorNoted(code="c", where="w"))
    assert peek(raw) == (7, AT)
    assert decode_line(raw, DecisionBody).seq == 7
