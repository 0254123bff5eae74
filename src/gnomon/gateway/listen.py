"""Bind first, load the web server when the first caller knocks.

An idle Gnomon that nobody looks at has a bound socket and nothing else: the web server costs
0.2 s and 16 MB (docs/adr/0700-web-server-on-first-knock.md). A first caller waits that long in
the socket's backlog and notices nothing.
"""

import asyncio
import logging
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.domain.errors import UsageError
from gnomon.gateway.wiring import Wiring

if TYPE_CHECKING:
    from aiohttp import web

HOST = "127.0.0.1"
BACKLOG = 128
SHUTDOWN_SECONDS = 2.0

log = logging.getLogger(__name__)


@dataclass
class Listener:
    """A bound address. `url` has no trailing slash."""

    url: str
    port: int
    _wiring: Wiring
    _socket: socket.socket
    _runner: "web.AppRunner | None" = None
    _starting: "asyncio.Task[None] | None" = None
    _accepting: asyncio.Server | None = None

    @property
    def serving(self) -> bool:
        """Whether anybody has knocked yet."""
        return self._starting is not None

    async def close(self) -> None:
        """Let go of the address; running requests get two seconds. May be called twice."""
        loop = asyncio.get_running_loop()
        if self._starting is None:
            loop.remove_reader(self._socket)
        else:
            await asyncio.wait({self._starting})
        if self._accepting is not None:
            self._accepting.close()
        if self._runner is not None:
            await self._runner.cleanup()
        self._socket.close()

    def _knocked(self) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._socket)
        self._starting = loop.create_task(self._serve(), name="gateway-web-server")
        self._starting.add_done_callback(_report)

    async def _serve(self) -> None:
        from aiohttp import web

        from gnomon.gateway.app import build
        from gnomon.gateway.connections import Connections

        connections = Connections()
        self._runner = web.AppRunner(
            build(self._wiring, self.port, connections),
            access_log=None,
            handler_cancellation=True,
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        await self._runner.setup()
        assert self._runner.server is not None
        self._accepting = await asyncio.get_running_loop().create_server(
            connections.opening(self._runner.server), sock=self._socket, backlog=BACKLOG
        )


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("The web server did not start.", exc_info=error)


async def listen(wiring: Wiring, port: int = 0) -> Listener:
    """Bind 127.0.0.1 at `port`, any free one for 0, and answer as soon as it is bound.

    Raises UsageError when the port is taken.
    """
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setblocking(False)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
        bound.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        bound.close()
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise UsageError(
            f"Port {port} on {HOST} cannot be used: {reason}.",
            next_step="Choose another with --port, or 0 for any free one.",
            port=port,
        ) from error
    port = bound.getsockname()[1]
    listener = Listener(f"http://{HOST}:{port}", port, wiring, bound)
    asyncio.get_running_loop().add_reader(bound, listener._knocked)  # pyright: ignore[reportPrivateUsage]
    return listener
