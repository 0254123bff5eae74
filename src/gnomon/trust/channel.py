"""What carries the pipe's lines: an inherited socket here, memory in `gnomon.testing.pipe`."""

import asyncio
import socket
from collections.abc import Iterable
from typing import Protocol

from gnomon.domain.errors import PipeError
from gnomon.trust.frames import MAX_LINE

UNREAD_LIMIT = 32 * 1024 * 1024
"""Bytes that may wait for the other side to read before the pipe is given up."""


class Channel(Protocol):
    """Lines in order, both ways. `read` gives the next line without its newline, null at
    the end; it raises PipeError for a line that is too long or has no end.
    """

    async def read(self) -> bytes | None: ...

    def write(self, lines: Iterable[bytes]) -> None:
        """Queue lines, next to one another. Raises PipeError when too much waits already."""
        ...

    async def drain(self) -> None:
        """Wait until the other side has taken enough."""
        ...

    def close(self) -> None: ...


class SocketChannel:
    """One stream socket. Uses `recv` and `send` alone: no descriptor is ever taken."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, sock: socket.socket) -> "SocketChannel":
        """Take over a connected socket."""
        sock.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=sock, limit=MAX_LINE)
        return cls(reader, writer)

    async def read(self) -> bytes | None:
        try:
            return (await self._reader.readuntil(b"\n"))[:-1]
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise PipeError("The other process went away in mid-line.", reason="torn") from None
            return None
        except asyncio.LimitOverrunError:
            raise PipeError(
                f"The other process sent a line over {MAX_LINE} bytes.", reason="line-too-long"
            ) from None
        except OSError:
            return None

    def write(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._writer.write(line)
        if self._writer.transport.get_write_buffer_size() > UNREAD_LIMIT:
            self._writer.transport.abort()
            raise PipeError("The other process does not read.", reason="unread")

    async def drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError as error:
            raise PipeError("The other process went away.", reason="closed") from error

    def close(self) -> None:
        self._writer.close()
