"""A model and the event stream as a jailed agent has them: asked of the gateway over the pipe."""

import asyncio
from collections import deque
from collections.abc import Callable

from gnomon.domain.errors import GnomonError, PipeError
from gnomon.domain.events import Event
from gnomon.domain.json_value import Json
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.domain.plain import fields, read
from gnomon.domain.ports import Pipe


class ModelOverPipe:
    """The `Model` port. `run` ties the call's spend to a run; text arrives as it is written."""

    def __init__(self, pipe: Pipe, run: str | None = None) -> None:
        self._pipe = pipe
        self._run = run

    async def complete(
        self, request: ModelRequest, on_text: Callable[[str], None] | None = None
    ) -> ModelReply:
        def part(value: Json) -> None:
            match value:
                case {"text": str(text)} if on_text is not None:
                    on_text(text)
                case _:
                    pass  # a kind of part that this side does not use

        args = {"request": fields(request), "run": self._run}
        answer = await self._pipe.call("model.complete", args, on_part=part)
        return read(answer, ModelReply)


class EventsOverPipe:
    """The `Emit` port: events go out in order, in the background, at most a bounded number.

    They are for watching. When the gateway does not take them they are dropped and counted;
    the run-log, not the stream, is what is kept.
    """

    LIMIT = 1_000

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._queue: deque[Event] = deque()
        self._sender: asyncio.Task[None] | None = None
        self.dropped = 0

    def emit(self, event: Event) -> None:
        if len(self._queue) >= self.LIMIT:
            self.dropped += 1
            return
        self._queue.append(event)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    async def drained(self) -> None:
        while self._sender is not None and not self._sender.done():
            await asyncio.shield(self._sender)

    async def _send(self) -> None:
        while self._queue:
            try:
                await self._pipe.call("event", {"event": fields(self._queue.popleft())})
            except PipeError:
                self.dropped += 1 + len(self._queue)
                self._queue.clear()
            except GnomonError:
                self.dropped += 1
