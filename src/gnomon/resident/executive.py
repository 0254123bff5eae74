"""Whether the executive attempts something, and how an attempt ends. Pure.

In mode `full` a desired action that maps to a kind of work is an attempt, and every attempt is
a line. The same work within 20 minutes is a cooldown. Making artifacts comes with a later
part: until then an attempt runs nothing, and says `no-progress` (docs/adr/0602).
"""

from dataclasses import dataclass

import msgspec

from gnomon.domain.instants import MINUTE, Millis
from gnomon.domain.records import AttemptOutcome, DesiredAction, ExecutiveAttempt, Mode
from gnomon.resident.reflection import ReflectionOutput

COOLDOWN_MILLIS = 20 * MINUTE
"""Seed 1: `ACTION_COOLDOWN_MS`."""
TITLE_CHARACTERS = 120
QUERY_CHARACTERS = 260

KINDS: dict[DesiredAction, str] = {
    "research": "research-brief",
    "plan": "plan-note",
    "consolidate": "synthesis-note",
    "reflect": "memory-research",
    "observe": "memory-research",
    "create": "draft",
}
"""What a desired action asks for; `rest` and `hold` ask for nothing."""


class Attempted(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that the cooldown remembers. `at` is in UTC milliseconds."""

    action_kind: str
    title: str
    query: str
    at: int


@dataclass(frozen=True)
class Decision:
    """An attempt and what the cooldown knows after it. A cooldown hit does not renew itself."""

    attempt: ExecutiveAttempt
    remembered: tuple[Attempted, ...]


def decide(
    mode: Mode,
    action: DesiredAction,
    output: ReflectionOutput,
    remembered: tuple[Attempted, ...],
    now: Millis,
) -> Decision | None:
    """The attempt that a reflection leads to; null outside mode `full` and for an action that
    maps to nothing. `mode` is the effective one.
    """
    kind = KINDS.get(action)
    if mode != "full" or kind is None:
        return None
    title, query = _subject(output)
    # A clock that was set back must not stretch the cooldown: what lies ahead is dropped too.
    fresh = tuple(past for past in remembered if 0 <= now - past.at < COOLDOWN_MILLIS)
    cools = any((p.action_kind, p.title, p.query) == (kind, title, query) for p in fresh)
    outcome: AttemptOutcome = "cooldown" if cools else "no-progress"
    if not cools:
        fresh += (Attempted(action_kind=kind, title=title, query=query, at=now),)
    attempt = ExecutiveAttempt(action_kind=kind, title=title, query=query, outcome=outcome)
    return Decision(attempt, fresh)


def _subject(output: ReflectionOutput) -> tuple[str, str]:
    """Title and query of the work: the active item's, else the thread's, else the focus."""
    item = output.active_item
    title = item.title if item else output.thread_title or output.focus
    query = output.problem_statement or output.next_step or output.focus
    return title[:TITLE_CHARACTERS], query[:QUERY_CHARACTERS]
