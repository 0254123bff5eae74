"""What was seen of work done: one record a turn, one a session read from elsewhere.

Numbers that a source cannot tell are null, which is not 0 (page 8).
"""

from typing import Literal

import msgspec

from gnomon.domain.body import Body

Ended = Literal["ok", "error", "interruption", "open-todos", "unknown"]
"""How a session ended. `unknown`: the source does not say."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that failed. `code` is a stable family (`exit-1`, `rejected_by_user`).

    `recovery_ms` is the time to the next success of the same tool in that session; null
    when there was none, or when the source has no times. `call` is what was run (a shell's
    command, else the input) and `error` the telling line of the answer, both bounded; `line`
    is where that answer stands in the observation's file. Null where they are not known.
    """

    tool: str
    code: str
    recovery_ms: int | None = None
    call: str | None = None
    error: str | None = None
    line: int | None = None


class ModelTokens(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one model used. `input` excludes `cache_read`: what is billed apart stays apart."""

    model: str
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_creation: int = 0


class Observation(Body, frozen=True, tag="observation"):
    """One turn of work, by this agent or another one (seed 2 section 3; `durationMs` too).

    `turn` counts from 1 in its session. Null means that the source cannot tell. `corrected`
    says that this turn's user text corrects what the agent did before it.

    `turn_id` names the turn in its source; where two lines carry the same one, the later
    stands (a turn that was read while it was still going on). `answer` is the end of the
    turn in the agent's words, bounded. `path` and `line` open the source. `procedure` is
    the ordered sequence of tools, repeats in a row written once, bounded.
    """

    session: str
    turn: int
    task: str
    tools: dict[str, int]
    failures: tuple[Failure, ...]
    corrected: bool
    durationMs: int | None  # noqa: N815 - the seed's own field name
    source: str
    happened_at: str | None
    tokens: int | None = None
    steps: int | None = None
    model: str | None = None
    project: str | None = None
    answer: str | None = None
    path: str | None = None
    line: int | None = None
    procedure: tuple[str, ...] = ()
    turn_id: str | None = None
    interrupted: bool = False
    correction: str | None = None
    """The user's correcting words where they are not the task (inside a rejected call)."""
    session_at: str | None = None
    """When its session began, where the source dates that and not the turn."""


class ImportedSession(Body, frozen=True, tag="imported-session"):
    """One session as one file tells it. The last line of (`source`, `session`, `path`) stands.

    `tokens` holds only what no other imported file told before (a resumed copy repeats its
    origin), so sums over sessions are right. `title` is the last task, bounded.
    """

    source: str
    session: str
    path: str
    project: str | None
    models: tuple[str, ...]
    first_at: str | None
    last_at: str | None
    ended: Ended
    tokens: tuple[ModelTokens, ...]
    user_turns: int
    tool_errors: int | None
    interruptions: int | None
    rejections: int | None
    title: str | None = None
    last_line: int | None = None
