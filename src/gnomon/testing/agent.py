"""Fakes for the agent: tools that answer from a table, and a bench to run a loop on."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from gnomon.agent.outcome import Outcome
from gnomon.agent.places import HostArgument
from gnomon.agent.prompts import Prompt
from gnomon.agent.run import Ports, Task, Working
from gnomon.agent.tool_specs import granted
from gnomon.domain.errors import GnomonError
from gnomon.domain.events import Event
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.manifest import Manifest, ModelChoice, Stop
from gnomon.domain.messages import Message, ToolSpec
from gnomon.domain.ports import Model, Tools
from gnomon.domain.records import RunStep
from gnomon.testing.clock import FakeClock

Answer = str | Outcome | GnomonError
Answering = Answer | Callable[[Fields], Answer | Awaitable[Answer]]


class TableTools:
    """The `Tools` port: each name answers from the table. `calls` holds what was asked."""

    def __init__(self, table: Mapping[str, Answering]) -> None:
        self._table = table
        self.calls: list[tuple[str, Fields]] = []

    async def run(self, name: str, arguments: Fields) -> Outcome:
        self.calls.append((name, arguments))
        answer = self._table[name]
        if callable(answer):
            given = answer(arguments)
            answer = await given if isinstance(given, Awaitable) else given
        if isinstance(answer, GnomonError):
            raise answer
        return Outcome(text=answer) if isinstance(answer, str) else answer


@dataclass
class Bench:
    """One run's surroundings, and all that it said: `events` and `log`."""

    model: Model
    tools: Tools = field(default_factory=lambda: TableTools({}))
    grants: tuple[str, ...] = ("read", "shell")
    specs: tuple[ToolSpec, ...] | None = None
    stop: Stop = field(default_factory=Stop)
    choice: ModelChoice = field(default_factory=ModelChoice)
    clock: FakeClock = field(default_factory=FakeClock)
    events: list[Event] = field(default_factory=list[Event])
    log: list[RunStep] = field(default_factory=list[RunStep])
    said: list[str] = field(default_factory=list[str])

    def working(self, *messages: Message) -> Working:
        manifest = Manifest(
            id="agent-1", title="Tested", model=self.choice, tools=self.grants, stop=self.stop
        )
        task = Task(
            run_id="run-1",
            system=Prompt("You are tested.", "tested@packaged#000000000000"),
            messages=messages or (Message(role="user", content="Go."),),
            specs=granted(self.grants) if self.specs is None else self.specs,
        )
        return Working(manifest, task, self.clock.monotonic())

    def ports(self) -> Ports:
        return Ports(
            model=self.model,
            tools=self.tools,
            clock=self.clock,
            emit=self.events.append,
            log=self.log.append,
            on_text=self.said.append,
        )


class FakeHost:
    """A tool host without a process. `answer` may be an error to raise; `stopped` tells."""

    def __init__(self, argument: HostArgument, answer: Answering = "ok") -> None:
        self.argument = argument
        self.answer = answer
        self.requests: list[Fields] = []
        self.stopped = asyncio.Event()

    pid = 0

    @property
    def peer(self) -> "FakeHost":
        return self

    async def call(
        self, op: str, args: Fields, *, on_part: Callable[[Json], None] | None = None
    ) -> Json:
        assert op == "tool"
        self.requests.append(args)
        answer = self.answer
        if callable(answer):
            given = answer(args)
            answer = await given if isinstance(given, Awaitable) else given
        if isinstance(answer, GnomonError):
            raise answer
        outcome = Outcome(text=answer) if isinstance(answer, str) else answer
        return {"text": outcome.text, "error": outcome.error}

    async def wait(self) -> int:
        await self.stopped.wait()
        return 0

    async def stop(self, grace: float) -> None:
        self.stopped.set()
