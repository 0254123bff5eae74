"""What is answered about fitness, and the ledger lines that every number rests on.

Names and meanings are promises to other programs, as in `views`.
"""

from typing import Literal

from gnomon.domain.json_value import Fields
from gnomon.domain.records import AnchoredHead, Sha256
from gnomon.domain.records_referee import (
    Components,
    EngagementCounts,
    EngagementReason,
    StallReason,
)
from gnomon.domain.views import View


class LedgerPage(View, frozen=True):
    """Lines in order, each with its envelope and `sha256`. `head` is the ledger's last `seq`;
    `next_after` asks for the next page, null at the end.
    """

    name: str
    lines: tuple[Fields, ...]
    head: int
    next_after: int | None = None


class LinesBehind(View, frozen=True):
    """The lines of a ledger that a window rests on: `seq` from `first` to `last`, both in it.
    `first` above `last`: none. A reader takes those that concern the window: for engagement
    the surfaces emitted in it and, later in the range, their outcomes.
    """

    first: int
    last: int


class FitnessWindow(View, frozen=True):
    """A window's standing line, field by field as the ledger has it (`seq`, `at` and `kind` are
    the line's own), and `lines`: what it rests on, by ledger.
    """

    seq: int
    at: str
    kind: Literal["window", "amendment"]
    window_start: str
    window_end: str
    window_seconds: int
    stall_composite: float | None
    stall_reason: StallReason | None
    components: Components
    engagement_rate: float | None
    engagement_reason: EngagementReason | None
    engagement_counts: EngagementCounts
    system_unavailable_count: int
    system_unavailable_seconds: int
    pending: int
    mature: bool
    rule_counts: EngagementCounts
    synthetic_counts: EngagementCounts
    tick_count: int
    reflection_count: int
    executive_attempt_count: int
    scaffold_version: str | None
    mixed_scaffold: bool
    config_sha256: Sha256
    inputs: dict[str, AnchoredHead]
    lines: dict[str, LinesBehind]


class FitnessGap(View, frozen=True):
    """A span in which it did not run at all."""

    seq: int
    at: str
    window_start: str
    window_end: str
    window_seconds: int


class Pooled(View, frozen=True):
    """The model's surfaces emitted in the last `days`, by the outcome that stands. `rate` is
    acted / (acted + acked + ignored), null with its `reason` below the least sample; `interval`
    holds it in 95 of 100 cases. `unavailable` and `open` ones are in neither. `lines` are those
    of the engagement-ledger that hold them and what became of them; null where there are none.
    """

    days: int
    acted: int
    acked: int
    ignored: int
    rate: float | None
    interval: tuple[float, float] | None
    unavailable: int
    open: int
    reason: EngagementReason | None = None
    lines: LinesBehind | None = None


class PooledVersion(View, frozen=True):
    """The same of the surfaces that one scaffold version emitted."""

    scaffold_version: str
    acted: int
    acked: int
    ignored: int
    rate: float | None
    interval: tuple[float, float] | None
    unavailable: int
    open: int


class Forecast(View, frozen=True):
    """After how many days, at `surfaces_per_day`, a difference of `points` percentage points
    would show. Null where nothing was brought.
    """

    points: int
    surfaces_per_day: float | None
    days: int | None


class StallTrend(View, frozen=True):
    """Going in circles, 0 fresh to 1 stuck: the newest window's value (null: `reason`), means
    over the valid windows of a day and a week, and the last 24 hours' values, oldest first.
    """

    last: float | None
    reason: StallReason | None
    window_start: str | None
    day: float | None
    week: float | None
    hours: tuple[float | None, ...]


class EngagementTrend(View, frozen=True):
    """Of what was brought in the `days` before the end of each of the last days, oldest first,
    the share that was used; windows count by their start. Null where the sample is too small.
    """

    days: int
    ends: tuple[str, ...]
    rates: tuple[float | None, ...]


class FitnessRules(View, frozen=True):
    """What fitness-config.json says of how it is counted, and its hash."""

    window_seconds: int
    horizon_seconds: int
    least_sample: int
    least_reflections: int
    repeat_weight: float
    cooldown_weight: float
    concern_weight: float
    config_sha256: Sha256


class Written(View, frozen=True):
    """What one run of the fitness writer added to its ledger, as of `now`."""

    now: str
    windows: int
    amendments: int
    gaps: int


class Fitness(View, frozen=True):
    """How useful it was. `windows` are oldest first; those of `since`, else of a week."""

    now: str
    windows: tuple[FitnessWindow, ...]
    gaps: tuple[FitnessGap, ...]
    pooled: tuple[Pooled, ...]
    before: Pooled
    """The 7 days before the last 7: what they are compared with."""
    versions: tuple[PooledVersion, ...]
    forecast: Forecast
    stall: StallTrend
    trends: tuple[EngagementTrend, ...]
    rules: FitnessRules
    written: Written | None = None
    """What the writer added just before, where that was asked for."""


class RetuneAnswer(View, frozen=True):
    """`figures` are what the answer rests on; `advice` is empty where nothing need be done."""

    question: str
    answer: Literal["yes", "no", "unknown"]
    figures: dict[str, float | str | None]
    advice: str


class Retuned(View, frozen=True):
    """The four questions of seed 1, section 13, of the last `days`."""

    days: int
    answers: tuple[RetuneAnswer, ...]
