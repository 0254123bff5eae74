"""The figures as a table that people read, in Markdown."""

from collections.abc import Callable, Sequence

from bench.learning.figures import EFFECTS, Column, Figure, Figures, points

Of = Callable[[Column], Figure]


def table(figures: Figures) -> str:
    """Every rule at each pace: a column; what it does: a row."""
    head = ["", *(f"**{column.rule}**, {column.pace}" for column in figures.columns)]
    rows = [head, ["---"] + ["--:"] * len(figures.columns)]
    rows += [[name, *map(cell, figures.columns)] for name, cell in _rows()]
    return _markdown(rows)


def dependences(figures: Figures) -> str:
    """What the seed's figures hang on."""
    effects = list(next(iter(figures.depends.values())))
    rows = [["kept of first edits, %", *map(_worth, effects)], ["---"] + ["--:"] * len(effects)]
    rows += [
        [name, *(_shown(cells[effect]) for effect in effects)]
        for name, cells in figures.depends.items()
    ]
    return _markdown(rows)


def _rows() -> list[tuple[str, Callable[[Column], str]]]:
    def row(name: str, of: Of) -> tuple[str, Callable[[Column], str]]:
        return name, lambda column: _shown(of(column))

    def first(effect: str) -> tuple[str, Callable[[Column], str]]:
        return row(f"kept of first edits that {_worth(effect)}, %", lambda c: c.first[effect])

    return [
        *(first(points(effect)) for effect in EFFECTS),
        row("hours to a verdict", lambda c: c.hours),
        row("verdicts that knew engagement, %", lambda c: c.both),
        row("in 90 days: edits judged", lambda c: c.edits),
        row("kept of those that harm, %", lambda c: c.in_use["harm"]),
        row("kept of those that do nothing, %", lambda c: c.in_use["nothing"]),
        row("kept of those that help, %", lambda c: c.in_use["help"]),
        row("points gained at the end", lambda c: c.quality),
        row("histories that end worse than they began, %", lambda c: c.worse),
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
    """A decimal where the error is below one; no error where none shows."""
    if figure.value is None:
        return "-"
    if not figure.error:
        return f"{figure.value:.0f}"
    digits = 1 if figure.error < 0.95 else 0
    error = f" ±{figure.error:.{digits}f}" if figure.error >= 0.05 else ""
    return f"{figure.value:.{digits}f}{error}"


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows)
