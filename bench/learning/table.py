"""The figures as a table that people read, in Markdown."""

from collections.abc import Callable, Sequence

from bench.learning.figures import EFFECTS, Column, Figure, Figures, points
from bench.learning.world import BEARABLE, BUSY

Of = Callable[[Column], Figure]
SHORT = {BUSY.name: "6/h", BEARABLE.name: "5/day"}


def table(figures: Figures) -> str:
    """Every rule at each pace: a column; what it does: a row."""
    head = ["", *(f"{SHORT[column.pace]} **{column.rule}**" for column in figures.columns)]
    return _markdown([head, *([name, *map(of, figures.columns)] for name, of in _rows())])


def dependences(figures: Figures) -> str:
    """What the seed's figures hang on."""
    effects = list(next(iter(figures.depends.values())))
    head = ["kept of first edits that ..., %", *map(_worth, effects)]
    rows = (
        [name, *(_shown(cells[effect]) for effect in effects)]
        for name, cells in figures.depends.items()
    )
    return _markdown([head, *rows])


def _rows() -> list[tuple[str, Callable[[Column], str]]]:
    def row(name: str, of: Of) -> tuple[str, Callable[[Column], str]]:
        return name, lambda column: _shown(of(column))

    def first(effect: str) -> tuple[str, Callable[[Column], str]]:
        return row(f"kept of first edits that {_worth(effect)}, %", lambda c: c.first[effect])

    return [
        *(first(points(effect)) for effect in EFFECTS),
        row("hours to a verdict", lambda c: c.hours),
        row("verdicts that knew what was used, %", lambda c: c.both),
        row("in 90 days: edits judged", lambda c: c.edits),
        row("in 90 days: kept of those that cost, %", lambda c: c.in_use["harm"]),
        row("in 90 days: kept of those that do nothing, %", lambda c: c.in_use["nothing"]),
        row("in 90 days: kept of those that gain, %", lambda c: c.in_use["help"]),
        row("after 90 days: points gained", lambda c: c.quality),
        row("after 90 days: worse than at the start, %", lambda c: c.worse),
    ]


def _worth(effect: str) -> str:
    match effect[0]:
        case "0":
            return "do nothing"
        case "-":
            return f"cost {effect[1:]}"
        case _:
            return f"gain {effect[1:]}"


def _shown(figure: Figure) -> str:
    """A decimal of what is small or sure; no error where it would be 0.0."""
    if figure.value is None:
        return "-"
    if figure.error is None or figure.error < 0.05:
        return f"{figure.value:.{0 if figure.error == 0 else 1}f}".removesuffix(".0")
    sure = figure.error < 0.95
    value = f"{figure.value:.{1 if sure and abs(figure.value) < 10 else 0}f}"
    return f"{value} ±{figure.error:.{1 if sure else 0}f}"


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    """A head, and rows whose numbers stand at the right; in columns, also as plain text."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = [rows[0], rule, *rows[1:]]
    return "\n".join(
        "| " + " | ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) + " |"
        for row in lines
    )
