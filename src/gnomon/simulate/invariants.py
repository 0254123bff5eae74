"""What must hold of a home at any time, recomputed from its ledgers alone (page 9).

Shares no code with what it checks beyond the reading of lines.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise

from gnomon.domain.instants import HOUR, MINUTE, Millis, iso
from gnomon.domain.ledgers import Line
from gnomon.domain.records import Reflection, SessionMessage, Spend, Tick, Turn
from gnomon.domain.records_observe import Observation
from gnomon.domain.views import Status

METRIC_NAMES = (
    "fitness",
    "engagement",
    "stall_composite",
    "engagement_rate",
    "judgment",
    "system_unavailable",
)
"""Words that must never be in what the resident is told (invariant 4)."""


def prompt_violations(prompts: Iterable[str]) -> Iterator[str]:
    """Invariant 4: the number and its names never reach a resident prompt."""
    for prompt in prompts:
        lowered = prompt.lower()
        for name in METRIC_NAMES:
            if name in lowered:
                yield f"a prompt holds {name!r}"


def duty_violations(spends: list[Line], duty_seconds: float) -> Iterator[str]:
    """Invariant 8: background inference in any sliding hour stays within the duty cycle.

    A call that begins within the bound may end beyond it by its own length.
    """
    work = [
        (line.at, line.body.seconds)
        for line in spends
        if isinstance(line.body, Spend) and line.body.purpose != "chat"
    ]
    first, within = 0, 0.0
    for at, seconds in work:
        within += seconds
        while work[first][0] <= at - HOUR:
            within -= work[first][1]
            first += 1
        if within - seconds > duty_seconds:
            yield f"{within:.0f} s of background inference in the hour before {iso(at)}"


def silence_violations(
    decisions: list[Line], presence: list[Millis], idle_minutes: int
) -> Iterator[str]:
    """Invariant 8: no reflection while the operator has been away for the gate's time."""
    signs = iter([*presence, None])
    following = next(signs)
    last: Millis | None = None
    for line in decisions:
        if not isinstance(line.body, Reflection):
            continue
        while following is not None and following <= line.at:
            last, following = following, next(signs)
        # A reflection began up to some seconds before its line was written.
        if last is None or line.at - last > (idle_minutes + 2) * MINUTE:
            yield f"a reflection at {iso(line.at)} with nobody near"


def status_violations(status: Status, decisions: list[Line]) -> Iterator[str]:
    """Invariant 1: every number shown recomputes from ledger lines."""
    ticks = [line.body for line in decisions if isinstance(line.body, Tick)]
    skipped = Counter(tick.skip_reason for tick in ticks if tick.skip_reason is not None)
    reflections = sum(isinstance(line.body, Reflection) for line in decisions)
    if status.ticks != len(ticks):
        yield f"status says {status.ticks} ticks, the ledger {len(ticks)}"
    if status.reflections != reflections:
        yield f"status says {status.reflections} reflections, the ledger {reflections}"
    if status.skipped != dict(skipped):
        yield f"status says {status.skipped} skipped, the ledger {dict(skipped)}"


def order_violations(lines: list[Line]) -> Iterator[str]:
    """Invariant 2: nothing is lost, doubled or reordered."""
    for before, after in pairwise(lines):
        if after.seq != before.seq + 1 or after.prev != before.sha256:
            yield f"line {after.seq} does not follow line {before.seq}"


def turn_violations(
    turns: list[Turn], messages: list[SessionMessage], observations: list[Observation]
) -> Iterator[str]:
    """Every committed turn has its two messages and its one observation, once."""
    if len(messages) != 2 * len(turns):
        yield f"{len(turns)} turns, but {len(messages)} messages"
    seen = Counter((each.session, each.turn) for each in observations)
    for turn in turns:
        if seen[(turn.session, turn.turn)] != 1:
            times = seen[(turn.session, turn.turn)]
            yield f"turn {turn.turn} of {turn.session} was observed {times} times"
