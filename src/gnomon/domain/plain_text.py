"""Text from elsewhere, made safe to store and cut so that no character is broken."""

import re
import unicodedata

ELLIPSIS = "…"
_SURROGATE = re.compile("[\ud800-\udfff]")
_JOINERS = ("\u200d", "\ufe0f", "\ufe0e", "\u20e3")
"""Zero-width joiner, the two variation selectors, and the keycap mark."""


def clean(text: str) -> str:
    """Replace what UTF-8 cannot hold (lone surrogates) by U+FFFD, and NUL likewise."""
    if text.isascii():
        return text.replace("\0", "\ufffd")
    return _SURROGATE.sub("\ufffd", text).replace("\0", "\ufffd")


def _joins(character: str) -> bool:
    """Whether it belongs to the character before it."""
    return (
        character in _JOINERS
        or unicodedata.combining(character) != 0
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def _is_flag_half(text: str, index: int) -> bool:
    """Whether a cut at `index` would part the two letters of a flag."""
    start = index
    while start > 0 and "\U0001f1e6" <= text[start - 1] <= "\U0001f1ff":
        start -= 1
    return (index - start) % 2 == 1 and "\U0001f1e6" <= text[index] <= "\U0001f1ff"


def boundary(text: str, index: int) -> int:
    """The last place at or before `index` where a cut parts no visible character."""
    index = max(0, min(index, len(text)))
    for _ in range(32):
        if not 0 < index < len(text):
            break
        part_of_last = (
            _joins(text[index]) or text[index - 1] == "\u200d" or _is_flag_half(text, index)
        )
        if not part_of_last:
            break
        index -= 1
    return index


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, an ellipsis included where something was left out."""
    if len(text) <= limit:
        return text
    return text[: boundary(text, limit - 1)].rstrip() + ELLIPSIS


def one_line(text: str, limit: int) -> str:
    """White space run together, then cut: for lists and labels."""
    return cut(" ".join(text[: limit * 8].split()), limit)
