"""A line of output with its style. Pure; `output` prints it."""

from dataclasses import dataclass
from typing import Literal

Style = Literal["plain", "heading", "good", "bad", "warn", "faint"]


@dataclass(frozen=True)
class Line:
    """A line of output. `text` is cleaned when it is printed, not before."""

    text: str = ""
    style: Style = "plain"
