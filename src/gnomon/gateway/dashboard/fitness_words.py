"""What the Fitness page and the inbox say of the facts. Pure; the words are in the language
file.

It says no more than the numbers do: a rate without its sample is no rate, a difference that
chance explains is none, and what may still change is called provisional.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gnomon.domain.chance import within_chance
from gnomon.domain.instants import HOUR, MINUTE, Millis, parse_iso
from gnomon.domain.views import InboxItem
from gnomon.domain.views_referee import (
    EngagementTrend,
    Fitness,
    FitnessGap,
    FitnessWindow,
    Forecast,
    LinesBehind,
    Pooled,
)
from gnomon.gateway.dashboard.wording import Sentence, number

WEEK_DAYS = 7
HOURLY = 24
"""A day. Measured were 6 an hour, where verdicts are worth something, and 5 a day, where they are
not (docs/learning.md): below one an hour the second is nearer."""
LINES_SHOWN = 500
"""As many lines as one page of a ledger has."""


@dataclass(frozen=True)
class Usefulness:
    """`lead` is what one reads first; `tail` belongs into one sentence."""

    lead: Sentence
    rest: Sentence | None = None
    tail: Sequence[Sentence] = ()


@dataclass(frozen=True)
class Count:
    """A number of the table and the lines behind it, as the address of a page."""

    text: str
    link: str | None
    ledger: str
    lines: LinesBehind | None


@dataclass(frozen=True)
class Row:
    """One row of the table of windows; `window` is null for a gap."""

    start: str
    end: str
    window: FitnessWindow | None
    counts: Sequence[Count] = ()


def percent(rate: float) -> str:
    """`64%`: whole numbers, half up."""
    return f"{math.floor(rate * 100 + 0.5)}%"


def points(value: float) -> str:
    """`0.19`: two places, half up, as the composite is shown everywhere."""
    return f"{math.floor(value * 100 + 0.5) / 100:.2f}"


def pooled_of(fitness: Fitness, days: int) -> Pooled | None:
    return next((each for each in fitness.pooled if each.days == days), None)


def trend_of(fitness: Fitness, days: int) -> EngagementTrend | None:
    return next((each for each in fitness.trends if each.days == days), None)


def usefulness(pooled: Pooled, least: int) -> Usefulness:
    """`Used 14 of 22 (64%), last 7 days. You dismissed 3, let 5 pass. 2 came ...; 4 are open.`"""
    settled = pooled.acted + pooled.acked + pooled.ignored
    if pooled.rate is None:
        return Usefulness(lead=_too_early(pooled, settled, least))
    tail: list[Sentence] = []
    if pooled.unavailable:
        tail.append(Sentence("fitness.while-off", {"n": pooled.unavailable}))
    if pooled.open:
        tail.append(Sentence("fitness.still-open", {"n": pooled.open}))
    used = {"used": pooled.acted, "settled": settled, "rate": percent(pooled.rate)}
    others = {"n": pooled.days, "dismissed": pooled.acked, "passed": pooled.ignored}
    return Usefulness(
        lead=Sentence("fitness.used", used),
        rest=Sentence("fitness.last-days", others),
        tail=tail,
    )


def _too_early(pooled: Pooled, settled: int, least: int) -> Sentence:
    brought = settled + pooled.open + pooled.unavailable
    facts = {"brought": brought, "used": pooled.acted, "open": pooled.open, "least": least}
    return Sentence("fitness.too-early", facts)


def trend(fitness: Fitness) -> Sentence:
    """The week beside the one before; where their intervals overlap it is chance."""
    pooled, before = pooled_of(fitness, WEEK_DAYS), fitness.before
    if pooled is None or pooled.rate is None or before.rate is None:
        return Sentence("fitness.no-trend-yet")
    facts = {"now": percent(pooled.rate), "before": percent(before.rate)}
    if within_chance(pooled.interval, before.interval):
        return Sentence("fitness.within-chance", facts)
    if pooled.rate > before.rate:
        return Sentence("fitness.better", facts)
    return Sentence("fitness.worse", facts)


def forecast(said: Forecast) -> Sentence | None:
    """`At 5 a day, a 10-point difference shows after about 100 days.`"""
    a_day = _a_day(said)
    if said.days is None or a_day is None:
        return None
    return Sentence(
        "fitness.forecast", {"a_day": a_day, "points": said.points, "days": number(said.days)}
    )


def pace(said: Forecast) -> Sentence | None:
    """`You get about 5 a day.`, and what docs/learning.md found of so few."""
    a_day = _a_day(said)
    if a_day is None or said.surfaces_per_day is None:
        return None
    if said.surfaces_per_day < HOURLY:
        return Sentence("learn.pace-slow", {"a_day": a_day})
    return Sentence("learn.pace", {"a_day": a_day})


def _a_day(said: Forecast) -> str | None:
    if not said.surfaces_per_day:
        return None
    return f"{said.surfaces_per_day:.1f}".removesuffix(".0")


def rows(fitness: Fitness, limit: int) -> Sequence[Row]:
    """The newest windows and gaps, newest first."""
    found = [
        *(_row(window) for window in fitness.windows),
        *(_gap_row(gap) for gap in fitness.gaps),
    ]
    return sorted(found, key=lambda row: row.start, reverse=True)[:limit]


def _gap_row(gap: FitnessGap) -> Row:
    return Row(start=gap.window_start, end=gap.window_end, window=None)


def _row(window: FitnessWindow) -> Row:
    counts = window.engagement_counts
    engaged = "engagement-ledger"
    return Row(
        start=window.window_start,
        end=window.window_end,
        window=window,
        counts=(
            _count(window, _or_dash(window.stall_composite), "decision-ledger"),
            _count(window, number(counts.acted), engaged),
            _count(window, number(counts.acked), engaged),
            _count(window, number(counts.ignored), engaged),
            _count(window, number(window.system_unavailable_count), engaged),
            _count(window, number(window.pending), engaged),
            _count(window, number(window.reflection_count), "decision-ledger"),
        ),
    )


def _or_dash(value: float | None) -> str:
    return "\u2013" if value is None else points(value)


def _count(window: FitnessWindow, text: str, ledger: str) -> Count:
    lines = window.lines.get(ledger)
    if lines is None or lines.first > lines.last:
        return Count(text=text, link=None, ledger=ledger, lines=None)
    return Count(text=text, link=lines_address(ledger, lines), ledger=ledger, lines=lines)


def lines_address(ledger: str, lines: LinesBehind) -> str:
    """Where a page shows these lines."""
    limit = min(LINES_SHOWN, lines.last - lines.first + 1)
    return f"/lines?name={ledger}&after={lines.first - 1}&limit={limit}"


def outcome(item: InboxItem, now: Millis) -> Sentence:
    """`Open 19 h left`, or what became of it, in the words of people."""
    if item.outcome == "system_unavailable" and item.open_until is not None:
        return Sentence("outcome.missed-open")
    if item.outcome is not None:
        return Sentence(f"outcome.{item.outcome}")
    left = _left(item, now)
    if left is None:
        return Sentence("outcome.open")
    if left >= HOUR:
        return Sentence("outcome.open-hours", {"n": number(left // HOUR)})
    return Sentence("outcome.open-minutes", {"n": number(max(1, left // MINUTE))})


def _left(item: InboxItem, now: Millis) -> int | None:
    return None if item.open_until is None else max(0, parse_iso(item.open_until) - now)


RAW: Mapping[str, Sequence[str]] = {
    "engagement-ledger": ("acted", "acked", "ignored", "system_unavailable"),
    "fitness-ledger": ("acted", "acked", "ignored", "system_unavailable", "low_sample"),
}
"""Words that stand in a ledger's lines and are others on the pages."""


def raw_words(ledger: str) -> Sequence[str]:
    """What the page of a ledger explains."""
    return RAW.get(ledger, ())


def is_waiting(item: InboxItem) -> bool:
    """Whether it asks for an answer: open, or missed while Gnomon was off and still in time."""
    missed = item.outcome == "system_unavailable" and item.open_until is not None
    return item.outcome is None or missed


def waiting(items: Sequence[InboxItem]) -> Sequence[InboxItem]:
    """What asks for an answer, newest first."""
    return _newest([each for each in items if is_waiting(each)])


def settled(items: Sequence[InboxItem], limit: int) -> Sequence[InboxItem]:
    return _newest([each for each in items if not is_waiting(each)])[:limit]


def _newest(items: Sequence[InboxItem]) -> Sequence[InboxItem]:
    return sorted(items, key=lambda each: each.emitted_at, reverse=True)
