"""The quick way to read a line: straight into its record, and back for comparison. Pure.

For each record a struct is made that has its fields and the envelope's. A line that decodes
into it and encodes to the same bytes is canonical but for its numbers, and those are looked
at by the fields' types. What is not evidently good here gets null, and the slow way in
`codec` judges it and says what is wrong; a property test holds the two to one answer.
"""

import hashlib
import types
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from gnomon.domain.canonical import DECIMALS, MAX_INTEGER, encode_normal, normal, plain, unfit
from gnomon.domain.errors import RecordError
from gnomon.domain.json_value import Json
from gnomon.domain.ledgers import Line
from gnomon.domain.records import Body, Sha256

HEX = "0123456789abcdef"
AT_LENGTH = len("2026-05-28T20:26:40.123Z")
AT_MARKS = "--T::."
"""What stands at each third place of `at` from the fifth; its digits are left to the parser."""
_Exact = Annotated[int, msgspec.Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)]
_ExactOrNull: Any = Union[_Exact, None]
_Number = Annotated[int, msgspec.Meta(ge=1, le=MAX_INTEGER)]
_SMALLEST = 1e-5
"""Below it the encoder writes an exponent, and the canonical form does not."""
_encode = msgspec.json.Encoder(order="sorted").encode
_PLAIN = (str, bool, type(None), Ellipsis)
"""Types without numbers inside, and the dots of `tuple[str, ...]`."""


Check = Callable[[Any], bool]
"""Whether the numbers in a value are spelt as `canonical` spells them, given that it encodes
back."""


class Envelope(msgspec.Struct, kw_only=True, frozen=True):
    """What each of the made structs has beside its record's fields."""

    at: str
    prev: str
    schema: int
    seq: _Number


@dataclass(frozen=True)
class _Shape:
    """The struct made for a record, what makes the record of one, and which fields hold
    numbers: integers, and others (floats, values with some inside) with what looks at them.
    """

    record: type[Body]
    build: Callable[[Envelope], Body]
    made: type
    integers: tuple[str, ...]
    others: tuple[tuple[str, Check], ...]


class TypedReader:
    """Reads the lines of a ledger that holds `bodies` (a record, or a union of records)."""

    def __init__(self, bodies: object) -> None:
        records = cast("tuple[type[Body], ...]", get_args(bodies) or (bodies,))
        shapes = [_shape(record) for record in records]
        self._shapes = {shape.made: shape for shape in shapes}
        decoder = msgspec.json.Decoder(cast("Any", Union[tuple(self._shapes)]))
        self._decode: Callable[[bytes], Envelope] = decoder.decode

    def read(self, raw: bytes, follows: Sha256) -> Line | None:
        """The line, if it is evidently canonical and fits its record at our schema.

        `follows` is the hash that `prev` should be; it may be another, which is for the chain
        to judge.
        """
        try:
            line = self._decode(raw)
            if _encode(line) != raw:
                return None
            return _built(line, self._shapes[type(line)], raw, follows)
        except (msgspec.MsgspecError, RecordError, RecursionError, ValueError):
            return None


def normal_fields(body: Body) -> dict[str, object]:
    """The fields of a body as `canonical.normal` gives them, found by their types.

    Raises RecordError when a field has no canonical form, or is not of its type: nothing is
    written that could not be read.
    """
    shape = _shape(type(body))
    plain_fields = cast("dict[str, Json]", plain(body))
    try:
        msgspec.convert(plain_fields, type(body))
        fields = cast("dict[str, Any]", plain_fields)
        for name in shape.integers:
            value = fields[name]
            if value is not None and not -MAX_INTEGER <= value <= MAX_INTEGER:
                raise unfit(f"the integer {value} is not under 2^53")
        for name, _ in shape.others:
            fields[name] = normal(fields[name], 1)
        _encode(fields)
        return fields
    except UnicodeEncodeError:
        return cast("dict[str, object]", normal(plain_fields))
    except msgspec.ValidationError as error:
        reason = f"{body.kind()}: {error}"
        raise RecordError(f"A record is not of its type: {reason}.", reason=reason) from error


def _built(line: Envelope, shape: _Shape, raw: bytes, follows: Sha256) -> Line | None:
    prev, at = line.prev, line.at
    if prev != follows and (len(prev) != len(follows) or prev.strip(HEX)):
        return None
    if len(at) != AT_LENGTH or at[4:20:3] != AT_MARKS or at[-1] != "Z":
        return None
    if line.schema != shape.record.SCHEMA or not _numbers_are_normal(line, shape):
        return None
    moment: Any = round(datetime.fromisoformat(at).timestamp() * 1_000)
    return Line(
        seq=line.seq,
        at=moment,
        schema=line.schema,
        prev=prev,
        sha256=hashlib.sha256(raw).hexdigest(),
        body=shape.build(line),
    )


