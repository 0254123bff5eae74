"""Text from models, transcripts and files, made safe for a terminal. Pure.

A terminal obeys control characters: it can be made to hide text, to rename its window, to
paste into a shell. None is printed raw; each is shown by its code instead.
"""

from gnomon.domain.unseen import unseen_shown


def clean(text: str, *, whole: bool = True) -> str:
    r"""The same text with each character that is not seen as its code: `\x1b`, `\u202e`.

    With `whole` false it is a part of a stream: what it does to a character hangs on that
    character alone, but for the joiners within pictures and some scripts. A carriage return
    goes without a trace when a line feed follows it.
    """
    return unseen_shown(text.replace("\r\n", "\n"), _code, whole=whole)


def one_line(text: str, width: int = 200) -> str:
    """The text on one line of at most `width` characters, cleaned."""
    flat = clean(" ".join(text.split()))
    return flat if len(flat) <= width else flat[: width - 1].rstrip() + "…"


def _code(character: str) -> str:
    code = ord(character)
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
