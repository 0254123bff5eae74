"""Canonical JSON: one text for one value (page 2). Pure.

UTF-8, no spaces, keys sorted (ASCII names only), integers under 2^53, floats rounded to six
decimals and written without an exponent, no -0, nothing non-finite, nesting bounded. Ledger
lines, state files and fingerprints are written this way, so equal values have equal bytes.
"""

import math
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from gnomon.domain.errors import RecordError
from gnomon.domain.json_value import Json

MAX_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader keeps exact."""
DECIMALS = 6
MAX_DEPTH = 64
"""How deep objects and lists may nest. Far above any record, far below a stack's end."""
_EXPONENT_BELOW = 1e-5
"""The encoder writes smaller floats with an exponent; they are spelled out instead."""

_CONSTANTS = frozenset({bool, type(None)})
_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder()


def canonical(value: object) -> bytes:
    """The canonical text of a JSON value or a record.

    Raises RecordError when the value has none: a number out of bounds, a name that is not
    ASCII, nesting beyond MAX_DEPTH, or something that JSON does not know. A lone surrogate
    is no text, and becomes U+FFFD.
    """
    return encode_normal(normal(plain(value)))


def plain(value: object) -> Json:
    """Records to objects and lists. Raises RecordError for what JSON does not know."""
    try:
        return cast("Json", msgspec.to_builtins(value, str_keys=True))
    except (TypeError, ValueError, RecursionError) as error:
        raise unfit(f"it cannot be written as JSON: {error}") from error


def encode_normal(value: object) -> bytes:
    """Write what `normal` gave."""
    return _encoder.encode(value)


def decode_plain(raw: bytes) -> Json:
    """Read any JSON text. Raises RecordError: malformed, not UTF-8, too deep, out of range."""
    try:
        return cast("Json", _decoder.decode(raw))
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise unfit(f"it is not JSON: {error}") from error


def normal(value: Json, depth: int = 0) -> object:
    """The value with every float rounded and every text clean, ready for `encode_normal`.

    Raises RecordError as `canonical` does.
    """
    if isinstance(value, str):
        return value if value.isascii() else _text(value)
    if value is None or isinstance(value, int):  # which a bool is, and always in bounds
        if value is not None and not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise unfit(f"the integer {value} is not under 2^53")
        return value
    if isinstance(value, float):
        return _float(value)
    if depth >= MAX_DEPTH:
        raise unfit(f"it nests deeper than {MAX_DEPTH}")
    # The types that there are almost always come first: to ask for an abstract one costs ten
    # times as much.
    if isinstance(value, list | tuple):
        return _list(value, depth + 1)
    if isinstance(value, dict | Mapping):
        return _object(value, depth + 1)
    return _list(value, depth + 1)


def _object(value: Mapping[str, Json], depth: int) -> dict[str, object]:
    for name in value:
        if not name.isascii():
            raise unfit(f"the name {name!r} is not ASCII")
    # Most values are short texts, numbers and null, and every line that is written passes
    # here: they are looked at in place, and only the others in a call of their own.
    result: dict[str, object] = dict(value)
    for name, item in value.items():
        if type(item) is str:
            is_normal = item.isascii()
        elif type(item) is int:
            is_normal = -MAX_INTEGER <= item <= MAX_INTEGER
        else:
            is_normal = type(item) in _CONSTANTS
        if not is_normal:
            result[name] = normal(item, depth)
    return result


def _list(value: Sequence[Json], depth: int) -> list[object]:
    return [normal(item, depth) for item in value]


def _float(value: float) -> float | msgspec.Raw:
    if not math.isfinite(value):
        raise unfit(f"the number {value} is not finite")
    if abs(value) > MAX_INTEGER:
        raise unfit(f"the number {value} is not under 2^53")
    rounded = round(value, DECIMALS)
    if rounded == 0:
        return 0.0
    if abs(rounded) < _EXPONENT_BELOW:
        return msgspec.Raw(f"{rounded:.{DECIMALS}f}".encode())
    return rounded


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def unfit(reason: str) -> RecordError:
    """The error of a value that has no canonical text."""
    return RecordError(f"A value has no canonical form: {reason}.", reason=reason)
