"""Characters that nobody sees, or that turn around what stands beside them. Pure.

What a person approves is what is shown, so whatever shows a text to be decided on shows these
by their codes: two texts that differ look different (CVE-2021-42574 and the like).
"""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

_HIDING = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Categories of Unicode: controls, formats (direction, zero width, tags), what is no character
yet or is one by private agreement, halves, and separators of lines that break them unseen."""
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Of other categories, and blank: joiners and fillers of scripts, the empty Braille pattern."""
_PREPENDED = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2\U000110bd\U000110cd")
"""Of category Cf, and seen: signs around numbers (Unicode: Prepended_Concatenation_Mark)."""
_STYLES = "\ufe0e\ufe0f"
"""A sign drawn as text or in colour: ordinary after a sign, hidden anywhere else."""
_JOINERS = "\u200c\u200d"
_IN_CONTEXT = re.compile(f"[{_STYLES}{_JOINERS}]")
_KEPT = f"\n\t{_STYLES}{_JOINERS}"
_REMEMBERED = 20_000
"""Characters whose code is kept in memory; a text that holds more is looked at more slowly."""
_JOINERS_LOOKED_AT = 5_000
"""Each costs about 1.5 µs."""
_KEYCAP = "\u20e3"


def unseen_shown(
    text: str, code: Callable[[str], str], *, whole: bool = True, joined: bool = True
) -> str:
    """The text with `code` of each character that is not seen; tab and line feed stay.

    Joiners stay where a script or a composed sign needs them. With `whole` false the text is a
    part of a stream: one at its edge is taken to be such. With `joined` false none is.
    """
    if text.isascii() and text.isprintable():
        return text

    if not joined:
        for joiner in _STYLES + _JOINERS:
            text = text.replace(joiner, code(joiner))

    def placed(found: re.Match[str]) -> str:
        return found[0] if _is_needed(text, found.start(), whole) else code(found[0])

    return _IN_CONTEXT.sub(placed, text).translate(_codes(code))


def is_crowded(text: str) -> bool:
    """Whether it holds more joiners than are worth a look each: no text that people write."""
    return sum(map(text.count, _STYLES + _JOINERS)) > _JOINERS_LOOKED_AT


class _Codes(dict[int, str]):
    """What `str.translate` puts for each character: found out once, since texts are long."""

    def __init__(self, code: Callable[[str], str]) -> None:
        super().__init__()
        self.code = code

    def __missing__(self, number: int) -> str:
        if len(self) >= _REMEMBERED:
            self.clear()
        character = chr(number)
        self[number] = self.code(character) if _is_unseen(character) else character
        return self[number]


_codes = lru_cache(maxsize=8)(_Codes)


def _is_unseen(character: str) -> bool:
    """Wherever it stands."""
    if character in _KEPT:
        return False
    if character in _FILLERS or _is_selector(character):
        return True
    if unicodedata.category(character) not in _HIDING:
        return False
    return character not in _PREPENDED and not _is_pictograph(character)


def _is_selector(character: str) -> bool:
    """Of a variant of the sign before, or a tag."""
    return "\ufe00" <= character <= "\ufe0d" or "\U000e0000" <= character <= "\U000e0fff"


def _is_needed(text: str, at: int, whole: bool) -> bool:
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if not whole and not (before and after):
        return True
    if text[at] in _STYLES:
        return _is_sign(before) or after == _KEYCAP
    if text[at] == "\u200d" and (_is_sign(before) or before in tuple(_STYLES)):
        return _is_sign(after)
    return _joins(before) and _joins(after)


def _is_sign(character: str) -> bool:
    """Of what pictures are composed."""
    if not character or character.isascii():
        return False
    return (
        unicodedata.category(character) in {"So", "Sm", "Sk"}
        or character in "\u203c\u2049\u3030\u303d"
        or _is_pictograph(character)
    )


def _is_pictograph(character: str) -> bool:
    """Also one that is newer than this Python's tables: the block is kept for them."""
    return "\U0001f000" <= character <= "\U0001fbff"


def _joins(character: str) -> bool:
    """Whether its script changes its letters' shape by a joiner: Arabic and its like, and those
    of India.
    """
    return "\u0900" <= character <= "\u0dff" or (
        bool(character) and unicodedata.bidirectional(character) == "AL"
    )
