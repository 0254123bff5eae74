"""Text from models, transcripts and files, made safe for a terminal. Pure.

A terminal obeys control characters: it can be made to hide text, to rename its window, to
paste into a shell. None is printed raw; each is shown by its code instead.
"""

import unicodedata

KEPT = "\n\t"
DECEPTIVE = frozenset("\u061c\u200e\u200f\u2028\u2029\ufeff") | frozenset(
    chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
)
"""They reorder what stands around them, or break lines unseen (CVE-2021-42574)."""


def clean(text: str) -> str:
    r"""The same text with each control character as its code: `\x1b`, `\u202e`.

    Works on any part of a stream: what it does to a character hangs on that character alone.
    A carriage return goes without a trace when a line feed follows it.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_clean_character, text.replace("\r\n", "\n")))


def one_line(text: str, width: int = 200) -> str:
    """The text on one line of at most `width` characters, cleaned."""
    flat = clean(" ".join(text.split()))
    return flat if len(flat) <= width else flat[: width - 1].rstrip() + "…"


def _clean_character(character: str) -> str:
    if character in KEPT:
        return character
    if character in DECEPTIVE or unicodedata.category(character) in {"Cc", "Cs"}:
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    return character
