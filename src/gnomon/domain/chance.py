"""Whether two shares differ by more than chance explains. Pure."""

Interval = tuple[float, float] | None
"""What holds a share in 95 of 100 cases; null where too little is known."""


def within_chance(one: Interval, other: Interval) -> bool:
    """Their intervals overlap, or one is not known: then nothing is said of a difference."""
    if one is None or other is None:
        return True
    return one[0] <= other[1] and other[0] <= one[1]
