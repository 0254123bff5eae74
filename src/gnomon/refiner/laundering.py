"""Whether an edit carries the measure into what the agent reads. Pure.

The refiner sees the number that the agent must not see (page 1). So an edit is refused that
brings a name of the metric, or a number, that the text before did not have. It is looked at
without disguises (`spelling`), backwards, in rot13, and as base64 and base32.
"""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from gnomon.refiner.numbers import numbers
from gnomon.refiner.spelling import ROT13, plain

NAMES: Mapping[str, tuple[str, ...]] = {
    "fitness": ("",),
    "engagement": ("", "s"),
    "stall": ("", "s", "ed", "ing"),
    "composite": ("", "s"),
    "acted": ("",),
    "acked": ("",),
    "ignored": ("",),
    "system unavailable": ("",),
    "judge": ("", "s", "d", "ment", "ments"),
    "judg": ("ing", "ment", "ments"),
    "verdict": ("", "s"),
    "referee": ("", "s", "d"),
    "refiner": ("", "s"),
    "rate": ("", "s", "d"),
    "rating": ("", "s"),
    "score": ("", "s", "d"),
    "scoring": ("",),
    "grade": ("", "s", "d"),
    "grading": ("",),
    "metric": ("", "s"),
    "reward": ("", "s", "ed"),
    "rollback": ("", "s"),
    "rolled back": ("",),
}
"""The metric's own names, its outcomes', those of who measures, and the plain words for a
measure of worth; with their endings."""
BOTH_WAYS = frozenset({"reward"})
"""What is another plain word when it is read backwards: a drawer."""
LONG = 7
"""From so many letters on a name is found with a space in it, too; shorter ones would be found
in harmless neighbours (`its core`)."""
_LIKE: Mapping[str, str] = {
    "a": "a4@",
    "b": "b8",
    "e": "e3€",
    "g": "g9",
    "i": "i1!|l",
    "l": "l1|i",
    "o": "o0",
    "s": "s5$",
    "t": "t7+",
}
"""Signs that stand for a letter."""
_CODED = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{4,}={0,6}")
_TELLS = re.compile(rb"[\d.,/% ]*\d[\d.,/% ]*")


@dataclass(frozen=True)
class Laundered:
    """What an edit would carry over: a `name` or a `number`, and as it is written."""

    kind: Literal["name", "number"]
    found: str


def laundered(candidate: str, incumbent: str) -> Laundered | None:
    """The first thing that the candidate has and the incumbent has not, or less often."""
    for found in _more(names(candidate), names(incumbent)):
        return Laundered("name", found)
    for found in sorted(numbers(candidate) - numbers(incumbent)):
        return Laundered("number", found)
    for token in sorted(coded(candidate) - coded(incumbent)):
        return Laundered("number", token)
    return None


def names(text: str) -> Counter[str]:
    """How often each name of the metric stands in it."""
    readable = plain(text).lower()
    backwards = readable[::-1]
    return Counter(
        name
        for read in (readable, backwards, readable.translate(ROT13))
        for name, pattern in _patterns()
        if read is not backwards or name not in BOTH_WAYS
        for _ in pattern.finditer(read)
    )


def coded(text: str) -> set[str]:
    """Words that are digits or a name of the metric in base64 or base32."""
    return {found[0] for found in _CODED.finditer(plain(text)) if _tells(found[0])}


def _more(after: Counter[str], before: Counter[str]) -> list[str]:
    return sorted(name for name, count in after.items() if count > before[name])


def _tells(token: str) -> bool:
    return any(
        _TELLS.fullmatch(said) is not None or any(names(said.decode("ascii", "ignore")))
        for said in _decoded(token)
    )


def _decoded(token: str) -> Iterator[bytes]:
    decoders: tuple[tuple[int, Callable[[str], bytes]], ...] = (
        (4, base64.urlsafe_b64decode),
        (8, lambda padded: base64.b32decode(padded, casefold=True)),
    )
    bare = token.rstrip("=").translate(str.maketrans("+/", "-_"))
    for width, decode in decoders:
        try:
            said = decode(bare + "=" * (-len(bare) % width))
        except (binascii.Error, ValueError):
            continue
        if said.isascii():
            yield said


def _pattern(name: str, ending: str) -> re.Pattern[str]:
    """The name with look-alike signs, letters said twice, and something between them."""
    between = r"[\W_]{0,3}" if len(name) >= LONG else r"[^\w\s]?_?"
    letters = [_letter(letter) for letter in name + ending if letter != " "]
    return re.compile(rf"(?<![^\W_]){between.join(letters)}(?![^\W_])")


def _letter(letter: str) -> str:
    return f"[{re.escape(_LIKE.get(letter, letter))}]{{1,3}}"


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Made once they are needed: the gateway imports this at its start."""
    return tuple(
        (name, _pattern(name, ending)) for name, endings in NAMES.items() for ending in endings
    )
