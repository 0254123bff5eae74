"""`antipattern-flags.json`: when a repeated thought is rotated, sharpened or held. Pure.

It steers only that. What counts as a repeat is not in here, so that whoever may edit the
scaffold cannot move the measure (page 2).
"""

from typing import Annotated

import msgspec

from gnomon.domain.errors import ScaffoldError

FLAGS_FILE = "antipattern-flags.json"

Repeats = Annotated[int, msgspec.Meta(ge=1, le=100)]


class AntipatternFlags(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Thresholds are repeats in a row. `{subject}` in the sentence becomes the problem at
    hand. Defaults are those of page 5: rotate or sharpen at the first repeat, hold at three.
    """

    rotate_at_repeats: Repeats = 1
    sharpen_at_repeats: Repeats = 1
    hold_at_repeats: Repeats = 3
    sharpened_next_step: Annotated[str, msgspec.Meta(min_length=1, max_length=160)]


def decode_flags(text: str) -> AntipatternFlags:
    """Read the file's text. Raises ScaffoldError with `file` and `line`."""
    try:
        return msgspec.json.decode(text, type=AntipatternFlags)
    except msgspec.DecodeError as error:
        raise ScaffoldError(
            f"{FLAGS_FILE} cannot be used: {error}.",
            next_step="Correct it, or delete it to go back to the default.",
            file=FLAGS_FILE,
            line=_line_of(text, str(error)),
        ) from None


def _line_of(text: str, reason: str) -> int:
    """The line that the decoder means: by its byte position, else by the key that it names."""
    _, _, position = reason.partition("(byte ")
    if position:
        before = text.encode()[: int(position.rstrip(")"))]
        return before.count(b"\n") + 1
    _, _, key = reason.partition("$.")
    name = key.rstrip("`") or reason.partition("unknown field `")[2].rstrip("`")
    at = text.find(f'"{name}"') if name else -1
    return text.count("\n", 0, at) + 1 if at >= 0 else 1
