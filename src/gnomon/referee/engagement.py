"""What became of each surface: one standing outcome, and who may still change it. Pure.

Within a surface's horizon the strongest outcome stands: acted, acked, system_unavailable,
ignored. The horizon is awake gateway time; three horizons of wall time end it as well. After
it nothing changes. Times are steady times of `availability`, unless they are called wall.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import get_args

from gnomon.domain.errors import TrustError, UsageError
from gnomon.domain.instants import DAY, SECOND, Millis
from gnomon.domain.ledgers import Line
from gnomon.domain.records import Origin, SurfaceKind
from gnomon.domain.records_referee import Outcome, OutcomeKind, OutcomeSource, SurfaceEmitted
from gnomon.referee.availability import CRASH, Availability, Away
from gnomon.referee.config import FitnessConfig

STRENGTH: dict[OutcomeKind | None, int] = {
    None: 0,
    "ignored": 1,
    "system_unavailable": 2,
    "acked": 3,
    "acted": 4,
}
OPERATOR_SOURCES: dict[OutcomeKind, frozenset[OutcomeSource]] = {
    "acted": frozenset(get_args(OutcomeSource)) - {"timeout", "gateway_shutdown"},
    "acked": frozenset({"dashboard_click", "cli"}),
}
"""What the operator can do, and by which ways. All else is the gateway's own to say."""
APPEND_GRACE = 5 * SECOND
"""An outcome decided within the horizon counts although its line was stamped so much later:
the append may have waited for the disk."""
REMEMBERED = 28 * DAY
"""How long a settled surface is remembered: what people are shown pools 28 days (page 3)."""


@dataclass
class Surface:
    """A surface and what stands for it.

    `at` is the wall's time of emission and `window` is found by it; `emitted` is steady,
    `awake_then` awake time. `down_ms` is how long the gateway was down within the horizon.
    `unsaid` is an absence of which the ledger still owes this surface a line.
    """

    surface_id: str
    seq: int
    at: Millis
    kind: SurfaceKind
    title: str
    artifact: str | None
    scaffold_version: str
    origin: Origin
    synthetic: bool
    emitted: int
    awake_then: int
    outcome: OutcomeKind | None = None
    source: OutcomeSource | None = None
    decided_at: Millis | None = None
    down_ms: int = 0
    downtime_said: bool = False
    unsaid: Away | None = None

    @property
    def judged(self) -> bool:
        """Whether it is evidence about a prompt: what the model brought, and no test."""
        return self.origin == "model" and not self.synthetic


