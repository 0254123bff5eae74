"""What must hold of a home at any time, recomputed from what its files say and from what truly
happened (page 9). Pure, and shares no code with what it checks.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from gnomon.domain.instants import HOUR, MINUTE, SECOND, Millis, iso
from gnomon.domain.views import Status
from gnomon.simulate.ledger_files import PlainLine
from gnomon.simulate.story import Called, Story

METRIC_NAMES = (
    "fitness",
    "engagement",
    "stall_composite",
    "engagement_rate",
    "judgment",
    "system_unavailable",
    "acted / (",
    "repeat_rate",
    "cooldown_rate",
    "persistence_rate",
)
"""Words that must never be in what the resident is told (invariant 4)."""
FOREGROUND = "chat"
STRENGTH = ("ignored", "system_unavailable", "acked", "acted")
"""Outcomes, the weakest first (page 3)."""


def prompt_violations(prompts: Iterable[str]) -> Iterator[str]:
    """Invariant 4: the number and its names never reach a resident prompt."""
    for prompt in prompts:
        lowered = prompt.lower()
        for name in METRIC_NAMES:
            if name in lowered:
                yield f"a prompt holds {name!r}"


def duty_violations(called: Sequence[Called], duty_seconds: float) -> Iterator[str]:
    """Invariant 8: background inference in any sliding hour stays within the duty cycle.

    A call that begins within the bound may end beyond it by its own length.
    """
    work = [each for each in called if each.purpose != FOREGROUND]
    first, within = 0, 0.0
    for call in work:
        within += call.seconds
        while work[first].end <= call.end - HOUR:
            within -= work[first].seconds
            first += 1
        if within - call.seconds > duty_seconds:
            yield f"{within:.0f} s of background inference in the hour before {iso(call.end)}"


def silence_violations(story: Story, idle_minutes: int) -> Iterator[str]:
    """Invariant 8: no reflection begins while the operator has been away for the gate's time."""
    for call in story.called:
        if call.purpose != "reflection":
            continue
        # The tick decided up to some seconds, or a broken-off try, before; or before a sleep.
        moments = {call.start, story.awake_before(call.start)}
        if not any(_is_near(story, at, idle_minutes + 2) for at in moments):
            yield f"a reflection at {iso(call.start)} with nobody near"


def _is_near(story: Story, at: Millis, minutes: int) -> bool:
    last = story.near_at(at)
    return last is not None and at - last <= minutes * MINUTE


def burst_violations(
    decisions: Sequence[PlainLine], true_times: Mapping[int, Millis], tick_ms: int
) -> Iterator[str]:
    """A late tick is not made up: after sleep or a step of the clock none come in a burst."""
    seqs = (each.seq for each in decisions if each.kind == "tick")
    ticks = [true_times[seq] for seq in seqs if seq in true_times]
    most = 6  # of five periods: one at either end
    for first, last in zip(ticks, ticks[most:], strict=False):
        if last - first < 5 * tick_ms - 2 * MINUTE:
            yield f"{most + 1} ticks within {(last - first) // SECOND} s before {iso(last)}"


def status_violations(status: Status, decisions: Sequence[PlainLine]) -> Iterator[str]:
    """Invariant 1: every number shown recomputes from ledger lines."""
    ticks = [each for each in decisions if each.kind == "tick"]
    skipped = Counter(each.fields["skip_reason"] for each in ticks if each.fields["skip_reason"])
    reflections = sum(each.kind == "reflection" for each in decisions)
    if status.ticks != len(ticks):
        yield f"status says {status.ticks} ticks, the ledger {len(ticks)}"
    if status.reflections != reflections:
        yield f"status says {status.reflections} reflections, the ledger {reflections}"
    if status.skipped != dict(skipped):
        yield f"status says {status.skipped} skipped, the ledger {dict(skipped)}"


def order_violations(lines: Sequence[PlainLine]) -> Iterator[str]:
    """Invariant 2: nothing is lost, doubled or reordered."""
    for before, after in pairwise(lines):
        if after.seq != before.seq + 1 or after.prev != before.sha256:
            yield f"line {after.seq} does not follow line {before.seq}"


def turn_violations(
    runs: Iterable[PlainLine], sessions: Iterable[PlainLine], observations: Iterable[PlainLine]
) -> Iterator[str]:
    """Every committed turn has its two messages and its one observation, once."""
    turns = [_turn(each) for each in runs if each.kind == "turn"]
    messages = Counter(each.fields["turn"] for each in sessions if each.kind == "message")
    said = sum(messages.values())
    if said != 2 * len(turns):
        yield f"{len(turns)} turns, but {said} messages"
    seen = Counter(_turn(each) for each in observations if each.kind == "observation")
    for session, turn in turns:
        if seen[(session, turn)] != 1:
            yield f"turn {turn} of {session} was observed {seen[(session, turn)]} times"


def _turn(line: PlainLine) -> tuple[str, int]:
    return line.fields["session"], line.fields["turn"]


def outcome_violations(engagement: Sequence[PlainLine]) -> Iterator[str]:
    """Invariant 9: a surface has at most one standing outcome, which only ever grows stronger,
    and nothing becomes of what was never shown.
    """
    shown: dict[str, int] = {}
    for line in engagement:
        match line.kind:
            case "surface_emitted":
                surface = line.fields["surface_id"]
                if surface in shown:
                    yield f"surface {surface} was emitted twice"
                shown[surface] = -1
            case "outcome":
                yield from _outcome(line, shown)
            case _:
                pass


def _outcome(line: PlainLine, shown: dict[str, int]) -> Iterator[str]:
    surface, strength = line.fields["surface_id"], STRENGTH.index(line.fields["outcome"])
    if surface not in shown:
        yield f"line {line.seq} is an outcome of a surface that was never shown"
        return
    says_more = line.fields["downtime_seconds"] is not None
    if strength < shown[surface] and not says_more:
        yield f"line {line.seq} makes an outcome of {surface} weaker"
    if strength == shown[surface] and not says_more:
        yield f"line {line.seq} says the outcome of {surface} again"
    shown[surface] = max(shown[surface], strength)
