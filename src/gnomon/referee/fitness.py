"""One window's numbers from its lines. Pure, and no model is ever asked.

`stall_composite` is of what the resident decided within the window; engagement is of the
surfaces *emitted* in it, whenever they were answered (page 3).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from gnomon.domain.canonical import DECIMALS
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import GENESIS, Line
from gnomon.domain.records import (
    AnchoredHead,
    ExecutiveAttempt,
    Reflection,
    Started,
    Tick,
)
from gnomon.domain.records_referee import (
    Components,
    EngagementCounts,
    EngagementReason,
    StallReason,
    WindowMeasured,
)
from gnomon.referee.config import FitnessConfig, Similarity
from gnomon.referee.engagement import Engagement, Surface

NOTHING = AnchoredHead(seq=0, sha256=GENESIS)
"""Where a ledger is before its first line."""
LONG_AGO = Millis(0)
_WORD = re.compile(r"\w+")


def window_start(at: Millis, window_ms: int) -> Millis:
    """The start of the window that holds an instant; windows are aligned to UTC."""
    return Millis(at - at % window_ms)


@dataclass
class Tally:
    """The decision lines of one stay in one window, in order, counted.

    `changed` means that they are not, or may not be, the lines that were acknowledged.
    """

    start: Millis
    ticks: int = 0
    repeats: int = 0
    concerns: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    """Those of each reflection."""
    attempts: int = 0
    cooldowns: int = 0
    versions: list[str] = field(default_factory=list[str])
    """Scaffold versions in order, each where it came into force."""
    last: AnchoredHead = NOTHING
    last_at: Millis = LONG_AGO
    changed: bool = False

    @property
    def reflections(self) -> int:
        return len(self.concerns)

    def take(self, line: Line) -> None:
        """Count one line of the window."""
        self.last, self.last_at = AnchoredHead(seq=line.seq, sha256=line.sha256), line.at
        match line.body:
            case Tick() as tick:
                self.ticks += 1
                self._version(tick.scaffold_version)
            case Reflection() as reflection:
                # What was held back by pressure said the same again, or it would not have been.
                self.repeats += reflection.repeated or reflection.pressure == "hold"
                self.concerns.append(reflection.concerns)
                self._version(reflection.scaffold_version)
            case ExecutiveAttempt() as attempt:
                self.attempts += 1
                self.cooldowns += attempt.outcome == "cooldown"
            case Started() as started:
                self._version(started.scaffold_version)
            case _:
                pass

    def _version(self, version: str) -> None:
        if not self.versions or self.versions[-1] != version:
            self.versions.append(version)


@dataclass(frozen=True)
class Stall:
    """The composite and its parts; null together, with the reason."""

    composite: float | None
    reason: StallReason | None
    components: Components


def stall(tally: Tally, config: FitnessConfig, void: StallReason | None = None) -> Stall:
    """Seed 1, section 4.2, with page 3's denominators. `void` says why it cannot be known."""
    if void is None and tally.reflections < config.min_reflections_for_valid_window:
        void = "missing_data"
    if void is not None:
        return Stall(None, void, Components())
    persisting, concerns = lasting_concerns(tally.concerns, config.concern_similarity)
    repeat = tally.repeats / tally.reflections
    cooldown = tally.cooldowns / max(1, tally.attempts)
    concern = persisting / max(1, concerns)
    weights = config.weights
    composite = weights.repeat * repeat + weights.cooldown * cooldown + weights.concern * concern
    components = Components(
        reflection_repeat_rate=round(repeat, DECIMALS),
        executive_cooldown_rate=round(cooldown, DECIMALS),
        concern_persistence_rate=round(concern, DECIMALS),
    )
    return Stall(round(composite, DECIMALS), None, components)


def lasting_concerns(reflections: list[tuple[str, ...]], similarity: Similarity) -> tuple[int, int]:
    """How many concerns of a window last, and how many there are.

    A concern lasts when it was there before the window's last reflection and is still in it.
    Wordings are gathered in order: each joins the first concern whose first wording it shares.
    """
    gathered = _Gathered(similarity)
    earlier: set[int] = set()
    latest: set[int] = set()
    for number, concerns in enumerate(reflections, start=1):
        found = latest if number == len(reflections) else earlier
        found.update(map(gathered.concern, concerns))
    return len(earlier & latest), gathered.count


