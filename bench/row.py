"""One line of `make bench`: ours against a bare floor, measured in the same run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """`ratio` is ours over floor; it holds when it is at most `budget`. `unit` is of both."""

    what: str
    ours: float
    floor: float
    ratio: float
    budget: float
    unit: str
