"""The refiner's process: a jailed agent with four tools and nothing else.

It holds no file, no network and no program, and knows of no other tool. A model that a text has
talked into more can ask for more: the loop answers `Tool not found.`, the scope refuses, and the
operating system denies what is tried past both.
"""

from collections.abc import Callable

from gnomon.agent import loop
from gnomon.agent.outcome import Outcome
from gnomon.agent.prompts import resolve
from gnomon.agent.remote_model import EventsOverPipe, ModelOverPipe
from gnomon.agent.run import Ports, RunResult, Task, Working
from gnomon.agent.structured import ask
from gnomon.clock import SystemClock
from gnomon.domain.errors import GnomonError, UsageError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import Message
from gnomon.domain.plain import fields, read
from gnomon.domain.ports import Clock, Pipe
from gnomon.domain.records import RunStep
from gnomon.domain.records_observe import Failure
from gnomon.refiner import by_schema
from gnomon.refiner.protocol import Ran, RefinerArgument, SchemaEdit, Work
from gnomon.refiner.tools import (
    READ_FITNESS,
    READ_SCAFFOLD,
    READ_TRAJECTORY,
    WRITE_SCAFFOLD,
    checked,
    specs,
)
from gnomon.trust.ipc import Peer


class RefinerTools:
    """The `Tools` port of one run: the scope is checked here, then the gateway is asked, which
    checks it again.
    """

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._written = False

    async def run(self, name: str, arguments: Fields) -> Outcome:
        """Raises ToolNotFoundError and ScopedToolViolationError, and what the gateway raises."""
        call = checked(name, arguments, written=self._written)
        if name != WRITE_SCAFFOLD:
            return read(await self._pipe.call(name, fields(call)), Outcome)
        self._written = True  # at once: two calls of one step run side by side
        try:
            return read(await self._pipe.call(name, fields(call)), Outcome)
        except GnomonError:
            self._written = False  # nothing was taken: it may try again
            raise


class Refiner:
    """One process; one run at a time."""

    def __init__(self, pipe: Pipe, argument: RefinerArgument, clock: Clock) -> None:
        self._pipe = pipe
        self._manifest = argument.manifest
        self._clock = clock
        self._events = EventsOverPipe(pipe)

    async def answer(self, op: str, args: Fields, _part: Callable[[Json], None]) -> Json:
        """`work` does one run and says how it ended; a model's failure is an end like others."""
        match op:
            case "work":
                work = read(args, Work)
                ran = await (self._by_schema(work) if work.by_schema else self._by_tools(work))
                await self._events.drained()
                return fields(ran)
            case "stop":
                return {}
            case _:
                raise UsageError(f"The refiner does not answer {op!r}.", op=op)

    async def _by_tools(self, work: Work) -> Ran:
        prompts = self._manifest.prompts
        task = Task(
            run_id=work.run,
            system=resolve(prompts["system"]),
            messages=(Message(role="user", content=resolve(prompts["task"]).text),),
            specs=specs(),
            purpose=by_schema.PURPOSE,
            change_id=work.change_id,
        )
        ports = Ports(
            model=ModelOverPipe(self._pipe, work.run),
            tools=RefinerTools(self._pipe),
            clock=self._clock,
            emit=self._events.emit,
            log=_unlogged,
        )
        return _ran(await loop.run(Working(self._manifest, task, self._clock.monotonic()), ports))

    async def _by_schema(self, work: Work) -> Ran:
        """The reads, one call for a record, the write: what a model without tools cannot ask."""
        tools = RefinerTools(self._pipe)
        text = await tools.run(READ_SCAFFOLD, {"target": by_schema.TARGET})
        lately = await tools.run(READ_TRAJECTORY, {"reflections": by_schema.REFLECTIONS})
        fared = await tools.run(READ_FITNESS, {})
        prompt = resolve(self._manifest.prompts["schema"])
        asked = by_schema.request(prompt.text, prompt.reference, text.text, lately.text, fared.text)
        try:
            model = ModelOverPipe(self._pipe, work.run)
            edit, _ = await ask(model, asked, SchemaEdit, schema=asked.schema)
            said = {**fields(edit), "target": by_schema.TARGET}
            written = await tools.run(WRITE_SCAFFOLD, said)
        except GnomonError as error:
            failure = Failure(tool=WRITE_SCAFFOLD, code=error.code)
            return Ran(stop_reason="failed", text=str(error), failures=(failure,), error=error.code)
        return Ran(stop_reason="done", text=written.text, tools={WRITE_SCAFFOLD: 1})


def _unlogged(_line: RunStep) -> None:
    """The refiner writes no run-log: what came of a run is its change's lines, and its spend."""


def _ran(result: RunResult) -> Ran:
    return Ran(
        stop_reason=result.stop_reason,
        text=result.text,
        tools=result.tools,
        failures=result.failures,
        error=result.error.code if result.error is not None else None,
    )


async def serve(peer: Peer, argument: Fields) -> None:
    """Entry of the child process; returns when the gateway has gone."""
    refiner = Refiner(peer, read(argument, RefinerArgument), SystemClock())
    peer.serve(refiner.answer)
    await peer.closed()
