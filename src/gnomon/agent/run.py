"""What a run is given, what it keeps while it works, and what comes of it.

The caller makes a `Working`, hands it to `gnomon.agent.loop.run`, and holds on to it: after a
cancellation it still tells what was done (`working.result("cancelled", now)`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from gnomon.agent.context import Context
from gnomon.agent.prompts import Prompt
from gnomon.domain.errors import ModelError
from gnomon.domain.manifest import Manifest
from gnomon.domain.messages import Message, ModelReply, ToolSpec
from gnomon.domain.ports import Clock, Emit, Model, Tools
from gnomon.domain.records import Failure, RunStep

StopReason = Literal[
    "done", "max-loops", "repeated-call", "invalid-calls", "length", "model-error", "cancelled"
]
"""Why a run ended. `done`: the model answered without asking for a tool. `max-loops` is the
circuit-breaker. `repeated-call`: the same calls with the same arguments again and again.
`invalid-calls`: nothing but calls that cannot be carried out. `length`: the reply was
cut, at its limit or by the server's filter."""


@dataclass(frozen=True)
class Task:
    """One invocation: who runs, with which words, on which conversation.

    `messages` ends with what is to be answered; the system prompt is apart. `specs` are the
    tools that could be offered; only those that the manifest grants exist for the agent.
    `purpose` stands on the spend line (`chat`, `executive`).
    """

    run_id: str
    system: Prompt
    messages: tuple[Message, ...]
    specs: tuple[ToolSpec, ...] = ()
    purpose: str = "chat"
    parent_run: str | None = None
    change_id: str | None = None


@dataclass(frozen=True)
class Ports:
    """All that the loop may ask of the world.

    `log` takes a run-log line and does not wait for it. `on_text` takes the reply's pieces as
    the model writes them; a piece belongs to whichever step is at work.
    """

    model: Model
    tools: Tools
    clock: Clock
    emit: Emit
    log: Callable[[RunStep], None]
    on_text: Callable[[str], None] | None = None


@dataclass(frozen=True)
class RunResult:
    """What came of a run.

    `text` is the last thing that the model said; it may be empty when `stop_reason` is not
    `done`. `steps` counts model replies, `tools` the calls carried out by name, and `failures`
    what went wrong with its stable code. Token counts are null where the model never said.
    `error` is set with `model-error`. `messages` leaves the system prompt out, and ends with
    calls that were not carried out when a bound ended the run.
    """

    text: str
    stop_reason: StopReason
    steps: int
    tools: dict[str, int]
    failures: tuple[Failure, ...]
    messages: tuple[Message, ...]
    tokens_in: int | None
    tokens_out: int | None
    seconds: float
    model: str | None
    error: ModelError | None = None


@dataclass
class Working:
    """The working set of one run. Only the loop changes it."""

    manifest: Manifest
    task: Task
    started: float
    """`Clock.monotonic()` when the run began."""
    granted: dict[str, ToolSpec] = field(init=False)
    context: Context = field(init=False)
    text: str = ""
    steps: int = 0
    tools: dict[str, int] = field(default_factory=dict[str, int])
    failures: list[Failure] = field(default_factory=list[Failure])
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str | None = None
    error: ModelError | None = None

    def __post_init__(self) -> None:
        self.granted = {s.name: s for s in self.task.specs if s.name in self.manifest.tools}
        self.context = Context(
            (Message(role="system", content=self.task.system.text), *self.task.messages),
            specs=tuple(self.granted.values()),
            budget_tokens=self.manifest.model.context_budget,
            reply_tokens=self.manifest.model.max_tokens,
        )

    def take(self, reply: ModelReply) -> None:
        """Add a reply to the conversation and to the counts."""
        self.steps += 1
        self.model = reply.model
        self.text = reply.content or self.text
        if reply.tokens_in is not None:
            self.tokens_in = (self.tokens_in or 0) + reply.tokens_in
        if reply.tokens_out is not None:
            self.tokens_out = (self.tokens_out or 0) + reply.tokens_out
        self.context.add(
            Message(role="assistant", content=reply.content, tool_calls=reply.tool_calls)
        )

    def fail(self, error: ModelError) -> None:
        """Note that the model gave no usable reply."""
        self.error = error
        self.failures.append(Failure(tool="model", code=error.code))

    def result(self, reason: StopReason, now: float) -> RunResult:
        """Close the account. `now` is `Clock.monotonic()`."""
        return RunResult(
            text=self.text,
            stop_reason=reason,
            steps=self.steps,
            tools=dict(self.tools),
            failures=tuple(self.failures),
            messages=tuple(self.context.messages[1:]),
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            seconds=round(now - self.started, 3),
            model=self.model,
            error=self.error,
        )
