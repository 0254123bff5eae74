"""What the model sees of a run: bounded, and elided from the oldest end when it grows.

Pure. The rule is deterministic: the run-log keeps every result whole, so that nothing is lost
on disk (AK-2), and the same run elides the same messages when it is replayed.

First the bulk of old results and arguments goes, each marked where it stood; where that is not
enough, whole exchanges go, and the question says how many. The question itself and the newest
exchange stay. Elision works in batches, from `HIGH` of the room down to `LOW`, and a message
is looked at once: the cost of a step does not grow with the history, and a server's prompt
cache is broken once a batch rather than at each step.
"""

import re

import msgspec

from gnomon.domain.messages import Message, ToolSpec

CHARACTERS_PER_TOKEN = 3
"""An estimate on the safe side: about 4 in English prose, about 3 in code."""
HIGH = 0.9
ENOUGH = 0.7
LOW = 0.5
"""Shares of the room. Above HIGH elision begins, at LOW it ends; whole exchanges go only when
emptying the old ones does not get it below ENOUGH."""
KEPT_RESULT = 200
KEPT_ARGUMENTS = 1_000
"""Characters. What is no longer than this costs less than it tells, and stays."""
RESULT_LIMIT = 30_000
"""Characters of one tool result, at most (about 10,000 tokens)."""
RESULT_FLOOR = 400
"""Characters that a result may always have, however small the context."""
_FENCE_END = re.compile(r"<\s*/(\s*tool-data)", re.IGNORECASE)


class Context:
    """The messages of one run, with their estimated size in tokens."""

    def __init__(
        self,
        messages: tuple[Message, ...],
        *,
        specs: tuple[ToolSpec, ...],
        budget_tokens: int,
        reply_tokens: int,
    ) -> None:
        overhead = len(msgspec.json.encode(specs)) // CHARACTERS_PER_TOKEN if specs else 0
        self.messages = list(messages)
        self.room = max(0, budget_tokens - reply_tokens - overhead)
        """Tokens that the messages may take: the budget without the tools and the reply."""
        self.tokens = sum(estimate(message) for message in messages)
        self._given = len(self.messages)
        self._looked_at = 0
        self._dropped = 0
        self._question = self.messages[-1].content

    def add(self, message: Message) -> None:
        self.messages.append(message)
        self.tokens += estimate(message)

    @property
    def crowded(self) -> bool:
        """Whether it nears its room, and something is there that could be elided."""
        if self.tokens <= HIGH * self.room:
            return False
        return min(self._given, self._looked_at) < self._newest_exchange()

    def result_limit(self, results: int) -> int:
        """Characters that each of one step's `results` may have: together at most half of the
        room, so that a step can never crowd out the question it serves.
        """
        share = self.room * CHARACTERS_PER_TOKEN // (2 * max(1, results))
        return max(RESULT_FLOOR, min(RESULT_LIMIT, share))

    def elide(self) -> int:
        """Make room down to `LOW`. Returns how many messages were emptied or left out."""
        newest = self._newest_exchange()
        emptied = self._empty_bulk(newest)
        if self.tokens <= ENOUGH * self.room:
            return emptied
        return emptied + self._drop_oldest(newest)

    def _empty_bulk(self, newest: int) -> int:
        elided = 0
        while self.tokens > LOW * self.room and self._looked_at < newest:
            message = self.messages[self._looked_at]
            smaller = elided_form(message)
            if smaller is not message:
                self.messages[self._looked_at] = smaller
                self.tokens += estimate(smaller) - estimate(message)
                elided += 1
            self._looked_at += 1
        return elided

    def _drop_oldest(self, newest: int) -> int:
        """Leave out whole exchanges from the first on: a result never stands without its call."""
        end = self._given
        while end < newest and (
            self.tokens > LOW * self.room or self.messages[end].role != "assistant"
        ):
            self.tokens -= estimate(self.messages[end])
            end += 1
        dropped = end - self._given
        if dropped:
            del self.messages[self._given : end]
            self._looked_at = max(self._given, self._looked_at - dropped)
            self._dropped += dropped
            self._mark_question()
        return dropped

    def _mark_question(self) -> None:
        """Where exchanges are missing: at the end of what stands before them. A message of its
        own would put two of one role in a row, which some models' templates refuse.
        """
        at = self._given - 1
        mark = f"\n[elided: {self._dropped} earlier messages; the run-log keeps them]"
        marked = msgspec.structs.replace(self.messages[at], content=self._question + mark)
        self.tokens += estimate(marked) - estimate(self.messages[at])
        self.messages[at] = marked

    def _newest_exchange(self) -> int:
        """Where the last assistant message stands: it and its results are still at work."""
        at = len(self.messages) - 1
        while at >= self._given and self.messages[at].role != "assistant":
            at -= 1
        return max(at, self._given)


def estimate(message: Message) -> int:
    """Tokens, about. Never 0: each message has its frame."""
    arguments = sum(len(call.arguments) + len(call.name) for call in message.tool_calls)
    return 4 + (len(message.content) + arguments) // CHARACTERS_PER_TOKEN


def elided_form(message: Message) -> Message:
    """The message without its bulk, marked; the same object when it has none."""
    match message.role:
        case "tool" if len(message.content) > KEPT_RESULT:
            mark = f"[elided: {len(message.content)} characters; the run-log keeps them]"
            return msgspec.structs.replace(message, content=mark)
        case "assistant" if any(len(c.arguments) > KEPT_ARGUMENTS for c in message.tool_calls):
            calls = tuple(
                msgspec.structs.replace(
                    call, arguments=f'{{"elided":"{len(call.arguments)} characters"}}'
                )
                if len(call.arguments) > KEPT_ARGUMENTS
                else call
                for call in message.tool_calls
            )
            return msgspec.structs.replace(message, tool_calls=calls)
        case _:
            return message


def middle_cut(text: str, limit: int) -> str:
    """`text` with its middle taken out where it is longer than `limit` characters; what was
    taken is said. The start tells what it is, the end how it went.
    """
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n[{len(text) - limit} characters left out]\n{text[-tail:]}"


def as_data(tool: str, text: str, error: str | None) -> str:
    """A tool's result as the model reads it: fenced and named as data (page 4).

    A closing fence inside the text is defused, however it is written, so that no file or page
    can end the fence early and go on in another voice.
    """
    fault = f' error="{error}"' if error else ""
    inside = _FENCE_END.sub(r"<\\/\1", text)
    return f'<tool-data from="{tool}"{fault}>\n{inside}\n</tool-data>'
