"""Why an argument is refused, in our words: the reader of types writes for programmers. Pure."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

KINDS = {
    "int": "a whole number",
    "float": "a decimal number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "nothing",
}
DAY_SECONDS = 86_400
MOST_OF_A_WORD = 80
"""Characters that are repeated of what was given."""

Words = Callable[[str, re.Match[str]], str]


def refused_words(arguments: type[msgspec.Struct], error: msgspec.ValidationError) -> str:
    """A sentence for what `msgspec.convert` raised on these arguments."""
    what, _, where = str(error).replace("`", "").partition(" - at $")
    name = where.lstrip(".")
    for pattern, words in _PATTERNS:
        if found := pattern.fullmatch(what):
            said = words(name or "it", found)
            return said + (_one_of(arguments, name) if words is _no_choice else "")
    return f"{name}: {what[:1].lower()}{what[1:]}." if name else f"{what}."


def _bound(name: str, found: re.Match[str]) -> str:
    side = "at most" if found[1].startswith("<") else "at least"
    number = int(float(found[2]))
    if not name.endswith("seconds") or number % DAY_SECONDS:
        return f"`{name}` is {side} {number}."
    return f"`{name}` is {side} {number} ({number // DAY_SECONDS} days)."


def _length(name: str, found: re.Match[str]) -> str:
    if found[1] == ">=":
        return f"`{name}` is empty."
    return f"`{name}` is longer than {found[2]} characters."


def _no_choice(name: str, found: re.Match[str]) -> str:
    return f"`{name}` cannot be {found[1][:MOST_OF_A_WORD]!r}."


_PATTERNS: tuple[tuple[re.Pattern[str], Words], ...] = (
    (re.compile(r"Expected (?:int|float) (<=|>=) (-?[\d.]+)"), _bound),
    (re.compile(r"Expected str of length (<=|>=) (\d+)"), _length),
    (
        re.compile(r"Expected ([a-z |]+), got ([a-z]+)"),
        lambda name, found: f"`{name}` takes {_kinds(found[1])}, not {_kinds(found[2])}.",
    ),
    (re.compile(r"Invalid enum value '(.*)'", re.DOTALL), _no_choice),
    (
        re.compile(r"Object missing required field (\w+)"),
        lambda _, found: f"`{found[1]}` is missing.",
    ),
    (
        re.compile(r"Expected str matching regex .*"),
        lambda name, _: f"`{name}` is not written as such a name is.",
    ),
)


def _kinds(said: str) -> str:
    """`int | null` in words."""
    words = [KINDS.get(each, each) for each in said.split(" | ")]
    return " or ".join(word for word in words if word != "nothing" or len(words) == 1)


def _one_of(arguments: type[msgspec.Struct], name: str) -> str:
    """What the word could have been."""
    choices = [str(value) for value in _literals(get_type_hints(arguments)[name])]
    return f" It is one of: {', '.join(choices)}."


def _literals(hint: Any) -> Iterator[Any]:
    if get_origin(hint) is Literal:
        yield from get_args(hint)
    else:
        for each in get_args(hint):
            yield from _literals(each)
