"""The pipe's frames as bytes: pure, no I/O. One JSON object a line, at most 1 MiB.

- `{"hello": {"protocol": 1, ...}}` first, from both sides
- `{"id": 7, "op": "tick", "args": {...}}` is a request
- `{"id": 7, "part": ...}` any number of times, in order
- `{"id": 7, "ok": ...}` or `{"id": 7, "err": {"code", "facts", "message", "next_step"}}`
- `{"cancel": 7}`: the asker takes its request back
- `{"more": "<text>"}` any number of times, then `{"last": "<text>"}`: a frame over 1 MiB, cut
  into pieces, with nothing between them
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import cast

import msgspec

from gnomon.domain import errors
from gnomon.domain.errors import GnomonError, PipeError
from gnomon.domain.json_value import Fields, Json

PROTOCOL = 1
MAX_LINE = 1024 * 1024
"""Bytes of a line, its newline among them (page 2)."""
MAX_MESSAGE = 16 * 1024 * 1024
"""Bytes of a whole frame that goes by pieces."""
PIECE_CHARACTERS = 200_000
"""Of a cut frame. Four bytes a character, or two for an escaped one, stay under a line."""

Frame = Mapping[str, Json]

_SHAPES: tuple[frozenset[str], ...] = (
    frozenset({"hello"}),
    frozenset({"id", "op", "args"}),
    frozenset({"id", "part"}),
    frozenset({"id", "ok"}),
    frozenset({"id", "err"}),
    frozenset({"cancel"}),
    frozenset({"more"}),
    frozenset({"last"}),
)


def encode(frame: Frame) -> Iterator[bytes]:
    """The lines of one frame: one, or the pieces of a long one. They must not be mixed with
    lines of another frame. Raises PipeError over `MAX_MESSAGE`, or for what JSON cannot say.
    """
    try:
        data = msgspec.json.encode(frame)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise PipeError(f"This cannot be sent: {error}", reason="not-json") from error
    if len(data) < MAX_LINE:
        yield data + b"\n"
        return
    if len(data) > MAX_MESSAGE:
        raise PipeError(
            f"A message of {len(data)} bytes is over the bound of {MAX_MESSAGE}.",
            next_step="Ask for less at a time.",
            reason="too-large",
        )
    text = data.decode()
    for start in range(0, len(text), PIECE_CHARACTERS):
        end = start + PIECE_CHARACTERS
        key = "last" if end >= len(text) else "more"
        yield msgspec.json.encode({key: text[start:end]}) + b"\n"


def decode(line: bytes) -> Frame:
    """A frame of one line (or of joined pieces). Raises PipeError for anything else."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        # RecursionError: the decoder counts nesting against the interpreter's own limit.
        raise PipeError(f"The other process sent garbage: {error}", reason="garbage") from error
    if not isinstance(value, dict):
        raise PipeError("The other process sent no object.", reason="shape")
    frame = cast("dict[str, Json]", value)
    if frozenset(frame) not in _SHAPES or not _well_typed(frame):
        raise PipeError("The other process sent a frame of no known shape.", reason="shape")
    return frame


def _well_typed(frame: Frame) -> bool:
    checks: dict[str, type | tuple[type, ...]] = {
        "id": int,
        "cancel": int,
        "op": str,
        "args": dict,
        "hello": dict,
        "err": dict,
        "more": str,
        "last": str,
    }
    return all(
        isinstance(frame[key], kind) and not isinstance(frame[key], bool)
        for key, kind in checks.items()
        if key in frame
    )


def from_error(error: GnomonError) -> Fields:
    """An error as it crosses."""
    return {
        "code": error.code,
        "message": error.message,
        "next_step": error.next_step,
        "facts": dict(error.facts),
    }


def to_error(fields: Fields) -> GnomonError:
    """The error of the class whose code it carries; the root for a code unknown here."""
    code = fields.get("code")
    kind = _classes().get(code) if isinstance(code, str) else None
    facts = fields.get("facts")
    known = dict(facts) if isinstance(facts, Mapping) else {}
    error = (kind or GnomonError)(
        str(fields.get("message", "")), next_step=str(fields.get("next_step", ""))
    )
    # Set, not passed: a fact may have the name of a parameter.
    error.facts = known if kind else {**known, "code": str(code)}
    return error


@cache
def _classes() -> dict[str, type[GnomonError]]:
    """Code to class, of the one tree. `GnomonError` itself among them."""
    found = (value for value in vars(errors).values() if isinstance(value, type))
    return {kind.code: kind for kind in found if issubclass(kind, GnomonError)}
