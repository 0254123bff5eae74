"""The agent's loop. Every agent is this, started with another manifest (page 4, AK-1).

    elide -> MODEL -> stop? -> TOOLS, at the same time -> (again)

Nothing outlives the run: tools run in a task group, and a cancellation ends them first. No
step looks at the whole history, so the thousandth costs what the tenth did.
"""

import asyncio
import re
from collections.abc import Mapping

import msgspec

from gnomon.agent.arguments import BadArgumentsError, Check, check_for
from gnomon.agent.context import RESULT_LIMIT, as_data, middle_cut
from gnomon.agent.outcome import HELD
from gnomon.agent.run import Ports, RunResult, StopReason, Working
from gnomon.domain.errors import GnomonError, ModelError, ToolNotFoundError
from gnomon.domain.events import Event, Step
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import Message, ModelReply, ModelRequest, ToolCall
from gnomon.domain.records import Failure, RunStep

MAX_INVALID_STEPS = 4
"""So many steps in a row with no call that could be carried out end the run."""
NAME_LIMIT = 64
"""Characters kept of a tool's name that does not exist."""
MAX_CALLS = 16
"""Calls of one step that are carried out; the rest are refused, and the model can ask again."""


async def run(working: Working, ports: Ports) -> RunResult:
    """Work until the model answers, or a bound is met; say which.

    A `ModelError` ends the run and stands in the result. A cancellation passes through;
    `working.result("cancelled", now)` then tells what was done.
    """
    stop = working.manifest.stop
    checks = {name: check_for(spec) for name, spec in working.granted.items()}
    previous, repeats, invalid = None, 0, 0
    for _ in range(stop.max_loops):
        if working.context.crowded:
            _compact(working, ports)
        try:
            reply = await _model(working, ports)
        except ModelError as error:
            working.fail(error)
            return _end(working, ports, "model-error")
        if reply.finish in ("length", "filtered"):  # a cut reply's calls are never carried out
            return _end(working, ports, "length")
        if not reply.tool_calls:
            return _end(working, ports, "done")
        asked = [(call.name, call.arguments) for call in reply.tool_calls]
        repeats = repeats + 1 if asked == previous else 1
        previous = asked
        if repeats >= stop.max_identical_calls:
            return _end(working, ports, "repeated-call")
        carried_out = await _tools(working, ports, reply.tool_calls, checks)
        invalid = 0 if carried_out else invalid + 1
        if invalid >= MAX_INVALID_STEPS:
            return _end(working, ports, "invalid-calls")
    return _end(working, ports, "max-loops")


async def _model(working: Working, ports: Ports) -> ModelReply:
    """One model call, with its events, its place in the conversation, and its log line."""
    choice, task = working.manifest.model, working.task
    span = f"{task.run_id}.{working.steps + 1}"
    _emit(working, ports, "model", span, False, {})
    request = ModelRequest(
        messages=tuple(working.context.messages),
        purpose=task.purpose,
        tools=tuple(working.granted.values()),
        temperature=choice.temperature,
        max_tokens=choice.max_tokens,
        prompt=task.system.reference,
    )
    try:
        reply = await ports.model.complete(request, ports.on_text)
    except ModelError as error:
        _emit(working, ports, "model", span, True, {"error": error.code})
        raise
    working.take(reply)
    ports.log(RunStep(step=working.steps, entry={"reply": _builtins(reply)}))
    facts: Fields = {"finish": reply.finish, "calls": len(reply.tool_calls)}
    _emit(working, ports, "model", span, True, facts)
    return reply


async def _tools(
    working: Working, ports: Ports, calls: tuple[ToolCall, ...], checks: Mapping[str, Check]
) -> int:
    """Run a step's calls at the same time and add their results in the order of the calls.
    Returns how many were carried out, well or not.
    """
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_tool(working, ports, call, index, checks.get(call.name)))
            for index, call in enumerate(calls)
        ]
    limit = working.context.result_limit(len(calls))
    for call, (text, error) in zip(calls, (task.result() for task in tasks), strict=True):
        content = as_data(_named(working, call), middle_cut(text, limit), error)
        working.context.add(Message(role="tool", content=content, tool_call_id=call.id))
    return sum(task.result()[1] not in _NOT_CARRIED_OUT for task in tasks)


class TooManyCallsError(GnomonError):
    """More calls in one step than are carried out."""

    code = "TOO_MANY_CALLS"


_NOT_CARRIED_OUT = (ToolNotFoundError.code, BadArgumentsError.code, TooManyCallsError.code)


async def _tool(
    working: Working, ports: Ports, call: ToolCall, index: int, check: Check | None
) -> tuple[str, str | None]:
    """One call: its text, bounded, and its stable error code, or null. What goes wrong is told
    to the model, which can do better; it never ends the run.
    """
    span = f"{working.task.run_id}.{working.steps}.{index}"
    name = _named(working, call)
    _emit(working, ports, "tool", span, False, {"tool": name})
    try:
        if check is None:
            raise ToolNotFoundError("Tool not found.", tool=name)
        if index >= MAX_CALLS:
            raise TooManyCallsError(f"Only {MAX_CALLS} calls of one step are carried out.")
        arguments = check(call.arguments)
        working.tools[name] = working.tools.get(name, 0) + 1
        result = await ports.tools.run(name, arguments)
        text, error = middle_cut(result.text, RESULT_LIMIT), result.error
    except GnomonError as failure:
        text, error = str(failure), failure.code
    if error is not None and error != HELD:
        working.failures.append(Failure(tool=name, code=error))
    entry = {"call": call.id, "tool": name, "error": error, "text": text}
    ports.log(RunStep(step=working.steps, entry=entry))
    _emit(working, ports, "tool", span, True, {"tool": name, "error": error})
    return text, error


def _named(working: Working, call: ToolCall) -> str:
    """The tool's name; of one that is not there, no more of what the model wrote than is safe to
    stand in a fence, an event and a ledger.
    """
    if call.name in working.granted:
        return call.name
    return re.sub(r"[^A-Za-z0-9_.-]", "_", call.name[:NAME_LIMIT]) or "unnamed"


def _compact(working: Working, ports: Ports) -> None:
    """Elide what is old and bulky. This is no loop of its own."""
    span = f"{working.task.run_id}.{working.steps + 1}.compact"
    _emit(working, ports, "compact", span, False, {})
    elided = working.context.elide()
    _emit(working, ports, "compact", span, True, {"elided": elided})


def _end(working: Working, ports: Ports, reason: StopReason) -> RunResult:
    span = f"{working.task.run_id}.stop"
    _emit(working, ports, "stop_gate", span, False, {})
    ports.log(RunStep(step=working.steps, entry={"stop": reason}))
    _emit(working, ports, "stop_gate", span, True, {"reason": reason})
    return working.result(reason, ports.clock.monotonic())


def _emit(
    working: Working, ports: Ports, step: Step, span: str, complete: bool, facts: Fields
) -> None:
    task = working.task
    ports.emit(
        Event(
            agent=working.manifest.id,
            run=task.run_id,
            step=step,
            span=span,
            complete=complete,
            parent_run=task.parent_run,
            change_id=task.change_id,
            facts=facts,
        )
    )


def _builtins(reply: ModelReply) -> Json:
    return msgspec.to_builtins(msgspec.structs.replace(reply, seconds=round(reply.seconds, 3)))
