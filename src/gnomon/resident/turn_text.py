"""What a turn says and what it sends: pure text and bounds."""

import re
from collections.abc import Sequence

from gnomon.agent.context import estimate
from gnomon.agent.run import RunResult, StopReason
from gnomon.domain.errors import GnomonError
from gnomon.domain.instants import in_words
from gnomon.domain.messages import Message
from gnomon.domain.views import Source

HISTORY_SHARE = 0.5
"""Of the context: the rest is for the system prompt, the tools, and what this turn does."""
ASIDE_CHARACTERS = 400
ASIDE_TOKENS = 80

_ENDINGS: dict[StopReason, str] = {
    "max-loops": "I stopped after the most steps that one turn may take. "
    "Say 'go on' to let me continue.",
    "repeated-call": "I stopped because I was about to run the same call again and again. "
    "Tell me what to do differently.",
    "invalid-calls": "I stopped because I could not form a tool call that can be carried out. "
    "A larger model does this reliably: `gnomon model list`.",
    "length": "My reply was cut off at its length limit. Ask for a shorter one, or for a part.",
    "model-error": "The model gave no usable answer.",
    "cancelled": "This turn was cancelled.",
}


def reply_text(result: RunResult) -> str:
    """What the operator reads: the model's words, and why it ended where that is not plain.

    An error of the model says what happened and what to do next.
    """
    ending = _ENDINGS.get(result.stop_reason, "")
    if result.error is not None:
        ending = str(result.error)
    text = result.text.strip()
    if result.stop_reason == "done" and not text:
        ending = "The model ended its turn without a word. Ask again, or in other words."
    return "\n\n".join(part for part in (text, ending) if part)


def fitting(history: Sequence[Message], context_tokens: int) -> tuple[Message, ...]:
    """The newest messages of a session that fit beside a turn, beginning with a user's one.

    Older ones are left out whole: the session's file keeps them, and `recall` finds them.
    """
    room = int(context_tokens * HISTORY_SHARE)
    kept: list[Message] = []
    for message in reversed(history):
        room -= estimate(message)
        if room < 0:
            break
        kept.append(message)
    kept.reverse()
    first = next((at for at, m in enumerate(kept) if m.role == "user"), len(kept))
    return tuple(kept[first:])


def source_name(source: Source) -> str:
    """A source as one string, for the run-log: where it stands, else its session."""
    if source.path is None:
        return f"{source.source}/{source.session}"
    return source.path if source.line is None else f"{source.path}:{source.line}"


def aside(text: str) -> str | None:
    """The demo model's words on one line, up to the last whole sentence; null when it said
    nothing.
    """
    words = " ".join(text.split())
    if not words:
        return None
    sentences = re.match(r".*[.!?](?=\s|$)", words[:ASIDE_CHARACTERS])
    if sentences:
        return sentences[0]
    return words if len(words) <= ASIDE_CHARACTERS else words[: ASIDE_CHARACTERS - 1] + "…"


def unanswered(what: str, error: GnomonError) -> str:
    """What did not work, why, and what to do: for the operator."""
    return f"{what} {error}"


def resting(until: str) -> str:
    """Why nothing but the history answers, and how to end that. `until`: an instant, or words."""
    return f"It is paused until {in_words(until)}; `gnomon resume` lets it go on."
