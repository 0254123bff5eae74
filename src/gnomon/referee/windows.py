"""From decision and engagement lines to the lines of the fitness-ledger. Pure.

What is written is a function of the two ledgers and the config, whenever the writer runs: a
window's line says what stood 60 s after its end, and so does each amendment, as of the end of
a later window. A line already there is taken in (`FitnessTail`) and not made again; so a
writer that was killed at any point goes on where the ledger stops.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from msgspec.structs import asdict, replace

from gnomon.domain.errors import LedgerCorruptError
from gnomon.domain.instants import MINUTE, SECOND, Millis, iso, parse_iso
from gnomon.domain.ledgers import Line
from gnomon.domain.records import AnchoredHead
from gnomon.domain.records_referee import (
    Amendment,
    ClockStepped,
    EngagementReason,
    FitnessBody,
    Gap,
    Window,
    WindowMeasured,
)
from gnomon.referee.config import Loaded
from gnomon.referee.engagement import Engagement, Surface
from gnomon.referee.fitness import (
    Engaged,
    Tally,
    engaged,
    engaged_part,
    stall,
    window_start,
)
from gnomon.referee.fitness_tail import DECISIONS, ENGAGEMENT, FitnessTail

SETTLES_AFTER = MINUTE
"""A window is computed so long after its end: a beat, so that its last lines are written."""


@dataclass(frozen=True)
class Stay:
    """The decision lines between entering a window and leaving it, within one stretch of the
    clock. `is_last`: no later one of the same stretch is known.
    """

    tally: Tally
    stretch: int
    is_last: bool


@dataclass(frozen=True)
class Stretches:
    """In which stretch, from one setting back of the clock to the next, a line was written: the
    two ledgers count them together, from 1 (`gnomon.ledger.stretch`). Each holds the `seq` from
    which on its lines lie in the second stretch, the third, and so on.
    """

    decisions: tuple[int, ...] = ()
    engagement: tuple[int, ...] = ()

    def of_decision(self, seq: int) -> int:
        return 1 + bisect_right(self.decisions, seq)

    def of_engagement(self, seq: int) -> int:
        return 1 + bisect_right(self.engagement, seq)

    @property
    def present(self) -> int:
        """The last that either ledger has a line of, or was about to have."""
        return 1 + max(len(self.decisions), len(self.engagement))


@dataclass(frozen=True)
class Evidence:
    """What a plan rests on.

    `decisions` are the lines after `tail.decision`; reading them may raise LedgerCorruptError.
    `engagement` are all lines after `tail.after`. `cited_at` is the time of the line that
    `tail.decision` cites. `changed` says that a line which the tail cites is not there any more,
    or that the engagement could not be read to its head.
    """

    decisions: Iterable[Line]
    engagement: Sequence[Line]
    cited_at: Millis | None = None
    changed: bool = False
    stretches: Stretches = Stretches()


def plan(
    tail: FitnessTail, evidence: Evidence, loaded: Loaded, now: Millis
) -> Iterator[FitnessBody]:
    """The lines that are due, in order; each is taken into `tail` as it is given.

    Raises LedgerCorruptError when not one decision line can be read.
    """
    planner = _Planner(tail, evidence, loaded)
    window_ms = loaded.config.window_ms
    decisions = iter(evidence.decisions)
    first = next(decisions, None)
    if first is None:
        return
    yield from planner.resume(first, evidence.cited_at)
    for stay in stays(chain([first], decisions), window_ms, evidence.stretches):
        if not planner.is_over(stay, now):
            return
        stay.tally.changed |= evidence.changed
        yield from planner.measure(stay)


def stays(lines: Iterable[Line], window_ms: int, stretches: Stretches) -> Iterator[Stay]:
    """Decision lines by the window and the stretch they lie in, in order of `seq`. Each line is
    in one stay.

    A stay that cannot be read to its end is the last, and marked `changed`.
    """
    tally: Tally | None = None
    stretch = 0
    try:
        for line in lines:
            start, of = window_start(line.at, window_ms), stretches.of_decision(line.seq)
            if tally is not None and (stretch, tally.start) != (of, start):
                yield Stay(tally, stretch, is_last=of > stretch)
                tally = None
            tally, stretch = tally or Tally(start), of
            tally.take(line)
    except LedgerCorruptError:
        if tally is None:
            raise
        tally.changed = True
    if tally is not None:
        yield Stay(tally, stretch, is_last=True)


class _Planner:
    """Walks engagement lines beside the decisions, window by window."""

    def __init__(self, tail: FitnessTail, evidence: Evidence, loaded: Loaded) -> None:
        self._tail = tail
        self._lines = evidence.engagement
        self._config, self._sha256 = loaded.config, loaded.sha256
        self._state = Engagement(self._config)
        self._next = 0  # index of the first line not taken
        self._stretches = evidence.stretches
        self._ended = _ended(evidence.engagement, evidence.stretches)
        self._steps = [
            (line.seq, line.body)
            for line in evidence.engagement
            if isinstance(line.body, ClockStepped)
        ]
        self._by_window: dict[str, list[Surface]] = {}
        while self._next < len(self._lines) and self._lines[self._next].seq <= tail.engagement.seq:
            self._take_next()

    def resume(self, following: Line, cited_at: Millis | None) -> Iterator[FitnessBody]:
        """What the last window's end had still to amend when the writer was stopped."""
        start = self._tail.last_start
        if start is None:
            return
        settled = Millis(parse_iso(start) + self._config.window_ms + SETTLES_AFTER)
        stretch = self._stretches.of_decision(self._tail.decision.seq)
        is_last = self._stretches.of_decision(following.seq) > stretch
        if cited_at is not None and is_last and self._is_cut(stretch, settled):
            yield from self._amendments(cited_at)
        else:
            yield from self._amendments(self._seen_until(stretch, settled))

    def is_over(self, stay: Stay, now: Millis) -> bool:
        """Whether nothing more can come into its window in this stretch of the clock."""
        return now >= self._settled(stay) or stay.stretch < self._stretches.present

    def measure(self, stay: Stay) -> Iterator[FitnessBody]:
        """The lines of one window's end: a gap before it, itself, what it shows of others."""
        tally = stay.tally
        start = iso(tally.start)
        if self._tail.last_end is not None and start > self._tail.highest_end:
            yield self._given(self._gap(self._tail.highest_end, start))
        self._take_until(stay)
        settled = self._settled(stay)
        cut = stay.is_last and self._is_cut(stay.stretch, settled)
        as_of = tally.last_at if cut else self._seen_until(stay.stretch, settled)
        yield self._given(self._window(stay, start, as_of, cut=cut))
        yield from self._amendments(as_of)

    # --- engagement lines beside the windows -------------------------------------------------

    def _settled(self, stay: Stay) -> Millis:
        return Millis(stay.tally.start + self._config.window_ms + SETTLES_AFTER)

    def _is_cut(self, stretch: int, settled: Millis) -> bool:
        """Whether a stretch is known to have ended before a window in it could be over. Of a clock
        that was set back unnoted nobody knows, so its lines count as they are.
        """
        return self._ended.get(stretch, settled) < settled

    def _seen_until(self, stretch: int, settled: Millis) -> Millis:
        """As of when a window's surfaces are seen: so long after its end, or when the clock was set
        forward over that, since what was skipped nobody lived.
        """
        taken = self._cut().seq
        for seq, step in self._steps:
            if seq <= taken or self._stretches.of_engagement(seq) != stretch:
                continue
            if step.step_seconds > 0:
                before = parse_iso(step.wall_before)
                if before < settled <= parse_iso(step.wall_after):
                    return before
        return settled

    def _take_until(self, stay: Stay) -> None:
        """Take the engagement lines up to this window's end in this stretch. However they are
        dated, those of earlier stretches come before, and those of later ones after.
        """
        end = self._settled(stay)
        while self._next < len(self._lines):
            line = self._lines[self._next]
            stretch = self._stretches.of_engagement(line.seq)
            if stretch > stay.stretch or (stretch == stay.stretch and line.at >= end):
                return
            self._take_next()

    def _take_next(self) -> None:
        line = self._lines[self._next]
        self._next += 1
        self._state.take(line)
        surface = self._state.find(getattr(line.body, "surface_id", ""))
        if surface is not None and surface.seq == line.seq:
            start = iso(window_start(line.at, self._config.window_ms))
            self._by_window.setdefault(start, []).append(surface)

    def _cut(self) -> AnchoredHead:
        """The last engagement line taken."""
        if not self._next:
            return self._tail.engagement
        line = self._lines[self._next - 1]
        return AnchoredHead(seq=line.seq, sha256=line.sha256)

    def _was_stepped(self, stay: Stay) -> bool:
        """Whether the clock was set out of or into a window.

        A step forward out of it is dated after its end, so the next one is looked at too.
        """
        since, until = self._tail.engagement_before, self._cut().seq
        steps = [step for seq, step in self._steps if since < seq <= until]
        following = next(((seq, step) for seq, step in self._steps if seq > until), None)
        if following is not None:
            seq, step = following
            if step.step_seconds > 0 and self._stretches.of_engagement(seq) == stay.stretch:
                steps.append(step)
        return any(
            window_start(parse_iso(wall), self._config.window_ms) == stay.tally.start
            for step in steps
            for wall in (step.wall_before, step.wall_after)
        )

    # --- lines -----------------------------------------------------------------------------

    def _given(self, body: FitnessBody) -> FitnessBody:
        self._tail.take(body)
        return body

    def _gap(self, since: str, until: str) -> Gap:
        return Gap(
            window_start=since,
            window_end=until,
            window_seconds=(parse_iso(until) - parse_iso(since)) // SECOND,
            config_sha256=self._sha256,
            inputs={DECISIONS: self._tail.decision, ENGAGEMENT: self._tail.engagement},
        )

    def _window(self, stay: Stay, start: str, as_of: Millis, *, cut: bool) -> Window | Amendment:
        tally = stay.tally
        known = self._tail.standing.get(start)
        after = self._tail.engagement_before if known is None else known.after
        void: EngagementReason | None = None
        if tally.changed:
            void = "ledger_changed"
        elif known or cut or self._was_stepped(stay):
            void = "clock_step"
        measured = stall(tally, self._config, void)
        window = Window(
            window_start=start,
            window_end=iso(Millis(tally.start + self._config.window_ms)),
            window_seconds=self._config.window_seconds,
            stall_composite=measured.composite,
            stall_reason=measured.reason,
            components=measured.components,
            tick_count=tally.ticks,
            reflection_count=tally.reflections,
            executive_attempt_count=tally.attempts,
            scaffold_version=tally.versions[-1] if tally.versions else None,
            mixed_scaffold=len(set(tally.versions)) > 1,
            config_sha256=self._sha256,
            inputs={DECISIONS: tally.last, ENGAGEMENT: self._cut()},
            **asdict(self._engaged(start, after, as_of, void)),
        )
        return window if known is None else _lived_twice(known.body, window)

    def _engaged(
        self, start: str, after: int, as_of: Millis, void: EngagementReason | None
    ) -> Engaged:
        """Of the surfaces of a window, and not of another pass through its hour."""
        steady = self._state.availability.steady(as_of)
        surfaces = [each for each in self._by_window.get(start, ()) if each.seq > after]
        return engaged(surfaces, self._state, steady, void)

    def _amendments(self, as_of: Millis) -> Iterator[FitnessBody]:
        """Windows whose engagement is not any more what their standing line says."""
        for start, standing in sorted(self._tail.standing.items()):
            body = standing.body
            if body.mature:
                continue
            void = body.engagement_reason if body.engagement_reason != "low_sample" else None
            part = self._engaged(start, standing.after, as_of, void)
            if part == engaged_part(body):
                continue
            amended = replace(
                body,
                config_sha256=self._sha256,
                inputs={**body.inputs, ENGAGEMENT: self._cut()},
                **asdict(part),
            )
            yield self._given(Amendment(**asdict(amended)))


