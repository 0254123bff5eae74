"""What the seed's rule keeps, beside keeping everything: `python -m bench.learning` in short.

Ours are percents of edits or histories, the floor those of no referee at all; the budgets are
what docs/learning.md tells people to expect. The whole table: `python -m bench.learning`.
"""

from bench.learning.figures import QUICK, Column, Figure, Sizes, measure
from bench.row import Row, bounded

SIZES = Sizes(lives=400, histories=40, depends=1)


def rows(quick: bool) -> list[Row]:
    """Edits that do nothing, edits that harm, and the histories that end worse."""
    figures = measure(1, QUICK if quick else SIZES)
    column = {(each.pace, each.rule): each for each in figures.columns}
    seed, everything = column["6 an hour", "seed"], column["6 an hour", "everything"]
    blind, kept = column["5 a day", "seed"], column["5 a day", "everything"]
    return [
        _row("first edits kept that do nothing", seed.first["0"], everything.first["0"], 40),
        _row("first edits kept that cost 10", seed.first["-10"], everything.first["-10"], 25),
        _row("90 days that end worse, 6 an hour", seed.worse, everything.worse, 15),
        _row("90 days that end worse, 5 a day", blind.worse, kept.worse, 15),
        _hours(seed),
    ]


def _row(what: str, ours: Figure, floor: Figure, budget: float) -> Row:
    return bounded(f"learning: {what}", ours.value or 0.0, floor.value or 0.0, budget, "%")


def _hours(column: Column) -> Row:
    hours = column.hours.value or 0.0
    return bounded("learning: time to a verdict, 6 an hour", hours, 34.0, 48.0, "h")
