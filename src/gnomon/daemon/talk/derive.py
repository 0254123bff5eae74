"""What follows from a turn's commit line: session, observation and spend lines (page 2).

Pure. The turn's one durable line carries everything; these are written after it without
waiting for a sync and, after a crash, written again where they are missing.
"""

from gnomon.domain.canonical import MAX_INTEGER
from gnomon.domain.instants import Millis, iso
from gnomon.domain.records import SessionMessage, SessionOpened, Spend, Turn
from gnomon.domain.records_observe import Observation

TITLE_CHARACTERS = 60
TASK_CHARACTERS = 500
ANSWER_CHARACTERS = 2_000


def session_title(text: str) -> str:
    """The first words of the first message, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE_CHARACTERS else line[: TITLE_CHARACTERS - 1] + "\u2026"


def session_lines(run: str, turn: Turn) -> list[SessionOpened | SessionMessage]:
    """The two messages of a turn, after the session's opening when it is its first."""
    opening = [SessionOpened(title=session_title(turn.user))] if turn.turn == 1 else []
    return [
        *opening,
        SessionMessage(
            turn=turn.turn, role="user", text=turn.user, run=run, reply_to=turn.reply_to
        ),
        SessionMessage(turn=turn.turn, role="assistant", text=turn.reply, run=run),
    ]


def observation(turn: Turn, committed_at: Millis) -> Observation:
    """One observation a turn, no model call (seed 2 section 3)."""
    known = [count for count in (turn.tokens_in, turn.tokens_out) if count is not None]
    return Observation(
        session=turn.session,
        turn=turn.turn,
        task=turn.user[:TASK_CHARACTERS],
        tools=turn.tools,
        failures=turn.failures,
        corrected=turn.corrected,
        durationMs=duration_ms(turn),
        source="gnomon",
        happened_at=iso(committed_at),
        tokens=min(max(0, sum(known)), MAX_INTEGER) if known else None,
        steps=turn.steps,
        model=turn.model,
        answer=_own_words(turn),
    )


def duration_ms(turn: Turn) -> int:
    """How long a turn says that it took. Whatever it says, what is derived can be written."""
    return min(max(0, round(turn.seconds * 1000)), MAX_INTEGER)


def _own_words(turn: Turn) -> str | None:
    """What the agent itself said. Quotes from recall are no news: what was recalled is never
    learnt again (page 4). Nor is the sentence about a model that did not answer.
    """
    only_quotes = turn.steps <= 1 and set(turn.tools) == {"recall"}
    silent = only_quotes or turn.stop_reason == "model-error"
    return None if silent else turn.reply[:ANSWER_CHARACTERS]


def missing_session_lines(
    run: str, turn: Turn, standing: list[SessionMessage], opened: bool
) -> list[SessionOpened | SessionMessage]:
    """Of `session_lines`, those that a session does not hold yet."""
    have = {(line.turn, line.role) for line in standing}
    return [
        line
        for line in session_lines(run, turn)
        if (isinstance(line, SessionOpened) and not opened)
        or (isinstance(line, SessionMessage) and (line.turn, line.role) not in have)
    ]


def missing_spend(turn_spend: list[Spend], standing: list[Spend], run: str) -> list[Spend]:
    """The spend lines of a run that the ledger does not hold yet: by count, in order."""
    return turn_spend[sum(line.run == run for line in standing) :]
