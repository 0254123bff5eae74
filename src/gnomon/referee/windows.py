"""From decision and engagement lines to the lines of the fitness-ledger. Pure.

What is written is a function of the two ledgers and the config, whenever the writer runs: a
window's line says what stood 60 s after its end, and so does each amendment, as of the end of
a later window. A line already there is taken in (`FitnessTail`) and not made again; so a
writer that was killed at any point goes on where the ledger stops.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

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

Next = Literal["later", "earlier", "none"]


@dataclass(frozen=True)
class Stay:
    """The decision lines between entering a window and leaving it. `followed`: whether the
    next line lies in a later window, or in an earlier one (the clock was set back).
    """

    tally: Tally
    followed: Next
    set_back: bool = False
    """Whether the clock had been set back just before it."""


@dataclass(frozen=True)
class Evidence:
    """What a plan rests on.

    `decisions` are the lines after `tail.decision`; reading them may raise LedgerCorruptError.
    `engagement` are all lines after `tail.after`. `cited_at` is the time of the line that
    `tail.decision` cites. `set_backs` are the `seq` of decision lines before which the clock had
    been set back, also where they are dated later than the line before. `changed` says that a
    line which the tail cites is not there any more, or that the engagement could not be read to
    its head.
    """

    decisions: Iterable[Line]
    engagement: Sequence[Line]
    cited_at: Millis | None = None
    changed: bool = False
    set_backs: frozenset[int] = frozenset()


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
    for stay in stays(chain([first], decisions), window_ms, evidence.set_backs):
        planner.enter(stay)
        if not planner.is_over(stay, now):
            return
        stay.tally.changed |= evidence.changed
        yield from planner.measure(stay)


def stays(
    lines: Iterable[Line], window_ms: int, set_backs: frozenset[int] = frozenset()
) -> Iterator[Stay]:
    """Decision lines by the window they lie in, in order of `seq`. Each line is in one stay.

    A stay that cannot be read to its end is the last, and marked `changed`.
    """
    tally: Tally | None = None
    began = 0
    try:
        for line in lines:
            start = window_start(line.at, window_ms)
            if tally is None:
                tally, began = Tally(start), line.seq
            elif start != tally.start:
                later: Next = "later" if start > tally.start else "earlier"
                yield Stay(tally, later, began in set_backs)
                tally, began = Tally(start), line.seq
            tally.take(line)
    except LedgerCorruptError:
        if tally is None:
            raise
        tally.changed = True
    if tally is not None:
        yield Stay(tally, "none", began in set_backs)


def _set_backs(lines: Sequence[Line]) -> list[int]:
    """Indices of the lines with which the clock had been set back: those that say so, and those
    that are dated before the one that they follow.
    """
    return [
        index
        for index, line in enumerate(lines)
        if (isinstance(line.body, ClockStepped) and line.body.step_seconds < 0)
        or (index > 0 and line.at < lines[index - 1].at)
    ]


class _Planner:
    """Walks engagement lines beside the decisions, window by window."""

    def __init__(self, tail: FitnessTail, evidence: Evidence, loaded: Loaded) -> None:
        self._tail = tail
        self._lines = evidence.engagement
        self._config, self._sha256 = loaded.config, loaded.sha256
        self._state = Engagement(self._config)
        self._next = 0  # index of the first line not taken
        self._set_backs = _set_backs(evidence.engagement)
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
        as_of = Millis(parse_iso(start) + self._config.window_ms + SETTLES_AFTER)
        if cited_at is not None and following.at < parse_iso(start):
            as_of = cited_at
        yield from self._amendments(as_of)

    def enter(self, stay: Stay) -> None:
        """Leave behind what was written before the clock was set back into this stay's time."""
        last_start = self._tail.last_start
        goes_back = last_start is not None and iso(stay.tally.start) < last_start
        if goes_back or stay.set_back:
            self._take_to_set_back(stay)

    def is_over(self, stay: Stay, now: Millis) -> bool:
        """Whether nothing more can come into its window by then: its time has passed, or passed
        before the clock was set back.
        """
        settled = self._end(stay)
        return (
            stay.followed == "earlier"
            or now >= settled
            or any(
                index >= self._next and self._came_from(index) >= settled
                for index in self._set_backs
            )
        )

    def measure(self, stay: Stay) -> Iterator[FitnessBody]:
        """The lines of one window's end: a gap before it, itself, what it shows of others."""
        tally = stay.tally
        start = iso(tally.start)
        if self._tail.last_end is not None and start > self._tail.highest_end:
            yield self._given(self._gap(self._tail.highest_end, start))
        self._take_until(stay)
        as_of = Millis(tally.start + self._config.window_ms + SETTLES_AFTER)
        if stay.followed == "earlier":
            as_of = tally.last_at
        yield self._given(self._window(stay, start, as_of))
        yield from self._amendments(as_of)

    # --- engagement lines beside the windows -------------------------------------------------

    def _end(self, stay: Stay) -> Millis:
        return Millis(stay.tally.start + self._config.window_ms + SETTLES_AFTER)

    def _take_until(self, stay: Stay) -> None:
        """Take the engagement lines up to this window's end, and none that were written after
        the clock went back out of it.
        """
        end = self._end(stay)
        while self._next < len(self._lines):
            if self._lines[self._next].at >= end or self._leads_out(self._next, stay, end):
                return
            self._take_next()

    def _take_to_set_back(self, stay: Stay) -> None:
        """What was written until the clock went back comes first, though it may be dated later
        than all of the stay. Else it would be waited for until that time comes again, a year
        perhaps, and all that follows it with it.
        """
        for back in [index for index in self._set_backs if index >= self._next]:
            if self._lines[back].at > stay.tally.last_at:
                return
            while self._next <= back:
                self._take_next()
            if self._next >= len(self._lines) or self._lines[self._next].at < self._end(stay):
                return

    def _leads_out(self, index: int, stay: Stay, end: Millis) -> bool:
        """Whether the clock was set back with this line, to before this window or from after it."""
        if index not in self._set_backs:
            return False
        return self._lines[index].at < stay.tally.start or self._came_from(index) >= end

    def _came_from(self, index: int) -> Millis:
        """How far the wall had come when it was set back with this line."""
        step = self._lines[index].body
        if isinstance(step, ClockStepped):
            return parse_iso(step.wall_before)
        return self._lines[index - 1].at

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

    def _was_stepped(self, start: Millis) -> bool:
        """Whether the clock was set out of or into a window.

        A step forward out of it is dated after its end, so the next step is looked at too.
        """
        since, until = self._tail.engagement_before, self._cut().seq
        steps = [step for seq, step in self._steps if since < seq <= until]
        following = next((step for seq, step in self._steps if seq > until), None)
        if following is not None and following.step_seconds > 0:
            steps.append(following)
        return any(
            window_start(parse_iso(wall), self._config.window_ms) == start
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

    def _window(self, stay: Stay, start: str, as_of: Millis) -> Window | Amendment:
        tally = stay.tally
        known = self._tail.standing.get(start)
        void: EngagementReason | None = None
        if tally.changed:
            void = "ledger_changed"
        elif known or stay.followed == "earlier" or self._was_stepped(tally.start):
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
            **asdict(self._engaged(start, as_of, void)),
        )
        return window if known is None else _lived_twice(known.body, window)

    def _engaged(self, start: str, as_of: Millis, void: EngagementReason | None) -> Engaged:
        steady = self._state.availability.steady(as_of)
        return engaged(self._by_window.get(start, ()), self._state, steady, void)

    def _amendments(self, as_of: Millis) -> Iterator[FitnessBody]:
        """Windows whose engagement is not any more what their standing line says."""
        for start, standing in sorted(self._tail.standing.items()):
            body = standing.body
            if body.mature:
                continue
            void = body.engagement_reason if body.engagement_reason != "low_sample" else None
            part = self._engaged(start, as_of, void)
            if part == engaged_part(body):
                continue
            amended = replace(
                body,
                config_sha256=self._sha256,
                inputs={**body.inputs, ENGAGEMENT: self._cut()},
                **asdict(part),
            )
            yield self._given(Amendment(**asdict(amended)))


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