def _ended(lines: Sequence[Line], stretches: Stretches) -> dict[int, Millis]:
    """How far the wall came in each stretch whose end is noted: the next one begins by a note."""
    last: dict[int, Millis] = {}
    ended: dict[int, Millis] = {}
    for line in lines:
        stretch = stretches.of_engagement(line.seq)
        step = line.body
        begins = stretches.of_engagement(line.seq - 1) < stretch
        if begins and isinstance(step, ClockStepped) and step.step_seconds < 0:
            before = parse_iso(step.wall_before)
            ended[stretch - 1] = max(before, last.get(stretch - 1, before))
        last[stretch] = line.at
    return ended


def _lived_twice(before: WindowMeasured, again: WindowMeasured) -> Amendment:
    """The clock was set back into a window that has its line: what happened in it happened
    at two times of one name, so it counts, and measures nothing.
    """
    versions = {before.scaffold_version, again.scaffold_version}
    combined = replace(
        again,
        tick_count=before.tick_count + again.tick_count,
        reflection_count=before.reflection_count + again.reflection_count,
        executive_attempt_count=before.executive_attempt_count + again.executive_attempt_count,
        mixed_scaffold=before.mixed_scaffold or again.mixed_scaffold or len(versions) > 1,
    )
    return Amendment(**asdict(combined))
