"""Operations over HTTP: GET for those that read, POST for those that act."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from typing import Any

import msgspec
from aiohttp import web

from gnomon.domain.errors import GnomonError
from gnomon.domain.json_value import Fields
from gnomon.gateway import answer, request
from gnomon.gateway.answer import MediaTypeError, MethodError, NotFoundError
from gnomon.gateway.door import by_a_page
from gnomon.gateway.operation import Operation

NDJSON = "application/x-ndjson"
JSON = "application/json"
MAX_WAITING_PARTS = 10_000
"""Parts that a slow caller has not taken. At more it counts as gone: the whole result, if it
still wants one, is one more request away."""

log = logging.getLogger(__name__)


class Api:
    """The doors to one table of operations."""

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        self._operations = operations
        self._going_on: set[asyncio.Task[Any]] = set()
        """Operations whose caller left and which may not be cancelled."""

    async def table(self, _: web.Request) -> web.StreamResponse:
        """GET /api: every operation, with the JSON Schema of its arguments."""
        return _json([_described(each) for each in self._operations.values()])

    async def openapi(self, _: web.Request) -> web.StreamResponse:
        """GET /api/openapi.json: the table as an OpenAPI document."""
        from gnomon.gateway.openapi import openapi  # loaded by whoever asks for it

        return _json(openapi(self._operations.values()))

    async def read(self, asked: web.Request) -> web.StreamResponse:
        """GET /api/{name}?argument=..."""
        operation = self._found(asked)
        if not operation.reads:
            raise MethodError(
                f"{operation.name} changes something.", next_step="Use POST.", allow="POST"
            )
        arguments = request.arguments_of_query(operation, asked.query.items())
        return await self._answer(asked, operation, arguments)

    async def act(self, asked: web.Request) -> web.StreamResponse:
        """POST /api/{name} with a JSON object. Reading ones answer too: queries can be long."""
        operation = self._found(asked)
        if asked.content_type != JSON:
            raise MediaTypeError("The body must be JSON.", next_step=f"Send Content-Type: {JSON}.")
        arguments = request.arguments_of_body(operation, await asked.read())
        return await self._answer(asked, operation, arguments)

    def _found(self, asked: web.Request) -> Operation:
        name = asked.match_info["name"]
        operation = self._operations.get(name)
        if operation is None:
            raise NotFoundError(
                f"There is no operation {name[:64]!r}.", next_step="GET /api lists them."
            )
        return operation

    async def _answer(
        self, asked: web.Request, operation: Operation, arguments: msgspec.Struct
    ) -> web.StreamResponse:
        if NDJSON in asked.headers.get("Accept", ""):
            return await self._stream(asked, operation, arguments)
        return _json(await self._run(operation, operation.run(arguments, _unheard)))

    async def _run(self, operation: Operation, running: Awaitable[Any]) -> Any:
        """Wait for an operation. Called off with its caller, unless it must be finished."""
        task = asyncio.ensure_future(running)
        self._going_on.add(task)
        task.add_done_callback(self._going_on.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if operation.cancellable and not (operation.outlives_pages and by_a_page()):
                task.cancel()
                await asyncio.wait({task})
            else:
                task.add_done_callback(_log_failure)
            raise

    async def _stream(
        self, asked: web.Request, operation: Operation, arguments: msgspec.Struct
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": NDJSON})
        await response.prepare(asked)
        lines = _Lines(response)
        pump = asyncio.create_task(lines.pump())
        try:
            result = await self._run(operation, operation.run(arguments, lines.part))
            last = answer.ok_line(result)
        except GnomonError as error:
            last = answer.failure_line(error)
        except Exception as error:
            log.exception("%s broke.", operation.name)
            last = answer.failure_line(error)
        except asyncio.CancelledError:
            pump.cancel()
            raise
        await lines.end(pump, last)
        return response


class _Lines:
    """Lines on their way to a caller: written together when several wait."""

    def __init__(self, response: web.StreamResponse) -> None:
        self._response = response
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._caller_is_gone = False

    def part(self, part: Fields) -> None:
        if self._queue.qsize() < MAX_WAITING_PARTS:
            self._queue.put_nowait(answer.part_line(part))

    async def pump(self) -> None:
        ended = False
        while not ended:
            lines = [await self._queue.get()]
            while not self._queue.empty():
                lines.append(self._queue.get_nowait())
            ended = lines[-1] is None
            try:
                await self._response.write(b"".join(line for line in lines if line is not None))
            except ConnectionError:
                self._caller_is_gone = True
                return

    async def end(self, pump: asyncio.Task[None], last: bytes) -> None:
        """Write the last line. A caller that has gone meanwhile is told nothing."""
        self._queue.put_nowait(last)
        self._queue.put_nowait(None)
        await pump
        if not self._caller_is_gone:
            await self._response.write_eof()


def _log_failure(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("An operation that outlived its caller failed.", exc_info=error)


def _unheard(_: Fields) -> None:
    """Parts for a caller that asked for the result alone."""


def _described(operation: Operation) -> Fields:
    return {
        "name": operation.name,
        "summary": operation.summary,
        "method": "GET" if operation.reads else "POST",
        "authority": operation.authority,
        "arguments": msgspec.json.schema(operation.arguments),
    }


def _json(result: Any) -> web.Response:
    return web.Response(body=answer.success(result), content_type=JSON)
