"""The table as it was last measured: kept beside the page that shows it."""

import re
from pathlib import Path

import msgspec

from bench.learning.figures import Figures
from bench.learning.table import dependences, table

DOCS = Path(__file__).resolve().parents[2] / "docs"
FIGURES = DOCS / "learning.json"
PAGE = DOCS / "learning.md"
BETWEEN = r"(?s)(?<=<!-- {0} -->\n).*?(?=\n<!-- end of {0} -->)"


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """`quick` was measured with the same code: tests measure it again."""

    full: Figures
    quick: Figures


def stored() -> Stored:
    """What was last measured."""
    return msgspec.json.decode(FIGURES.read_bytes(), type=Stored)


def shown(page: str, figures: Figures) -> str:
    """The page with its two tables as these figures have them."""
    for name, text in (("table", table(figures)), ("what it depends on", dependences(figures))):
        page = re.sub(BETWEEN.format(name), text, page)
    return page


def write(measured: Stored) -> None:
    """Store it and mend the page."""
    FIGURES.write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=1) + b"\n")
    PAGE.write_text(shown(PAGE.read_text(), measured.full))
