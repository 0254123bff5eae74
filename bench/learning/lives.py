"""Two experiments: one edit of known worth put to every rule, and 90 days of edits."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from bench.learning.judging import Trial, Version
from bench.learning.rules import Compared
from bench.learning.windows import counted
from bench.learning.world import A_DAY, Hour, Operator, Pace, World
from gnomon.daemon.change.refine_time import RECENT
from gnomon.domain.instants import HOUR
from gnomon.domain.records_change import Basis
from gnomon.referee.config import FitnessConfig
from gnomon.refiner.readiness import DAYS, HIGH, LOW

BEFORE_DAYS = 4
"""Lived before a single edit: a baseline of both metrics at the busy pace."""
A_QUARTER = 90
"""Days of a history."""
EDITS = (
    (0.0, 0.70),
    (-0.05, 0.08),
    (0.05, 0.06),
    (-0.10, 0.06),
    (0.10, 0.04),
    (-0.20, 0.04),
    (0.20, 0.02),
)
"""What a refiner's edits are worth, and how often: most do nothing, more harm than help."""
CONFIG = FitnessConfig()
"""What windows are counted by; the rules compared differ in how they judge alone."""


@dataclass(frozen=True)
class Decided:
    """`worth` is the edit's true effect, `hours` the wall time from coming into force to the
    verdict.
    """

    worth: float
    kept: bool
    basis: Basis | None
    hours: int


def one_edit(
    pace: Pace,
    operator: Operator,
    effects: Sequence[float],
    rng: Random,
    rules: Mapping[str, Compared],
) -> Iterator[tuple[str, Decided]]:
    """An agent that ran for some days, and then an edit: the same life, once for each effect,
    as each of the rules decides on it.
    """
    world, incumbent, index = World(pace, rng, operator), Version(0.0), 0
    since = world.at
    while world.at - since < BEFORE_DAYS * A_DAY:
        incumbent.take(index, counted(world.live(0.0), CONFIG))
        index += 1
    for effect in effects:
        yield from _edited(world.fork(), incumbent.fork(), Version(effect), index, rules)


def _edited(
    world: World,
    incumbent: Version,
    candidate: Version,
    index: int,
    rules: Mapping[str, Compared],
) -> Iterator[tuple[str, Decided]]:
    worth, applied_at = candidate.quality, world.at
    world.live(worth)  # The hour in which it came into force is mixed: no evidence.
    index += 1
    pending = {name: Trial(incumbent, candidate, applied_at, rule) for name, rule in rules.items()}
    while pending:
        for name, trial in list(pending.items()):
            if (verdict := trial.look(index, world.at)) is not None:
                del pending[name]
                hours = world.at - applied_at
                yield name, Decided(worth, verdict.outcome == "kept", verdict.basis, hours)
        candidate.take(index, counted(world.live(worth), CONFIG))
        index += 1


@dataclass
class History:
    """What came of 90 days. `quality` is what the prompt is worth at the end, 0 at the
    beginning; a change that is still under judgment is not counted.
    """

    quality: float = 0.0
    decided: list[Decided] = field(default_factory=list[Decided])


def one_history(pace: Pace, compared: Compared, seed: str, days: int = A_QUARTER) -> History:
    """A refiner proposes when it is due and nothing is under judgment; a rule decides. The
    same seed meets the same operator and the same edits, whatever the rule.
    """
    life = _Life(World(pace, Random(f"world {seed}")), compared, Random(f"edits {seed}"))
    until = life.world.at + days * A_DAY
    while life.world.at < until:
        life.hour()
    life.history.quality = life.standing.quality
    return life.history


class _Life:
    """An agent whose instructions are edited, hour by hour."""

    def __init__(self, world: World, compared: Compared, edits: Random) -> None:
        self.world = world
        self.history = History()
        self.standing = Version(0.0)
        """What is in force, or would be again if the trial failed."""
        self._compared = compared
        self._edits = edits
        self._trial: Trial | None = None
        self._pool = _Pool()
        self._index = 0
        self._since = self._proposed_at = world.at

    def hour(self) -> None:
        """A verdict, a proposal, and the hour itself. An hour in which the instructions change
        is mixed, and no evidence.
        """
        restored, proposed = self._judged(), self._propose()
        in_force = self.standing if self._trial is None else self._trial.candidate
        hour = self.world.live(in_force.quality)
        self._pool.take(hour)
        if not (restored or proposed):
            in_force.take(self._index, counted(hour, CONFIG))
        self._index += 1

    def _judged(self) -> bool:
        """Whether a verdict restored what was there before."""
        trial = self._trial
        if trial is None or (verdict := trial.look(self._index, self.world.at)) is None:
            return False
        kept = verdict.outcome == "kept"
        worth = trial.candidate.quality - trial.incumbent.quality
        hours = self.world.at - trial.applied_at
        self.history.decided.append(Decided(worth, kept, verdict.basis, hours))
        self.standing = trial.candidate if kept else trial.incumbent
        self._trial = None
        return not kept

    def _propose(self) -> bool:
        at = self.world.at
        if self._trial is not None or at - self._proposed_at < CONFIG.refiner_every_hours:
            return False
        if not self._ready(at):
            return False
        [worth] = self._edits.choices([w for w, _ in EDITS], [share for _, share in EDITS])
        quality = self.world.operator.bounded(self.standing.quality + worth)
        self._trial = Trial(self.standing, Version(quality), at, self._compared)
        self._proposed_at = at
        return True

    def _ready(self, at: int) -> bool:
        """The gate before refinement: days of windows, engagement within bounds, and a baseline
        that was measured lately.
        """
        needed = self._compared.waits_for
        lately = self.standing.measured[-needed:] if needed else [at]
        return (
            at - self._since >= DAYS * A_DAY
            and len(lately) >= needed
            and lately[0] >= at - RECENT // HOUR
            and LOW <= self._pool.rate(at) <= HIGH
        )


class _Pool:
    """The engagement of the last days: what the gate asks for. Surfaces of the last day are
    not settled, and left out.
    """

    def __init__(self) -> None:
        self._at: list[int] = []
        self._acted = [0]
        self._brought = [0]

    def take(self, hour: Hour) -> None:
        self._at.append(hour.at)
        acted = sum(surface.acted_after is not None for surface in hour.surfaces)
        self._acted.append(self._acted[-1] + acted)
        self._brought.append(self._brought[-1] + len(hour.surfaces))

    def rate(self, at: int) -> float:
        since = bisect_left(self._at, at - DAYS * A_DAY)
        until = bisect_left(self._at, at - A_DAY)
        brought = self._brought[until] - self._brought[since]
        return (self._acted[until] - self._acted[since]) / max(1, brought)
