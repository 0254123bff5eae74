"""From a request's words to an operation's arguments. Pure.

A body is JSON and strictly typed: `"5"` is not 5. A query has only text, so numbers and
booleans are read from it, and a name that comes twice is a list. Names that the operation
does not know are refused in both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from gnomon.domain.errors import UsageError
from gnomon.gateway.operation import Operation
from gnomon.gateway.refused_words import MOST_OF_A_WORD, refused_words


def arguments_of_body(operation: Operation, body: bytes) -> msgspec.Struct:
    """Read a POST's JSON object; an empty body is an object without members.

    Raises UsageError, which says what was expected where.
    """
    try:
        given = msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(
            f"The body of {operation.name} is not JSON: {error}.",
            next_step="Send a JSON object with Content-Type: application/json.",
        ) from error
    if not isinstance(given, dict):
        raise UsageError(f"{operation.name} takes a JSON object.")
    return _convert(operation, given, strict=True)  # pyright: ignore[reportUnknownArgumentType]


def arguments_of_query(operation: Operation, query: Iterable[tuple[str, str]]) -> msgspec.Struct:
    """Read a GET's query. Raises UsageError."""
    lists = _list_fields(operation.arguments)
    given: dict[str, str | list[str]] = {}
    for name, text in query:
        if name in lists:
            given[name] = [*given.get(name, []), text]
        elif name in given:
            raise UsageError(f"{operation.name}: `{name[:64]}` was given twice.")
        else:
            given[name] = text
    return _convert(operation, given, strict=False)


def arguments_of_fields(operation: Operation, given: Mapping[str, Any]) -> msgspec.Struct:
    """Read what a page asks with, by the same rules as a body."""
    return _convert(operation, given, strict=True)


def known_names(operation: Operation) -> Sequence[str]:
    return [field.encode_name for field in msgspec.structs.fields(operation.arguments)]


def _convert(operation: Operation, given: Mapping[str, Any], *, strict: bool) -> msgspec.Struct:
    known = known_names(operation)
    unknown = sorted(set(given) - set(known))
    if unknown:
        takes = ", ".join(known) or "no arguments"
        raise UsageError(
            f"{operation.name} does not know `{unknown[0][:64]}`.", next_step=f"It takes: {takes}."
        )
    try:
        return msgspec.convert(given, operation.arguments, strict=strict)
    except msgspec.ValidationError as error:
        raise _refusal(operation, given, error) from error


def _refusal(
    operation: Operation, given: Mapping[str, Any], error: msgspec.ValidationError
) -> UsageError:
    """A word that cannot be an id names nothing, as an unknown one does: which pattern it misses
    helps nobody. The type of the argument says so (`no_such`).
    """
    name = str(error).partition("$.")[2].rstrip("`")
    word = given.get(name)
    if isinstance(word, str):
        for sentence, next_step in _no_such(operation.arguments, name):
            said = sentence.format(repr(word[:MOST_OF_A_WORD]))
            return UsageError(said, next_step=next_step, reason="unknown")
    return UsageError(refused_words(operation.arguments, error))


def _no_such(arguments: type[msgspec.Struct], name: str) -> Iterator[tuple[str, str]]:
    hint = get_type_hints(arguments, include_extras=True)[name]
    for kind in (hint, *get_args(hint)):  # `X | None` holds the annotated one
        for meta in getattr(kind, "__metadata__", ()):
            if isinstance(meta, msgspec.Meta) and "no_such" in (meta.extra or {}):
                yield (meta.extra or {})["no_such"]


def _list_fields(arguments: type[msgspec.Struct]) -> set[str]:
    hints = get_type_hints(arguments)
    return {name for name, hint in hints.items() if get_origin(hint) in {tuple, list, frozenset}}
