"""Folds one session's events, in the order of time, into turns and what the session was."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gnomon.domain.instants import Millis, iso
from gnomon.domain.records_observe import Ended, ModelTokens
from gnomon.observe.corrections import Situation, correcting_rule
from gnomon.observe.procedure import appended
from gnomon.observe.transcripts.draft import Draft, OpenFailure
from gnomon.observe.transcripts.events import Answer, Finished, ToolCall, ToolResult, UserTurn
from gnomon.observe.transcripts.values import LARGEST

MOST_HELD = 256
"""Closed turns that wait for a failed tool to succeed."""
MOST_WAITING = 512
MOST_MODELS = 64
UNKNOWN_MODEL = "unknown"

Last = Literal["nothing", "user", "answer", "call", "result", "failed", "stopped", "trouble", "end"]


@dataclass(slots=True)
class Tokens:
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_creation: int = 0

    def add(self, other: "Tokens") -> None:
        self.input += other.input
        self.output += other.output
        self.cache_read += other.cache_read
        self.cache_creation += other.cache_creation

    @property
    def all(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_creation


@dataclass(slots=True)
class Span:
    """The first and the last instant, and how the source writes them."""

    first: Millis | None = None
    last: Millis | None = None
    first_stamp: str | None = None
    last_stamp: str | None = None

    def note(self, at: Millis, stamp: str | None) -> None:
        if self.first is None or at < self.first:
            self.first, self.first_stamp = at, stamp
        if self.last is None or at > self.last:
            self.last, self.last_stamp = at, stamp


def written(at: Millis | None, stamp: str | None) -> str | None:
    """An instant as its source writes it where that is UTC, else in our own form."""
    if at is None:
        return None
    return stamp if stamp is not None and stamp.endswith("Z") else iso(at)


def _tool(call: ToolCall | None) -> str:
    return "unknown" if call is None else call.name


class SessionFold:
    """State of one session. Everything in it has a bound."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.span = Span()
        self.project: str | None = None
        self.model: str | None = None
        self.models: set[str] = set()
        self.tokens: dict[str, Tokens] = {}
        self.turns = 0
        """Those that the user worded."""
        self._begun = 0
        self.errors = 0
        self.judged = 0
        self.opaque = 0
        self.interruptions = 0
        self.rejections = 0
        self.todos = 0
        self.title: str | None = None
        self.last_line: int | None = None
        self.total = Tokens()
        self._last: Last = "nothing"
        self._worked = False
        self._open: Draft | None = None
        self._held: deque[Draft] = deque()
        self._waiting: dict[str, list[OpenFailure]] = {}

    def begin(self, turn: UserTurn, name: int) -> Iterator[Draft]:
        """A user's turn: closes the one before it. Gives the turns that are ready."""
        self._close()
        stopped = self._last == "stopped"
        rule = correcting_rule(turn.text, Situation(after_work=self._worked, after_stop=stopped))
        self.turns += 1
        self._begin(turn, name, corrected=rule is not None)
        self.title, self.last_line = turn.text, turn.line
        self._last = "user"
        yield from self._ready(MOST_HELD)

    def command(self, command: UserTurn, name: int) -> Iterator[Draft]:
        """A command of the agent's program. Work that follows is a turn of its own, which the
        user did not word; without any it was nothing. One that comes in the midst of work, as to
        change the model, begins nothing.
        """
        if self._last in {"user", "call", "result", "failed"}:
            return
        self._close()
        self._begin(command, name, corrected=False)
        yield from self._ready(MOST_HELD)

    def _begin(self, turn: UserTurn, name: int, *, corrected: bool) -> None:
        self._begun += 1
        self._open = Draft(name, turn, self._begun, corrected, self.model)

    def answer(self, answer: Answer) -> None:
        self._worked = True
        self._last = "answer"
        self.last_line = answer.line
        if self._open is not None:
            self._open.answer = answer.text
            self._open.move_end(answer.at)

    def call(self, call: ToolCall) -> None:
        draft = self._open
        if draft is not None:
            draft.count_tool(call.name)
            draft.move_end(call.at)
        if call.side:
            return
        self._worked = True
        self._last = "call"
        if draft is not None:
            draft.procedure = appended(draft.procedure, call.step)

    def result(self, result: ToolResult, call: ToolCall | None) -> None:
        """A call's result; of a call that was not seen, the tool is not known."""
        self.judged += result.failed is not None
        self.opaque += result.failed is None
        if not result.side:
            self._last = "failed" if result.failed else "result"
        if self._open is not None:
            self._open.move_end(result.at)
        if result.failed:
            self._fail(result, call)
        elif result.failed is False:
            self._succeed(_tool(call), result.at)

    def _fail(self, result: ToolResult, call: ToolCall | None) -> None:
        self.errors += 1
        if result.rejected:
            self.rejections += 1
            self._last = "stopped"
        draft = self._open
        if draft is None:
            return
        tool = _tool(call)
        failure = OpenFailure(
            tool,
            result.code,
            result.at,
            waiting=not result.rejected,
            call=None if call is None else call.said,
            error=result.error,
            line=result.line,
        )
        draft.fail(failure)
        if result.said:
            draft.corrected = True
            draft.correction = result.said
        waiting = self._waiting.setdefault(tool, [])
        if failure.waiting and len(waiting) < MOST_WAITING:
            waiting.append(failure)
        else:
            failure.waiting = False

    def _succeed(self, tool: str, at: Millis | None) -> None:
        for failure in self._waiting.pop(tool, ()):
            failure.waiting = False
            if at is not None and failure.at is not None and at >= failure.at:
                failure.recovery_ms = at - failure.at

    def spend(self, model: str | None, tokens: Tokens, *, counts: bool) -> None:
        """Tokens of the open turn; into the session's sums where this file told them first."""
        if self._open is not None:
            self._open.tokens = min(LARGEST, max(0, (self._open.tokens or 0) + tokens.all))
        if counts:
            name = model or UNKNOWN_MODEL
            if name not in self.tokens and len(self.tokens) >= MOST_MODELS:
                name = UNKNOWN_MODEL
            self.tokens.setdefault(name, Tokens()).add(tokens)

    def reply(self, model: str | None, name: int, *, side: bool) -> None:
        """A reply of a model stands in the open turn."""
        self.use_model(model, side=side)
        if self._open is not None and not side:
            self._open.model = model or self._open.model
            self._open.replies.add(name)

    def use_model(self, model: str | None, *, side: bool) -> None:
        if not model:
            return
        if len(self.models) < MOST_MODELS:
            self.models.add(model)
        if not side:
            self.model = model

    def interrupt(self) -> None:
        self.interruptions += 1
        self._last = "stopped"
        if self._open is not None:
            self._open.interrupted = True

    def trouble(self) -> None:
        self._last = "trouble"

    def finish(self, finished: Finished) -> None:
        if self._last not in {"stopped", "trouble", "nothing"}:
            self._last = "end"
        if self._open is not None and finished.duration is not None:
            self._open.duration = (self._open.duration or 0) + finished.duration

    def end(self) -> Iterator[Draft]:
        """The source ends: gives the turns that are left."""
        self._close()
        yield from self._ready(0, ended=True)

    def _close(self) -> None:
        draft, self._open = self._open, None
        if draft is None:
            return
        if draft.said.spoken or draft.tools:
            self._held.append(draft)
            self.title = self.title or draft.said.text
        else:
            self._begun -= 1

    def _ready(self, most: int, *, ended: bool = False) -> Iterator[Draft]:
        while self._held and (ended or len(self._held) > most or not self._held[0].waiting):
            yield self._held.popleft()

    def ended(self) -> Ended:
        """How it ended, by the last thing that happened in it."""
        match self._last:
            case "trouble" | "failed":
                return "error"
            case "stopped" | "call" | "result" | "user":
                return "interruption"
            case "answer" | "end":
                return "open-todos" if self.todos > 0 else "ok"
            case "nothing":
                return "unknown"

    def model_tokens(self) -> tuple[ModelTokens, ...]:
        return tuple(
            ModelTokens(
                model=model,
                input=min(LARGEST, max(0, used.input)),
                output=min(LARGEST, max(0, used.output)),
                cache_read=min(LARGEST, max(0, used.cache_read)),
                cache_creation=min(LARGEST, max(0, used.cache_creation)),
            )
            for model, used in sorted(self.tokens.items())
        )
