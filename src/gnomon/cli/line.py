"""A line of output with its style. Pure; `output` prints it."""

from dataclasses import dataclass
from typing import Literal

Style = Literal["plain", "heading", "good", "bad", "warn", "faint"]
Words = Literal["ours", "quoted", "exact"]
"""`ours`: a command that is named gets the options that it needs here. `quoted`: somebody else's
words, only broken into rows. `exact`: not even that, as a diff.
"""


@dataclass(frozen=True)
class Line:
    """A line of output. `text` is cleaned when it is printed, not before."""

    text: str = ""
    style: Style = "plain"
    words: Words = "ours"
