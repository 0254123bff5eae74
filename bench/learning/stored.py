"""The table as it was last measured: kept beside the page that shows it."""

import re
from pathlib import Path

import msgspec

from bench.learning.figures import Figures
from bench.learning.table import dependences, table

DOCS = Path(__file__).resolve().parents[2] / "docs"
FIGURES = DOCS / "learning.json"
PAGE = DOCS / "learning.md"
SERVED = DOCS.parent / "src" / "gnomon" / "data" / "learning.md"
"""The copy that the dashboard shows, as `make docs` makes it."""
TABLE = r"(?m)(?:^\|.*\n)+"


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """`quick` was measured with the same code: tests measure it again."""

    full: Figures
    quick: Figures


def stored() -> Stored:
    """What was last measured."""
    return msgspec.json.decode(FIGURES.read_bytes(), type=Stored)


def shown(page: str, figures: Figures) -> str:
    """The page with its last two tables as these figures have them."""
    tables = (table(figures), dependences(figures))
    places = list(re.finditer(TABLE, page))[-len(tables) :]
    for place, text in reversed(list(zip(places, tables, strict=True))):
        page = f"{page[: place.start()]}{text}\n{page[place.end() :]}"
    return page


def write(measured: Stored) -> None:
    """Store it and mend the page."""
    FIGURES.write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=1) + b"\n")
    page = shown(PAGE.read_text(), measured.full)
    PAGE.write_text(page)
    SERVED.write_text(page)
