"""The quick way to read a line: straight into its record, and back for comparison. Pure.

For each record a struct is made that has its fields and the envelope's. A line that decodes
into it and encodes to the same bytes is canonical but for its numbers, and those are looked
at by the fields' types. What is not evidently good here gets null, and the slow way in
`codec` judges it and says what is wrong; a property test holds the two to one answer.
"""

import hashlib
import operator
import re
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, Protocol, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from gnomon.domain.canonical import DECIMALS, MAX_INTEGER, encode_normal, normal, plain
from gnomon.domain.errors import RecordError
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import Line
from gnomon.domain.records import Body

_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_SHA = re.compile(r"[0-9a-f]{64}", re.ASCII)
_PLAIN = (str, bool, type(None))
"""Types without numbers inside."""
_NUMBERS = (int, float)


class Envelope(Protocol):
    """What each of the made structs has beside its record's fields."""

    at: str
    prev: str
    schema: int
    seq: int


_ENVELOPE: list[tuple[str, type]] = [("at", str), ("prev", str), ("schema", int), ("seq", int)]


@dataclass(frozen=True)
class _Shape:
    """How to take one record out of its made struct, and which fields hold numbers."""

    record: type[Body]
    names: tuple[str, ...]
    values: Callable[[object], tuple[object, ...]]
    numbers: tuple[str, ...]
    nested: tuple[str, ...]


@dataclass(frozen=True)
class _Reader:
    decode: Callable[[bytes], Envelope]
    shapes: dict[type, _Shape]


def read_typed(raw: bytes, bodies: object) -> Line | None:
    """The line, if it is evidently canonical and fits its record at our schema."""
    reader = _reader(bodies)
    try:
        line = reader.decode(raw)
        shape = reader.shapes[type(line)]
        if line.schema != shape.record.SCHEMA or encode_normal(line) != raw:
            return None
        return _checked(line, shape, raw)
    except (msgspec.MsgspecError, RecordError, RecursionError, ValueError):
        return None


def _checked(line: Envelope, shape: _Shape, raw: bytes) -> Line | None:
    if not 1 <= line.seq <= MAX_INTEGER or _SHA.fullmatch(line.prev) is None:
        return None
    if _AT.fullmatch(line.at) is None:
        return None
    for name in shape.numbers:
        if not _is_normal(getattr(line, name)):
            return None
    for name in shape.nested:
        value = getattr(line, name)
        if value is not None and encode_normal(normal(plain(value), 1)) != encode_normal(value):
            return None
    at = Millis(round(datetime.fromisoformat(line.at).timestamp() * 1_000))
    body = shape.record(**dict(zip(shape.names, shape.values(line), strict=True)))
    return Line(
        seq=line.seq,
        at=at,
        schema=line.schema,
        prev=line.prev,
        sha256=hashlib.sha256(raw).hexdigest(),
        body=body,
    )


def _is_normal(number: float | None) -> bool:
    """Whether the number is spelt as it is by `canonical`, given that it encodes back."""
    if number is None or type(number) is int:
        return number is None or -MAX_INTEGER <= number <= MAX_INTEGER
    return (1e-5 <= abs(number) <= MAX_INTEGER and round(number, DECIMALS) == number) or repr(
        number
    ) == "0.0"


@lru_cache(maxsize=64)
def _reader(bodies: object) -> _Reader:
    shapes: dict[type, _Shape] = {}
    for record in cast("tuple[type[Body], ...]", get_args(bodies) or (bodies,)):
        made = msgspec.defstruct(
            f"{record.__name__}Line",
            _ENVELOPE,
            bases=(record,),
            kw_only=True,
            frozen=True,
            tag=record.kind(),
            tag_field="kind",
            forbid_unknown_fields=True,
        )
        shapes[made] = _shape(record)
    decoder = msgspec.json.Decoder(cast("Any", Union[tuple(shapes)]))
    return _Reader(decoder.decode, shapes)


def _shape(record: type[Body]) -> _Shape:
    hints = get_type_hints(record)
    names = record.__struct_fields__
    kinds = {name: _parts(hints[name]) for name in names}
    return _Shape(
        record=record,
        names=names,
        values=_getter(names),
        numbers=tuple(n for n in names if _only(kinds[n], _NUMBERS) and not _only(kinds[n], ())),
        nested=tuple(n for n in names if not _only(kinds[n], _NUMBERS)),
    )


def _getter(names: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda line: tuple(getattr(line, name) for name in names)


def _parts(hint: Any) -> frozenset[Any]:
    """The plain types that a field's type comes down to; itself where it does not."""
    origin = get_origin(hint)
    if origin is Literal:
        return (
            frozenset({str})
            if all(isinstance(v, str) for v in get_args(hint))
            else frozenset({hint})
        )
    if origin in {Union, types.UnionType}:
        return _united(get_args(hint))
    if origin is tuple:
        inner = _united(part for part in get_args(hint) if part is not Ellipsis)
        return inner if _only(inner, ()) else frozenset({hint})
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        inner = _united(get_type_hints(hint).values())
        return inner if _only(inner, ()) else frozenset({hint})
    return frozenset({hint})


def _united(hints: Iterable[Any]) -> frozenset[Any]:
    found: set[Any] = set()
    for hint in hints:
        found |= _parts(hint)
    return frozenset(found)


def _only(parts: frozenset[Any], also: tuple[type, ...]) -> bool:
    """Whether there is nothing but texts, truths, nulls, and what is named."""
    return all(part in _PLAIN or part in also for part in parts)