class Engagement:
    """The fold of an engagement-ledger, kept and caught up line by line.

    `open` are the surfaces whose outcome may still change; `settled`, in the order in which
    they were settled, those of the last 28 days whose outcome may not.
    """

    def __init__(self, config: FitnessConfig) -> None:
        self.config = config
        self.availability = Availability()
        self.open: dict[str, Surface] = {}
        self.settled: dict[str, Surface] = {}
        self.seq = 0
        """Of the last line taken."""

    def take(self, line: Line) -> None:
        """Take the next line of the ledger. Cost: the open surfaces, for a gateway line."""
        away = self.availability.take(line)
        self.seq = line.seq
        match line.body:
            case SurfaceEmitted() as emitted:
                self._emitted(line, emitted)
            case Outcome() as outcome:
                self._outcome(line, outcome)
            case _:
                self._lower()
                if away is not None and away.down:
                    self._absent(away)

    def take_all(self, lines: Iterable[Line]) -> "Engagement":
        for line in lines:
            self.take(line)
        return self

    def find(self, surface_id: str) -> Surface | None:
        return self.open.get(surface_id) or self.settled.get(surface_id)

    def surfaces(self) -> Iterator[Surface]:
        """All that are remembered, settled ones first."""
        yield from self.settled.values()
        yield from self.open.values()

    def awake_ms(self, surface: Surface, steady: int) -> int:
        """Awake time that a surface has had."""
        return max(0, self.availability.awake(steady) - surface.awake_then)

    def is_past(self, surface: Surface, steady: int, grace: int = 0) -> bool:
        """Whether its horizon is over: awake time is used up, or three times as much wall."""
        if self.awake_ms(surface, steady) >= self.config.horizon_ms + grace:
            return True
        return steady - surface.emitted >= self.config.wall_ms + grace

    def is_mature(self, surface: Surface, steady: int) -> bool:
        """Whether nothing can change what stands for it. Past its horizon it still waits for the
        beat that says what became of it.
        """
        if surface.outcome is None:
            return False
        return surface.outcome == "acted" or self.is_past(surface, steady)

    def open_until(self, surface: Surface, now: Millis) -> Millis:
        """The wall's time when its horizon ends if the machine stays awake from now on."""
        steady = self.availability.steady(now)
        left = self.config.horizon_ms - self.awake_ms(surface, steady)
        wall = self.config.wall_ms - (steady - surface.emitted)
        return Millis(now + max(0, min(left, wall)))

    def settle(self, now: Millis) -> None:
        """Put aside what no longer changes; what is owed a line or an outcome stays open."""
        steady = self.availability.steady(now)
        for surface in list(self.open.values()):
            if surface.outcome is None or surface.unsaid is not None:
                continue
            if self.is_mature(surface, steady):
                self.settled[surface.surface_id] = self.open.pop(surface.surface_id)
        forgotten = steady - REMEMBERED - self.config.wall_ms
        while self.settled and next(iter(self.settled.values())).emitted < forgotten:
            del self.settled[next(iter(self.settled))]

    # --- folding ---------------------------------------------------------------------------

    def _emitted(self, line: Line, emitted: SurfaceEmitted) -> None:
        if self.find(emitted.surface_id) is not None:
            return
        now = self.availability.now
        self.open[emitted.surface_id] = Surface(
            surface_id=emitted.surface_id,
            seq=line.seq,
            at=line.at,
            kind=emitted.surface_kind,
            title=emitted.title,
            artifact=emitted.artifact,
            scaffold_version=emitted.scaffold_version,
            origin=emitted.origin,
            synthetic=emitted.synthetic,
            emitted=now,
            awake_then=self.availability.awake(now),
        )

    def _outcome(self, line: Line, said: Outcome) -> None:
        surface = self.open.get(said.surface_id)
        if surface is None:
            return
        if said.downtime_seconds is not None:
            surface.downtime_said, surface.unsaid = True, None
        ours = said.source in {"timeout", "gateway_shutdown"}
        if not ours and self.is_past(surface, self.availability.now, APPEND_GRACE):
            return
        if STRENGTH[said.outcome] > STRENGTH[surface.outcome]:
            surface.outcome, surface.source, surface.decided_at = (
                said.outcome,
                said.source,
                line.at,
            )

    def _lower(self) -> None:
        """Times taken before a dated-back stop or a step of the clock was known ran ahead."""
        now = self.availability.now
        awake = self.availability.awake(now)
        for surface in self.open.values():
            surface.emitted = min(surface.emitted, now)
            surface.awake_then = min(surface.awake_then, awake)

    def _absent(self, away: Away) -> None:
        """An absence is over. The gateway has just begun again, so awake time is what it was
        when the absence began.
        """
        marks = away.cause != CRASH or (
            away.milliseconds > self.config.unavailable_gap_seconds * SECOND
        )
        for surface in self.open.values():
            horizon_ends = surface.emitted + self.config.wall_ms
            if self.awake_ms(surface, away.end) >= self.config.horizon_ms:
                continue
            surface.down_ms += away.within(surface.emitted, horizon_ends)
            if away.start >= horizon_ends or surface.unsaid is not None:
                continue
            unmarked = surface.outcome is None and marks and surface.emitted < away.start
            half_said = surface.outcome == "system_unavailable" and not surface.downtime_said
            if unmarked or half_said:
                surface.unsaid = away


