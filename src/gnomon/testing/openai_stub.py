"""A real OpenAI-compatible HTTP server that does what a script says, good or bad.

In a test: `async with OpenAIStub([say("hi")]) as stub: ... stub.url`. As a process:
`python -m gnomon.testing.openai_stub --port 0 --script agent`, which prints its address.

HTTP is spoken by hand, since half of the scripts break it on purpose.
"""

import argparse
import asyncio
import contextlib
import signal
import ssl
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import msgspec

from gnomon.testing.openai_behaviours import (
    MODEL,
    Behaviour,
    Received,
    Turn,
    drip,
    garbage,
    hang,
    huge,
    reset_after,
    say,
    status,
)
from gnomon.testing.openai_parts import agent, repeat_tool

BODY_LIMIT = 16 * 1024 * 1024

SCRIPTS: Mapping[str, Behaviour] = {
    "agent": agent,
    "answer": say("An answer from the stub."),
    "repeat": repeat_tool("shell", {"command": "echo again"}),
    "hang": hang,
    "garbage": garbage(),
    "huge": huge(),
    "drip": drip(0.2),
    "reset": reset_after(),
    "401": status(401, "Incorrect API key provided"),
    "429": status(429, "slow down", {"Retry-After": "1"}),
    "500": status(500, "broken"),
}


# --- the server ----------------------------------------------------------------------------


@dataclass
class OpenAIStub:
    """The server. Answers from `script` in order, then `then` for ever.

    `received` holds every request to `/chat/completions` that came in whole. With `key`,
    others than `Authorization: Bearer <key>` are refused with 401.
    """

    script: Iterable[Behaviour] = ()
    then: Behaviour = field(default=status(500, "the script has ended"))
    key: str | None = None
    models: Sequence[str] = (MODEL,)
    port: int = 0
    tls: ssl.SSLContext | None = None
    received: list[Received] = field(default_factory=list[Received])
    connections: int = 0

    def __post_init__(self) -> None:
        self._script = list(self.script)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The base address, ending in /v1."""
        scheme = "http" if self.tls is None else "https"
        return f"{scheme}://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", self.port, ssl=self.tls
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._handle(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read_request(reader)
            if request is not None:
                await self._until_gone(reader, self._route(Turn(request, writer)))
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client went away, which is its right
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    @staticmethod
    async def _until_gone(reader: asyncio.StreamReader, answer: Awaitable[None]) -> None:
        """Answer until done, or until the client ends the connection."""
        answering = asyncio.ensure_future(answer)
        gone = asyncio.ensure_future(reader.read())
        try:
            await asyncio.wait((answering, gone), return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                await answering
        finally:
            answering.cancel()
            gone.cancel()
            await asyncio.gather(answering, gone, return_exceptions=True)

    async def _route(self, turn: Turn) -> None:
        request = turn.request
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            await status(401, "Incorrect API key provided")(turn)
        elif request.method == "GET" and request.path == "/v1/models":
            data = [{"id": name, "object": "model"} for name in self.models]
            await turn.json({"object": "list", "data": data})
        elif request.method == "POST" and request.path == "/v1/chat/completions":
            self.received.append(request)
            await (self._script.pop(0) if self._script else self.then)(turn)
        else:
            await status(404, "no such path")(turn)


async def _read_request(reader: asyncio.StreamReader) -> Received | None:
    """The next request, or None when the connection ends before one."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, _, rest = first.partition(" ")
    headers = {
        name.strip().lower(): text.strip()
        for name, _, text in (line.partition(":") for line in lines)
    }
    size = min(int(headers.get("content-length", "0")), BODY_LIMIT)
    body = await reader.readexactly(size)
    decoded: Any = msgspec.json.decode(body) if body else {}
    return Received(method, rest.partition(" ")[0], headers, decoded)


async def _serve(port: int, script: str, key: str | None) -> None:
    async with OpenAIStub(then=SCRIPTS[script], key=key, port=port) as stub:
        print(stub.url, flush=True)  # noqa: T201 - what starts it waits for this line
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await stop.wait()


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until SIGTERM. The first line of output is the base address."""
    parser = argparse.ArgumentParser(prog="python -m gnomon.testing.openai_stub")
    parser.add_argument("--port", type=int, default=0, help="0 takes any free one")
    parser.add_argument("--script", choices=sorted(SCRIPTS), default="agent")
    parser.add_argument("--key", help="refuse requests without this key")
    chosen = parser.parse_args(arguments)
    asyncio.run(_serve(chosen.port, chosen.script, chosen.key))


if __name__ == "__main__":
    main()
