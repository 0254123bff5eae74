"""Whatever is sent arrives as it was, and whatever arrives is a frame or a PipeError."""

from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.domain import errors
from gnomon.domain.errors import GnomonError, PipeError
from gnomon.domain.json_value import Json
from gnomon.trust import frames
from gnomon.trust.frames import MAX_LINE, decode, encode, from_error, to_error

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=20,
)
objects = st.dictionaries(texts, values, max_size=5)
shapes = st.one_of(
    st.builds(lambda n, op, a: {"id": n, "op": op, "args": a}, st.integers(0), texts, objects),
    st.builds(lambda n, v: {"id": n, "part": v}, st.integers(0, 2**60), values),
    st.builds(lambda n, v: {"id": n, "ok": v}, st.integers(0, 2**60), values),
    st.builds(lambda n, v: {"id": n, "err": v}, st.integers(0, 2**60), objects),
    st.builds(lambda n: {"cancel": n}, st.integers(0, 2**60)),
    st.builds(lambda v: {"hello": v}, objects),
)
classes = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, GnomonError)
]


def joined(lines: list[bytes]) -> frames.Frame:
    """What a reader makes of them."""
    pieces = ""
    for line in lines:
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        assert len(line) <= MAX_LINE
        frame = decode(line[:-1])
        if "more" not in frame and "last" not in frame:
            return frame
        pieces += str(frame.get("more", frame.get("last")))
    return decode(pieces.encode())


@given(shapes)
def test_a_frame_comes_back_as_it_was(frame: dict[str, Any]) -> None:
    assert joined(list(encode(frame))) == frame


@pytest.mark.parametrize("text", ["x", '"', "\\", "é", "\U0001f600", "\n", "\0", "\u2028"])
@pytest.mark.parametrize("size", [MAX_LINE // 2, MAX_LINE, 3 * MAX_LINE])
def test_a_long_frame_is_cut_between_characters(text: str, size: int) -> None:
    frame = {"id": 1, "ok": text * (size // len(text.encode()))}
    if text == "\0":
        frame = {"id": 1, "ok": text * (size // 6)}
    lines = list(encode(frame))
    assert joined(lines) == frame


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_a_pipe_error(data: bytes) -> None:
    try:
        frame = decode(data)
    except PipeError:
        return
    assert isinstance(frame, dict)


@given(values)
def test_any_json_is_a_frame_or_a_pipe_error(value: object) -> None:
    try:
        decode(msgspec.json.encode(value))
    except PipeError:
        return
    assert isinstance(value, dict)


@pytest.mark.parametrize("opened", [b"[", b'{"a":'])
@pytest.mark.parametrize("levels", [2_000, 100_000, 900_000])
def test_deep_json_is_a_pipe_error(opened: bytes, levels: int) -> None:
    with pytest.raises(PipeError):
        decode(b'{"id":1,"ok":' + opened * min(levels, 900_000 // len(opened)))


@pytest.mark.parametrize("value", [object(), {1j}, {"a": b"\xff" and object()}])
def test_what_json_cannot_say_is_not_sent(value: object) -> None:
    with pytest.raises(PipeError):
        list(encode({"id": 1, "ok": cast("Json", value)}))


def test_a_value_that_holds_itself_is_not_sent() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(PipeError):
        list(encode({"id": 1, "ok": loop}))


@pytest.mark.parametrize("kind", classes)
@settings(max_examples=20)
@given(facts=objects, message=texts, step=texts)
def test_every_error_comes_back_as_itself(
    kind: type[GnomonError], facts: dict[str, Any], message: str, step: str
) -> None:
    error = kind(message, next_step=step)
    error.facts = facts
    back = to_error(msgspec.json.decode(msgspec.json.encode(from_error(error))))
    assert type(back).code == kind.code
    assert (back.message, back.next_step, back.facts) == (message, step, facts)


@given(objects)
def test_any_object_is_an_error_of_the_one_tree(fields: dict[str, Any]) -> None:
    assert isinstance(to_error(fields), GnomonError)


def test_an_unknown_code_is_kept_as_a_fact() -> None:
    error = to_error({"code": "from-the-future", "message": "x"})
    assert type(error) is GnomonError
    assert error.facts == {"code": "from-the-future"}
