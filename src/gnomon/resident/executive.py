"""Whether the executive attempts something. Pure; `resident.work` carries it out.

In mode `full` a desired action that maps to a kind of work is an attempt, and every attempt is
a line. The same work within 20 minutes is a cooldown.
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
class Work:
    """A piece of work that a reflection asks for."""

    action_kind: str
    title: str
    query: str

    def attempt(self, outcome: AttemptOutcome, artifact: str | None = None) -> ExecutiveAttempt:
        """The ledger's line of how it ended."""
        return ExecutiveAttempt(
            action_kind=self.action_kind,
            title=self.title,
            query=self.query,
            outcome=outcome,
            artifact=artifact,
        )


@dataclass(frozen=True)
class Decision:
    """Work, whether it `cools` down still, and what the cooldown knows after it. A cooldown hit
    does not renew itself.
    """

    work: Work
    cools: bool
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
    work = Work(kind, *_subject(output))
    # A clock that was set back must not stretch the cooldown: what lies ahead is dropped too.
    fresh = tuple(past for past in remembered if 0 <= now - past.at < COOLDOWN_MILLIS)
    cools = any(Work(p.action_kind, p.title, p.query) == work for p in fresh)
    if not cools:
        fresh += (Attempted(action_kind=kind, title=work.title, query=work.query, at=now),)
    return Decision(work, cools, fresh)


def _subject(output: ReflectionOutput) -> tuple[str, str]:
    """Title and query of the work: the active item's, else the thread's, else the focus."""
    item = output.active_item
    title = item.title if item else output.thread_title or output.focus
    query = output.problem_statement or output.next_step or output.focus
    return title[:TITLE_CHARACTERS], query[:QUERY_CHARACTERS]
