"""The agent's loop against a bare asyncio loop of the same shape.

Shape of one step: the model is awaited and yields once; its reply names one tool with JSON
arguments; the call is decoded and run in its own task, which yields once; the result joins
the messages. The floor does that and nothing else. Ours adds checks, events, run-log records,
bounds and the context rule, and writes the run-log to a file.
"""

import asyncio
import gc
import tempfile
import time
from collections.abc import Awaitable, Callable
from statistics import median
from typing import IO

import msgspec

from bench.row import Row
from gnomon.agent.loop import run
from gnomon.agent.prompts import Prompt
from gnomon.agent.run import Ports, Task, Working
from gnomon.agent.tool_specs import granted
from gnomon.domain.events import Event
from gnomon.domain.instants import Millis
from gnomon.domain.json_value import Fields
from gnomon.domain.manifest import Manifest, ModelChoice, Stop
from gnomon.domain.messages import Message, ModelReply, ModelRequest, ToolCall
from gnomon.domain.records import RunStep

SHORT, LONG = 10, 1_000
"""Steps of the two runs whose cost a step is compared (page 9)."""


class _Clock:
    def wall(self) -> Millis:
        return Millis(0)

    def monotonic(self) -> float:
        return time.monotonic()

    def boottime(self) -> float:
        return 0.0


class _Model:
    """Asks for one tool, never twice with the same arguments, until `steps` are over."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    async def complete(self, request: ModelRequest, on_text: object = None) -> ModelReply:
        await asyncio.sleep(0)
        self.left -= 1
        if self.left < 0:
            return ModelReply(content="done", finish="stop", model="bench")
        call = ToolCall(id="c", name="read", arguments=f'{{"path":"file-{self.left}.txt"}}')
        return ModelReply(content="", finish="tool-calls", model="bench", tool_calls=(call,))


class _Result(msgspec.Struct):
    text: str
    error: str | None = None


class _Tools:
    async def run(self, name: str, arguments: Fields) -> _Result:
        await asyncio.sleep(0)
        return _Result("0123456789" * 10)


async def _ours(steps: int, run_log: IO[bytes]) -> None:
    def log(step: RunStep) -> None:
        run_log.write(msgspec.json.encode(step) + b"\n")

    def emit(event: Event) -> None:
        assert event.run

    manifest = Manifest(
        id="bench",
        title="Bench",
        tools=("read",),
        model=ModelChoice(context_budget=1_000_000),
        stop=Stop(max_loops=steps + 1),
    )
    task = Task(
        run_id="run-1",
        system=Prompt("You work.", "system@packaged#0"),
        messages=(Message(role="user", content="Go."),),
        specs=granted(("read",)),
    )
    ports = Ports(model=_Model(steps), tools=_Tools(), clock=_Clock(), emit=emit, log=log)
    result = await run(Working(manifest, task, 0.0), ports)
    assert result.stop_reason == "done"


async def _floor(steps: int, _: IO[bytes]) -> None:
    model, tools = _Model(steps), _Tools()
    messages = [Message(role="system", content="You work."), Message(role="user", content="Go.")]
    specs = granted(("read",))
    while True:
        reply = await model.complete(
            ModelRequest(messages=tuple(messages), purpose="bench", tools=specs)
        )
        messages.append(
            Message(role="assistant", content=reply.content, tool_calls=reply.tool_calls)
        )
        if not reply.tool_calls:
            return
        results = await asyncio.gather(
            *(tools.run(c.name, msgspec.json.decode(c.arguments)) for c in reply.tool_calls)
        )
        for call, result in zip(reply.tool_calls, results, strict=True):
            messages.append(Message(role="tool", content=result.text, tool_call_id=call.id))


Run = Callable[[int, IO[bytes]], Awaitable[None]]


def _microseconds(one: Run, steps: int, repeats: int) -> float:
    """Median CPU microseconds a step, without what a run of no steps costs."""

    async def timed(run_log: IO[bytes], count: int) -> float:
        began = time.process_time()
        await one(count, run_log)
        return (time.process_time() - began) * 1e6

    async def all_of_them() -> float:
        with tempfile.TemporaryFile() as run_log:
            await one(steps, run_log)
            gc.collect()
            whole = [await timed(run_log, steps) for _ in range(repeats)]
            empty = [await timed(run_log, 0) for _ in range(repeats)]
        return (median(whole) - median(empty)) / steps

    return asyncio.run(all_of_them())


def rows(quick: bool) -> list[Row]:
    """Both figures of page 9: one step's compute, and its growth with the history."""
    times = 1 if quick else 4
    ours_short = _microseconds(_ours, SHORT, 200 * times)
    ours_long = _microseconds(_ours, LONG, 7 * times)
    floor_short = _microseconds(_floor, SHORT, 200 * times)
    return [
        Row(
            what="loop, one step, compute only",
            ours=ours_short,
            floor=floor_short,
            ratio=ours_short / floor_short,
            budget=3.0,
            unit="us",
        ),
        Row(
            what=f"loop, growth from {SHORT} to {LONG} steps",
            ours=ours_long,
            floor=ours_short,
            ratio=ours_long / ours_short,
            budget=1.1,
            unit="us",
        ),
    ]