class _Gathered:
    """The concerns of a window, each by the first wording that named it."""

    def __init__(self, similarity: Similarity) -> None:
        self._similarity = similarity
        self._first: list[_Words] = []
        self._known: dict[str, int] = {}

    @property
    def count(self) -> int:
        return len(self._first)

    def concern(self, wording: str) -> int:
        """The number of the concern that a wording names."""
        number = self._known.get(wording)
        if number is None:
            number = self._known[wording] = self._joined(_Words.of(wording))
        return number

    def _joined(self, words: "_Words") -> int:
        for number, known in enumerate(self._first):
            if words.name_one_with(known, self._similarity):
                return number
        self._first.append(words)
        return len(self._first) - 1


@dataclass(frozen=True)
class _Words:
    """A wording's words, in order and as a set; case and marks do not count."""

    ordered: list[str]
    unordered: frozenset[str]

    @classmethod
    def of(cls, wording: str) -> "_Words":
        ordered = _WORD.findall(wording.lower())
        return cls(ordered, frozenset(ordered))

    def name_one_with(self, other: "_Words", similarity: Similarity) -> bool:
        if self.ordered == other.ordered:
            return True
        shared = len(self.unordered & other.unordered)
        smaller = min(len(self.unordered), len(other.unordered))
        return shared >= similarity.shared_words and shared >= similarity.shared_part * smaller


def same_concern(one: str, other: str, similarity: Similarity) -> bool:
    """Whether two wordings are one concern: equal words, or enough of them shared."""
    return _Words.of(one).name_one_with(_Words.of(other), similarity)


class Engaged(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a window's line that may still change: fields as in `WindowMeasured`."""

    engagement_rate: float | None
    engagement_reason: EngagementReason | None
    engagement_counts: EngagementCounts
    system_unavailable_count: int
    system_unavailable_seconds: int
    pending: int
    mature: bool
    rule_counts: EngagementCounts
    synthetic_counts: EngagementCounts


def engaged(
    surfaces: Iterable[Surface],
    state: Engagement,
    steady: int,
    void: EngagementReason | None = None,
) -> Engaged:
    """The engagement of a window's surfaces as it stands at a steady time."""
    of_window = list(surfaces)
    judged = [surface for surface in of_window if surface.judged]
    tests = [surface for surface in of_window if surface.synthetic]
    rules = [surface for surface in of_window if not surface.judged and not surface.synthetic]
    counts = counted(judged)
    away = [surface for surface in judged if surface.outcome == "system_unavailable"]
    value, reason = rate(counts, state.config.M_min)
    return Engaged(
        engagement_rate=None if void else value,
        engagement_reason=void or reason,
        engagement_counts=counts,
        system_unavailable_count=len(away),
        system_unavailable_seconds=sum(surface.down_ms for surface in away) // 1_000,
        pending=sum(surface.outcome is None for surface in judged),
        mature=all(state.is_mature(surface, steady) for surface in of_window),
        rule_counts=counted(rules),
        synthetic_counts=counted(tests),
    )


def rate(counts: EngagementCounts, fewest: int) -> tuple[float | None, EngagementReason | None]:
    """Acted / (acted + acked + ignored), or null when they are fewer than `fewest`."""
    if counts.total < fewest:
        return None, "low_sample"
    return round(counts.acted / counts.total, DECIMALS), None


def counted(surfaces: Iterable[Surface]) -> EngagementCounts:
    outcomes = [surface.outcome for surface in surfaces]
    return EngagementCounts(
        acted=outcomes.count("acted"),
        acked=outcomes.count("acked"),
        ignored=outcomes.count("ignored"),
    )


def engaged_part(body: WindowMeasured) -> Engaged:
    """What a line says of engagement, for comparison."""
    return Engaged(**{name: getattr(body, name) for name in Engaged.__struct_fields__})