def _numbers_are_normal(line: Envelope, shape: _Shape) -> bool:
    """Whether all numbers are spelt as `canonical` spells them, given that they encode back.

    Fields that are integers were bounded in decoding.
    """
    for name, is_normal in shape.others:
        value = getattr(line, name)
        if value is not None and not is_normal(value):
            return False
    return True


@lru_cache(maxsize=64)
def typed_reader(bodies: object) -> TypedReader:
    """The reader for a ledger's bodies; its structs are made once."""
    return TypedReader(bodies)


@lru_cache(maxsize=256)
def _shape(record: type[Body]) -> _Shape:
    hints = get_type_hints(record)
    names = record.__struct_fields__
    numbered = [name for name in names if not _has_no_numbers(hints[name])]
    exact = {name: _exact(hints[name]) for name in numbered}
    fields = [(name, exact.get(name) or hints[name]) for name in names]
    made = msgspec.defstruct(
        f"{record.__name__}Line",
        fields,
        bases=(Envelope,),
        kw_only=True,
        frozen=True,
        tag=record.kind(),
        tag_field="kind",
        forbid_unknown_fields=True,
    )
    return _Shape(
        record=record,
        build=_builder(record),
        made=made,
        integers=tuple(name for name in numbered if exact[name] is not None),
        others=tuple((n, _check(hints[n])) for n in numbered if exact[n] is None),
    )


def _builder(record: type[Body]) -> Callable[[Envelope], Body]:
    """What makes the record of a line that was read into its struct.

    Spelt out as a call with keywords, which takes half the time of one with a dict; this is
    most of what a read costs beside its decoding.
    """
    keywords = ", ".join(f"{name}=line.{name}" for name in record.__struct_fields__)
    built: Any = eval(f"lambda line: record({keywords})", {"record": record})  # noqa: S307 - of our own field names
    return built


def _exact(hint: Any) -> Any:
    """The bounded type of a field that is an integer; null of any other."""
    if hint is int:
        return _Exact
    return _ExactOrNull if hint == int | None else None


def _has_no_numbers(hint: Any) -> bool:
    """Whether there is nothing but texts, truths and nulls in a field of this type."""
    origin = get_origin(hint)
    if origin is Literal:
        return all(isinstance(value, str) for value in get_args(hint))
    if origin in {Union, types.UnionType, tuple}:
        return all(_has_no_numbers(part) for part in get_args(hint))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return all(_has_no_numbers(part) for part in get_type_hints(hint).values())
    return hint in _PLAIN


# --- numbers, by the type that holds them ------------------------------------------------------


def _check(hint: Any) -> Check:
    """What tells whether all numbers of a value of this type are normal."""
    if hint in _OF_NUMBERS:
        return _OF_NUMBERS[hint]
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _check_struct(hint)
    parts = [part for part in get_args(hint) if not _has_no_numbers(part)]
    if len(parts) != 1:
        return _is_normal
    origin, inside = get_origin(hint), _check(parts[0])
    if origin in {Union, types.UnionType} and set(get_args(hint)) == {parts[0], type(None)}:
        return lambda value: value is None or inside(value)
    if origin is tuple and Ellipsis in get_args(hint):
        return lambda values: all(map(inside, values))
    if origin is dict:
        return lambda named: all(map(inside, named.values())) and all(map(str.isascii, named))
    return _is_normal


def _check_struct(record: type[msgspec.Struct]) -> Check:
    hints = get_type_hints(record)
    fields = [(n, _check(hints[n])) for n in hints if not _has_no_numbers(hints[n])]

    def is_normal(struct: msgspec.Struct) -> bool:
        for name, check in fields:  # noqa: SIM110 - a generator would double the cost of a read
            if not check(getattr(struct, name)):
                return False
        return True

    return is_normal


def _integer_is_exact(number: int) -> bool:
    return -MAX_INTEGER <= number <= MAX_INTEGER


def _float_is_normal(number: float) -> bool:
    if number:
        return round(number, DECIMALS) == number and _SMALLEST <= abs(number) <= MAX_INTEGER
    return repr(number) == "0.0"  # and not -0.0


def _is_normal(value: Any) -> bool:
    """The same for a value of any type."""
    return encode_normal(normal(plain(value), 1)) == _encode(value)


_OF_NUMBERS: dict[Any, Check] = {int: _integer_is_exact, float: _float_is_normal}