# --- which lines to append ----------------------------------------------------------------


def decide_outcome(
    state: Engagement, surface_id: str, outcome: OutcomeKind, source: OutcomeSource, now: Millis
) -> Outcome | None:
    """The line for what the operator did; null when something as strong stands already.

    The caller has made sure that it is the operator, and that a sleep or a step of the clock
    up to `now` is on the ledger. Raises TrustError for an outcome or source that is the
    gateway's own to say, UsageError for a surface that is unknown or past its horizon.
    """
    if source not in OPERATOR_SOURCES.get(outcome, frozenset()):
        raise TrustError(
            f"Nobody can say {outcome!r} by {source!r}.",
            next_step="You can use or dismiss a surface; the rest the gateway sees itself.",
            outcome=outcome,
            source=source,
        )
    surface = state.find(surface_id)
    if surface is None:
        raise UsageError(
            f"There is no surface {surface_id!r} that could be answered.",
            next_step="`gnomon inbox list` shows those that are there.",
            surface_id=surface_id,
            reason="unknown",
        )
    if STRENGTH[surface.outcome] >= STRENGTH[outcome]:
        return None
    if surface_id in state.settled or state.is_past(surface, state.availability.steady(now)):
        raise UsageError(
            f"The time of {surface.title!r} is over, and what stands for it stays.",
            next_step="Answer what is still open in `gnomon inbox list`.",
            surface_id=surface_id,
            reason="past-horizon",
        )
    return Outcome(surface_id=surface_id, outcome=outcome, source=source)


def sweep(state: Engagement, now: Millis) -> list[Outcome]:
    """The timeouts that are due: a horizon of awake time gone by is `ignored`, three of wall
    without one awake `system_unavailable`. What needs no line is settled on the way.
    """
    state.settle(now)
    steady = state.availability.steady(now)
    found = (_timeout(state, surface, steady) for surface in state.open.values())
    return [outcome for outcome in found if outcome is not None]


def at_stop(state: Engagement, now: Millis) -> list[Outcome]:
    """At an orderly stop or a pause, before its line: what is due, then `system_unavailable`
    with `alive_seconds` for every surface without an outcome.
    """
    steady = state.availability.steady(now)
    due = sweep(state, now)
    said = {outcome.surface_id for outcome in due}
    return due + [
        _unavailable(surface, alive=steady - surface.emitted)
        for surface in state.open.values()
        if surface.outcome is None and surface.surface_id not in said
    ]


def at_start(state: Engagement, now: Millis) -> list[Outcome]:
    """At a start or a resumption, after its lines were taken: for each surface that lived
    through the absence, the line with its `downtime_seconds`. Asked again after a crash in
    between, it gives what is still missing.
    """
    state.settle(now)
    return [
        _unavailable(surface, alive=away.start - surface.emitted, downtime=away.milliseconds)
        for surface in state.open.values()
        if (away := surface.unsaid) is not None
    ]


def _timeout(state: Engagement, surface: Surface, steady: int) -> Outcome | None:
    if surface.outcome is not None or surface.unsaid is not None:
        return None
    awake = state.awake_ms(surface, steady)
    if awake >= state.config.horizon_ms:
        return Outcome(surface_id=surface.surface_id, outcome="ignored", source="timeout")
    if steady - surface.emitted >= state.config.wall_ms:
        return Outcome(
            surface_id=surface.surface_id,
            outcome="system_unavailable",
            source="timeout",
            alive_seconds=awake // SECOND,
        )
    return None


def _unavailable(surface: Surface, *, alive: int, downtime: int | None = None) -> Outcome:
    return Outcome(
        surface_id=surface.surface_id,
        outcome="system_unavailable",
        source="gateway_shutdown",
        alive_seconds=max(0, alive) // SECOND,
        downtime_seconds=None if downtime is None else downtime // SECOND,
    )
