"""Rules of judgment: from what was measured before and after a change to a verdict. Pure.

A rule is one small function, chosen by its name in fitness-config.json. It sees windows alone:
no text, no author, no prediction. What is no evidence (a mixed window, one with too few
reflections, engagement that is still provisional) comes to it as null.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from gnomon.domain.records_change import Basis, Delta, Means
from gnomon.domain.verdict_reasons import Margins
from gnomon.referee.config import FitnessConfig

DEV_WINDOWS = 2
"""`dev_mode`: so many windows on each side, and no margin (seed 1, section 13, row 7)."""

Outcome = Literal["kept", "rolled_back", "inconclusive", "pending"]


@dataclass(frozen=True)
class WindowFacts:
    """One window. `start` is its `window_start`; a metric that is no evidence is null."""

    start: str
    stall: float | None
    engagement: float | None


@dataclass(frozen=True)
class Evidence:
    """Windows of the incumbent and of the candidate, oldest first."""

    before: Sequence[WindowFacts]
    after: Sequence[WindowFacts]
    deadline_passed: bool


@dataclass(frozen=True)
class Verdict:
    """`reasons` are codes: they say which comparison decided, or what is missing."""

    outcome: Outcome
    basis: Basis | None
    stall: Means
    engagement: Means
    reasons: tuple[str, ...]

    @property
    def delta(self) -> Delta:
        return Delta(stall=_delta(self.stall), engagement=_delta(self.engagement))


def windows_needed(config: FitnessConfig) -> int:
    """K: how many valid windows each side needs, of each metric."""
    return DEV_WINDOWS if config.dev_mode else config.k_windows


def margins(config: FitnessConfig) -> Margins:
    """What must be exceeded to be better, or to be worse."""
    return Margins(0.0 if config.dev_mode else config.delta, config.epsilon)


Rule = Callable[[Evidence, FitnessConfig], Verdict]


def seed_rule(evidence: Evidence, config: FitnessConfig) -> Verdict:
    """Seed 1, section 5.4, as page 3 settles it.

    Each metric is compared over its own last K valid windows before and first K after. Where
    both can be, it keeps iff engagement improves by more than delta and stall is not worse by
    more than epsilon. Engagement that cannot be computed by the deadline leaves it to stall
    alone. A tie is no improvement, also where delta is 0.
    """
    k, delta = windows_needed(config), margins(config).delta
    stall = _means(evidence, lambda window: window.stall, k)
    engagement = _means(evidence, lambda window: window.engagement, k)
    stall_moved, engagement_moved = _delta(stall), _delta(engagement)

    def verdict(outcome: Outcome, basis: Basis | None, *reasons: str) -> Verdict:
        return Verdict(outcome, basis, stall, engagement, reasons)

    if stall_moved is not None and engagement_moved is not None:
        not_better = [] if engagement_moved > delta else ["engagement-not-better"]
        worse = ["stall-worse"] if stall_moved > config.epsilon else []
        if not_better or worse:
            return verdict("rolled_back", "both", *not_better, *worse)
        return verdict("kept", "both", "engagement-better")
    missing = [
        name
        for name, moved in (
            ("stall-missing", stall_moved),
            ("engagement-missing", engagement_moved),
        )
        if moved is None
    ]
    if not evidence.deadline_passed:
        return verdict("pending", None, *missing)
    if stall_moved is None:
        return verdict("inconclusive", None, *missing)
    if stall_moved < -delta:
        return verdict("kept", "stall_only", "stall-better", *missing)
    return verdict("rolled_back", "stall_only", "stall-not-better", *missing)


RULES: Mapping[str, Rule] = {"seed": seed_rule}
"""By the name that fitness-config.json gives as `rule`."""


def _means(evidence: Evidence, of: Callable[[WindowFacts], float | None], k: int) -> Means:
    before = [window for window in evidence.before if of(window) is not None][-k:]
    after = [window for window in evidence.after if of(window) is not None][:k]
    return Means(
        before=_mean(before, of) if len(before) == k else None,
        after=_mean(after, of) if len(after) == k else None,
        windows_before=tuple(window.start for window in before),
        windows_after=tuple(window.start for window in after),
    )


def _mean(windows: Sequence[WindowFacts], of: Callable[[WindowFacts], float | None]) -> float:
    return round(fmean(value for window in windows if (value := of(window)) is not None), 6)


def _delta(means: Means) -> float | None:
    if means.before is None or means.after is None:
        return None
    return round(means.after - means.before, 6)
