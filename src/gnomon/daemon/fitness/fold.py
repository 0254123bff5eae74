"""From lines of the fitness-ledger to what people are shown of them. Pure.

The last line for a window stands. Nothing is measured here: values are picked, counted
together and averaged, and a value that is not known stays unknown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from msgspec.structs import asdict

from gnomon.domain.canonical import DECIMALS
from gnomon.domain.instants import DAY, HOUR, Millis, iso, parse_iso
from gnomon.domain.ledgers import Line
from gnomon.domain.records import AnchoredHead
from gnomon.domain.records_referee import Amendment, EngagementCounts, Gap, Window
from gnomon.domain.views_referee import (
    EngagementTrend,
    FitnessGap,
    FitnessWindow,
    LinesBehind,
    Pooled,
    PooledVersion,
    StallTrend,
)
from gnomon.referee.engagement import Surface
from gnomon.referee.pooled import PooledEngagement

TREND_DAYS = 28
HOURS = 24


@dataclass
class StandingWindow:
    """A window's standing line. `first` is what its own first line used of each ledger: where
    the next window's lines begin, however much later this one was amended.
    """

    seq: int
    at: Millis
    body: Window | Amendment
    first: Mapping[str, AnchoredHead]

    @property
    def start(self) -> Millis:
        return parse_iso(self.body.window_start)


@dataclass(frozen=True)
class Folded:
    """Standing windows and gaps, oldest first."""

    windows: Sequence[StandingWindow]
    gaps: Sequence[FitnessGap]


def folded(lines: Iterable[Line]) -> Folded:
    """What stands, of a range of the ledger."""
    windows: dict[str, StandingWindow] = {}
    gaps: list[FitnessGap] = []
    for line in lines:
        match line.body:
            case Window() | Amendment() as body:
                known = windows.get(body.window_start)
                first = known.first if known is not None else body.inputs
                windows[body.window_start] = StandingWindow(line.seq, line.at, body, first)
            case Gap() as gap:
                gaps.append(_gap(line, gap))
            case _:
                pass
    ordered = [windows[start] for start in sorted(windows)]
    return Folded(ordered, sorted(gaps, key=lambda gap: gap.window_start))


def _gap(line: Line, gap: Gap) -> FitnessGap:
    return FitnessGap(
        seq=line.seq,
        at=iso(line.at),
        window_start=gap.window_start,
        window_end=gap.window_end,
        window_seconds=gap.window_seconds,
    )


def shown(windows: Sequence[StandingWindow], since: Millis) -> tuple[FitnessWindow, ...]:
    """The windows that begin at `since` or later, each with the lines behind it. Give one
    window more than is wanted: where the first one's lines begin is known from the one before.
    """
    found: list[FitnessWindow] = []
    before: StandingWindow | None = None
    for window in windows:
        if window.start >= since:
            found.append(_window(window, before))
        before = window
    return tuple(found)


def _window(window: StandingWindow, before: StandingWindow | None) -> FitnessWindow:
    lines = {
        name: LinesBehind(first=_begin(name, before), last=head.seq)
        for name, head in window.body.inputs.items()
    }
    return FitnessWindow(
        seq=window.seq,
        at=iso(window.at),
        kind="amendment" if isinstance(window.body, Amendment) else "window",
        lines=lines,
        **asdict(window.body),
    )


def _begin(name: str, before: StandingWindow | None) -> int:
    head = before.first.get(name) if before is not None else None
    return 1 if head is None else head.seq + 1


# --- going in circles ---------------------------------------------------------------------------


def stall_trend(windows: Sequence[StandingWindow], now: Millis) -> StallTrend:
    """The newest window's value, when it is of the last hour or so, and means over the valid
    windows of a day and a week that were measured by the same rules.
    """
    newest = windows[-1] if windows else None
    if newest is not None:
        rules = newest.body.config_sha256
        windows = [each for each in windows if each.body.config_sha256 == rules]
    if newest is not None and parse_iso(newest.body.window_end) < now - 2 * HOUR:
        newest = None
    return StallTrend(
        last=newest.body.stall_composite if newest else None,
        reason=newest.body.stall_reason if newest else None,
        window_start=newest.body.window_start if newest else None,
        day=_mean(windows, Millis(now - DAY), now),
        week=_mean(windows, Millis(now - 7 * DAY), now),
        hours=tuple(
            _mean(windows, Millis(now - (ago + 1) * HOUR), Millis(now - ago * HOUR))
            for ago in reversed(range(HOURS))
        ),
    )


def _mean(windows: Sequence[StandingWindow], since: Millis, until: Millis) -> float | None:
    """Of the windows that end within a span."""
    values = [
        window.body.stall_composite
        for window in windows
        if window.body.stall_composite is not None
        and since < parse_iso(window.body.window_end) <= until
    ]
    return round(fmean(values), DECIMALS) if values else None


# --- engagement ---------------------------------------------------------------------------------


def engagement_trend(
    windows: Sequence[StandingWindow], now: Millis, days: int, least: int
) -> EngagementTrend:
    """The share used of what was brought in the `days` before the end of each of 28 days."""
    ends = [Millis(now - ago * DAY) for ago in reversed(range(TREND_DAYS))]
    counts = [_counts(windows, Millis(end - days * DAY), end) for end in ends]
    return EngagementTrend(
        days=days,
        ends=tuple(map(iso, ends)),
        rates=tuple(
            round(each.acted / each.total, DECIMALS) if each.total >= least else None
            for each in counts
        ),
    )


def _counts(windows: Sequence[StandingWindow], since: Millis, until: Millis) -> EngagementCounts:
    those = [window.body.engagement_counts for window in windows if since < window.start <= until]
    return EngagementCounts(
        acted=sum(each.acted for each in those),
        acked=sum(each.acked for each in those),
        ignored=sum(each.ignored for each in those),
    )


def lines_of(surfaces: Sequence[Surface], head: int) -> LinesBehind | None:
    """Lines of the engagement-ledger from the oldest surface's on: outcomes come after it."""
    return LinesBehind(first=surfaces[0].seq, last=head) if surfaces else None


def pooled_view(pool: PooledEngagement, least: int, lines: LinesBehind | None = None) -> Pooled:
    """Below the least sample there is no rate: that few say nothing (page 3)."""
    enough = pool.answered >= least
    return Pooled(
        days=pool.days,
        acted=pool.acted,
        acked=pool.acked,
        ignored=pool.ignored,
        rate=pool.rate if enough else None,
        interval=pool.interval if enough else None,
        unavailable=pool.unavailable,
        open=pool.open,
        reason=None if enough else "low_sample",
        lines=lines,
    )


def version_view(version: str, pool: PooledEngagement, least: int) -> PooledVersion:
    enough = pool.answered >= least
    return PooledVersion(
        scaffold_version=version,
        acted=pool.acted,
        acked=pool.acked,
        ignored=pool.ignored,
        rate=pool.rate if enough else None,
        interval=pool.interval if enough else None,
        unavailable=pool.unavailable,
        open=pool.open,
    )
