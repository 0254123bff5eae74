"""The measure as the refiner reads it: standing windows, and what became of earlier proposals.
Pure.

Its own present proposal is judged on windows that it must not see (seed 1, section 5.4): where
something is unjudged, nothing after its activation is told, neither a line written later nor a
window that reaches beyond it. The engagement-ledger is not read here at all.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from gnomon.domain.instants import Millis, parse_iso
from gnomon.domain.ledgers import Line
from gnomon.domain.plain_text import one_line
from gnomon.domain.records_change import Basis, Delta, VerdictOutcome
from gnomon.domain.records_referee import Amendment, Window

DAYS = 7
HOURS = 12
MOST_PAST = 12
"""Earlier proposals that are told, the newest."""
LEGEND = (
    "Stall: 0 is fresh, 1 is stuck; lower is better. Used: what the operator made use of, of what "
    "was brought to them and has settled; higher is better."
)
_SUMMARY, _REASON = 120, 160
"""Characters."""


@dataclass(frozen=True)
class Past:
    """A proposal that has ended. `outcome` is the verdict's, null where it never got so far;
    `status` and `reason` then say how it ended. `summary` is one line of its diff.
    """

    target: str
    status: str
    outcome: VerdictOutcome | None
    basis: Basis | None
    delta: Delta
    summary: str
    reason: str | None


def fitness_view(lines: Iterable[Line], past: Sequence[Past], until: Millis | None) -> str:
    """In words. `lines` are the fitness-ledger's of the last days, in its order; `until` is
    when what is still unjudged came into force, null where nothing is.
    """
    windows = standing(lines, until)
    told = [
        LEGEND,
        "",
        "By day:",
        *(_day(date, each) for date, each in _by_date(windows)),
        "",
        f"The last {HOURS} measured hours, stall:",
        ", ".join(
            f"{each.window_start[11:16]} {_rate(each.stall_composite)}" for each in windows[-HOURS:]
        )
        or "none",
        "",
        "Earlier proposals, the newest last:",
        *(_past(each) for each in past[-MOST_PAST:]),
    ]
    return "\n".join(told if past else [*told, "none"])


def standing(lines: Iterable[Line], until: Millis | None) -> list[Window | Amendment]:
    """The last line of each window, oldest first; of none that is, or was written, after
    `until`. Windows in which the instructions changed tell of neither.
    """
    found = dict[str, Window | Amendment]()
    for line in lines:
        body = line.body
        if not isinstance(body, Window | Amendment):
            continue
        if until is not None and (line.at > until or parse_iso(body.window_end) > until):
            continue
        found[body.window_start] = body
    return [found[start] for start in sorted(found) if not found[start].mixed_scaffold]


def _by_date(
    windows: Sequence[Window | Amendment],
) -> list[tuple[str, list[Window | Amendment]]]:
    dates = dict[str, list[Window | Amendment]]()
    for window in windows:
        dates.setdefault(window.window_start[:10], []).append(window)
    return list(dates.items())[-DAYS:]


def _day(date: str, windows: Sequence[Window | Amendment]) -> str:
    parts = [window.components for window in windows]
    mature = [window.engagement_counts for window in windows if window.mature]
    acted, total = sum(each.acted for each in mature), sum(each.total for each in mature)
    return (
        f"{date}: stall {_mean(window.stall_composite for window in windows)} (repeats "
        f"{_mean(each.reflection_repeat_rate for each in parts)}, cooldowns "
        f"{_mean(each.executive_cooldown_rate for each in parts)}, lasting concerns "
        f"{_mean(each.concern_persistence_rate for each in parts)}), {len(windows)} hours; used "
        f"{acted} of {total}"
    )


def _mean(values: Iterable[float | None]) -> str:
    known = [value for value in values if value is not None]
    return _rate(fmean(known) if known else None)


def _rate(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def _past(past: Past) -> str:
    how = past.outcome or past.status
    moved = ", ".join(
        f"{name} {value:+.3f}"
        for name, value in (("stall", past.delta.stall), ("used", past.delta.engagement))
        if value is not None
    )
    why = one_line(past.reason, _REASON) if past.reason else ""
    facts = "; ".join(filter(None, [past.basis or "", moved, why]))
    return (
        f"{past.target} {how}{f' ({facts})' if facts else ''}: {one_line(past.summary, _SUMMARY)}"
    )
