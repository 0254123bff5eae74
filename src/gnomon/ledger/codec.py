"""One ledger line: from a body to canonical bytes, and back to a typed line. Pure.

A line is the body's fields and the envelope (`seq`, `at`, `kind`, `schema`, `prev`), flat.
Reading decodes, encodes again and compares bytes, which also finds duplicate keys, and then
builds the typed record. Unknown fields are refused at or below our schema and let go above
it: a later Gnomon may have added them.
"""

import hashlib
import re
from collections.abc import Callable
from functools import lru_cache
from typing import cast, get_args

import msgspec

from gnomon.domain.canonical import decode_plain, encode_normal, normal
from gnomon.domain.errors import RecordError
from gnomon.domain.instants import Millis, iso, parse_iso
from gnomon.domain.json_value import Json
from gnomon.domain.ledgers import GENESIS, Line
from gnomon.domain.records import Body, Sha256
from gnomon.ledger.typed import normal_fields, typed_reader

MAX_LINE = 16 * 2**20 + 2**16
"""Bytes of the longest line: the pipe's largest payload (16 MiB) and room for an envelope."""
ENVELOPE = frozenset({"seq", "at", "kind", "schema", "prev"})
"""Names that no body may use for a field of its own (`kind` is its tag)."""

_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_SHA = re.compile(r"[0-9a-f]{64}", re.ASCII)


class Key(msgspec.Struct, frozen=True):
    """What a bisection needs of a line, read without building the rest."""

    seq: int
    at: str


_iso = lru_cache(maxsize=8)(iso)  # lines that share a write share their time
_key_decoder = msgspec.json.Decoder(Key)


def prepare(body: Body) -> dict[str, object]:
    """The body's fields with kind and schema, checked and normal, still without an envelope.

    Raises RecordError when a field has no canonical form or is not of its type.
    """
    fields = normal_fields(body)
    fields["schema"] = type(body).SCHEMA
    return fields


def check_holds(bodies: object, body: Body) -> None:
    """Raise RecordError when a ledger that holds `bodies` does not hold this record."""
    if _records(bodies).get(body.kind()) is not type(body):
        raise bad(f"the ledger holds no {body.kind()}")


def seal(fields: dict[str, object], seq: int, at: Millis, prev: Sha256) -> bytes:
    """The line's bytes without a newline. Raises RecordError when it exceeds MAX_LINE."""
    raw = encode_normal(fields | {"seq": seq, "at": _iso(at), "prev": prev})
    if len(raw) > MAX_LINE:
        raise bad(f"the line has {len(raw)} bytes, more than {MAX_LINE}")
    return raw


def encode_line(seq: int, at: Millis, prev: Sha256, body: Body) -> bytes:
    """The canonical bytes of one line, without its newline. Raises RecordError."""
    return seal(prepare(body), seq, at, prev)


def line_hash(raw: bytes) -> Sha256:
    """SHA-256 of a line without its newline: the next line's `prev`."""
    return hashlib.sha256(raw).hexdigest()


def peek(raw: bytes) -> tuple[int, Millis]:
    """`seq` and `at` of a line, unchecked beyond that. Raises RecordError."""
    try:
        key = _key_decoder.decode(raw)
        return key.seq, parse_iso(key.at)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise bad(f"it is not a ledger line: {error}") from error


def decode_line(raw: bytes, bodies: object) -> Line:
    """Read one line (without its newline) of a ledger that holds `bodies` (a record, or a
    union of records).

    Raises RecordError whose `reason` says what is wrong; nothing is guessed or repaired.
    """
    return line_reader(bodies)(raw, GENESIS)


def line_reader(bodies: object) -> Callable[[bytes, Sha256], Line]:
    """`decode_line` for one ledger: of a line's bytes, and the hash that it should follow
    (another one is for the chain to judge).
    """
    quick = typed_reader(bodies).read

    def read(raw: bytes, prev: Sha256) -> Line:
        return quick(raw, prev) or judge_line(raw, bodies)

    return read


def judge_line(raw: bytes, bodies: object) -> Line:
    """The same, step by step: what is good, and of the rest, why it is bad."""
    fields = decode_plain(raw)
    if not isinstance(fields, dict):
        raise bad("it is no object")
    if encode_normal(normal(fields)) != raw:
        raise bad("it is not canonical JSON (a duplicate key, an order, a space, a number)")
    seq, at, prev = _whole(fields, "seq"), _at(fields), _prev(fields)
    schema = _whole(fields, "schema")
    return Line(
        seq=seq,
        at=at,
        schema=schema,
        prev=prev,
        sha256=line_hash(raw),
        body=_body(fields, schema, bodies, nested=raw.count(b"{") > 1),
    )


def _whole(fields: dict[str, Json], name: str) -> int:
    value = fields.pop(name, None)
    if type(value) is not int or value < 1:
        raise bad(f"{name} is no whole number from 1")
    return value


def _at(fields: dict[str, Json]) -> Millis:
    text = fields.pop("at", None)
    if not isinstance(text, str) or _AT.fullmatch(text) is None:
        raise bad("at is not UTC with milliseconds and Z")
    try:
        return parse_iso(text)
    except ValueError as error:
        raise bad(f"at names no moment: {error}") from error


def _prev(fields: dict[str, Json]) -> Sha256:
    text = fields.pop("prev", None)
    if not isinstance(text, str) or _SHA.fullmatch(text) is None:
        raise bad("prev is not 64 hex digits")
    return text


def _body(fields: dict[str, Json], schema: int, bodies: object, *, nested: bool) -> Body:
    kind = fields.get("kind")
    record = _records(bodies).get(kind) if isinstance(kind, str) else None
    if record is None:
        raise bad(f"no record of this ledger has the kind {kind!r}")
    if schema > record.SCHEMA:
        known = record.__struct_fields__
        fields = {name: value for name, value in fields.items() if name in known}
        nested = False
    try:
        body = msgspec.convert(fields, record)
    except msgspec.ValidationError as error:
        raise bad(f"{kind}: {error}") from error
    if nested:
        _refuse_unknown_inside(body, fields)
    return body


def _refuse_unknown_inside(body: Body, fields: dict[str, Json]) -> None:
    """The records refuse unknown fields of their own; this looks inside their objects."""
    for name, value in fields.items():
        if isinstance(value, dict | list):
            _cover(cast("Json", msgspec.to_builtins(getattr(body, name))), value, name)


def _cover(typed: Json, read: Json, where: str) -> None:
    """Raise when a field that was read, at any depth, is not in the typed record."""
    if isinstance(read, dict) and isinstance(typed, dict):
        for name, item in read.items():
            if name not in typed:
                raise bad(f"{where} has a field {name!r} that its record does not know")
            _cover(typed[name], item, f"{where}.{name}")
    elif isinstance(read, list) and isinstance(typed, list | tuple):
        for mine, item in zip(typed, read, strict=True):
            _cover(mine, item, where)


@lru_cache(maxsize=64)
def _records(bodies: object) -> dict[str, type[Body]]:
    members = cast("tuple[type[Body], ...]", get_args(bodies) or (bodies,))
    return {member.kind(): member for member in members}


def bad(reason: str) -> RecordError:
    """The error of a line that cannot be what was acknowledged."""
    return RecordError(f"A ledger line is bad: {reason}.", reason=reason)
