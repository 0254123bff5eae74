"""One line of `make bench`: ours against a bare floor, measured in the same run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """`ratio` is ours over floor; it holds when it is at most `budget`, or always where there is
    none. `unit` is of both.

    Where the floor can be nothing at all (an idle process), a ratio says nothing: with
    `absolute`, `budget` bounds `ours` itself.
    """

    what: str
    ours: float
    floor: float
    ratio: float
    budget: float | None
    unit: str
    absolute: bool = False

    @property
    def holds(self) -> bool:
        if self.budget is None:
            return True
        return (self.ours if self.absolute else self.ratio) <= self.budget


def bounded(what: str, ours: float, floor: float, budget: float, unit: str) -> Row:
    """A row whose budget bounds the figure itself."""
    ratio = ours / floor if floor else float("inf")
    return Row(what, ours, floor, ratio, budget, unit, absolute=True)


def told(what: str, ours: float, floor: float, unit: str) -> Row:
    """A row that is there to be compared with others, and has no budget."""
    return Row(what, ours, floor, ours / floor, None, unit)
