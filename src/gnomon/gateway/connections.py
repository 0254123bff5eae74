"""How many connections may stand, and which gives way to a new one.

Anybody on this machine can connect and say nothing. A connection that has shown a proof stays;
of those that have not, the oldest gives way once there are too many, so that descriptors are
left for the ledgers and the operator always gets in. No timer runs for this.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from aiohttp import web

MAX_CONNECTIONS = 128
"""Twice the pages that may follow the stream. Far below the 1,024 descriptors that a process
has by default."""


class Connections:
    """The open connections of one server. One event loop only."""

    def __init__(self, limit: int = MAX_CONNECTIONS) -> None:
        self._limit = limit
        self._known: WeakSet[asyncio.BaseTransport] = WeakSet()
        self._looking = False

    def has_shown_proof(self, transport: asyncio.BaseTransport | None) -> None:
        """The connection may stay, however many come after it."""
        if transport is not None:
            self._known.add(transport)

    def opening(self, server: "web.Server") -> Callable[[], asyncio.BaseProtocol]:
        """What makes the protocol of each new connection of a server."""
        loop = asyncio.get_running_loop()

        def make() -> asyncio.BaseProtocol:
            if not self._looking:
                # Many are accepted at once, and each is open only a turn of the loop later.
                self._looking = True
                loop.call_soon(loop.call_soon, self._make_room, server)
            return server()

        return make

    def _make_room(self, server: "web.Server") -> None:
        """Abort the oldest strangers; where all are known, all stay: they are bounded by what
        the operator opens.
        """
        self._looking = False
        open_ones = server.connections  # the oldest first
        too_many = len(open_ones) - self._limit
        for connection in open_ones if too_many > 0 else ():
            transport = connection.transport
            if transport is None or transport.is_closing() or transport in self._known:
                continue
            transport.abort()
            too_many -= 1
            if not too_many:
                return
