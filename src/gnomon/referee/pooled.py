"""Engagement as people are shown it: pooled over days, with how sure it is. Pure.

At a bearable pace almost every hour has too few surfaces for a rate of its own (page 3).
"""

import math
from collections.abc import Iterable

import msgspec

from gnomon.domain.canonical import DECIMALS
from gnomon.domain.instants import DAY, Millis
from gnomon.referee.engagement import Engagement, Surface
from gnomon.referee.fitness import counted

POOLS = (7, 28)
"""Days."""
Z_95 = 1.959964
"""Two-sided 95% of the normal distribution: the interval's sureness, and the forecast's."""
Z_POWER = 0.841621
"""80% of it: how often a difference that is there is to be seen (the usual power)."""
SUPPOSED_RATE = 0.2
"""Stands in the forecast where nothing was answered yet: where refinement may begin (page 3)."""


class PooledEngagement(msgspec.Struct, frozen=True, kw_only=True):
    """Surfaces that the model emitted in the last `days`, by the outcome that stands.

    `rate` is acted over acted, acked and ignored; null, like its 95% `interval`, while there
    are none. `unavailable` and `open` (no outcome yet) are beside it.
    """

    days: int
    acted: int
    acked: int
    ignored: int
    rate: float | None
    interval: tuple[float, float] | None
    unavailable: int
    open: int

    @property
    def answered(self) -> int:
        """The rate's denominator."""
        return self.acted + self.acked + self.ignored

    @property
    def emitted(self) -> int:
        return self.answered + self.unavailable + self.open


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """When a difference will show: `surfaces` on both sides together, `days` at `per_day`
    (null at a pace of nothing).
    """

    difference: float
    rate: float
    per_day: float
    surfaces: int
    days: int | None


def judged_within(state: Engagement, now: Millis, days: int) -> list[Surface]:
    """The model's surfaces of the last days, oldest first. At most the 28 that are remembered."""
    since = state.availability.steady(now) - days * DAY
    found = [each for each in state.surfaces() if each.judged and each.emitted >= since]
    return sorted(found, key=lambda surface: surface.seq)


def pooled(surfaces: Iterable[Surface], days: int) -> PooledEngagement:
    """What the surfaces of so many days come to."""
    those = list(surfaces)
    counts = counted(those)
    outcomes = [surface.outcome for surface in those]
    return PooledEngagement(
        days=days,
        acted=counts.acted,
        acked=counts.acked,
        ignored=counts.ignored,
        rate=round(counts.acted / counts.total, DECIMALS) if counts.total else None,
        interval=wilson(counts.acted, counts.total),
        unavailable=outcomes.count("system_unavailable"),
        open=outcomes.count(None),
    )


def pools(state: Engagement, now: Millis) -> tuple[PooledEngagement, ...]:
    """The pools of 7 and 28 days."""
    return tuple(pooled(judged_within(state, now, days), days) for days in POOLS)


def pools_by_version(
    state: Engagement, now: Millis, days: int = POOLS[-1]
) -> dict[str, PooledEngagement]:
    """The pool of each scaffold version that emitted something, in order of first emission."""
    of_version: dict[str, list[Surface]] = {}
    for surface in judged_within(state, now, days):
        of_version.setdefault(surface.scaffold_version, []).append(surface)
    return {version: pooled(surfaces, days) for version, surfaces in of_version.items()}


def wilson(successes: int, total: int) -> tuple[float, float] | None:
    """Wilson's 95% score interval of a proportion; null of nothing.

    Wilson, E. B. (1927), Probable inference, the law of succession, and statistical inference.
    Unlike p +- z*sqrt(p(1-p)/n) it holds at few trials and at 0 and 1.
    """
    if not total:
        return None
    part, z2 = successes / total, Z_95**2
    middle = part + z2 / (2 * total)
    spread = Z_95 * math.sqrt(part * (1 - part) / total + z2 / (4 * total**2))
    scale = 1 + z2 / total
    low, high = (middle - spread) / scale, (middle + spread) / scale
    return round(max(0.0, low), DECIMALS), round(min(1.0, high), DECIMALS)


def forecast(rate: float | None, per_day: float, difference: float = 0.1) -> Forecast:
    """How long until a difference between two versions shows.

    Two proportions of one size each, compared at two-sided 95% with 80% power:
    n = 2 p (1 - p) (z_0.975 + z_0.8)^2 / d^2 surfaces a side, and two sides. With p = 0.2 and
    d = 0.1 that is 503 surfaces, 101 days at 5 a day. `rate` is p, kept within 0.05 and 0.95:
    beyond, the formula knows no noise.
    """
    part = min(0.95, max(0.05, SUPPOSED_RATE if rate is None else rate))
    a_side = 2 * part * (1 - part) * (Z_95 + Z_POWER) ** 2 / difference**2
    surfaces = math.ceil(2 * a_side)
    return Forecast(
        difference=difference,
        rate=round(part, DECIMALS),
        per_day=round(per_day, DECIMALS),
        surfaces=surfaces,
        days=round(surfaces / per_day) if per_day > 0 else None,
    )


def forecast_from(pool: PooledEngagement, difference: float = 0.1) -> Forecast:
    """The forecast at the pace and the rate of a pool."""
    return forecast(pool.rate, pool.answered / pool.days, difference)
