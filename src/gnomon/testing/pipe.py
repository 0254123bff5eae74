"""A pipe in memory, with the bounds of the real one: for tests and for `simulate`."""

import asyncio
from collections import deque
from collections.abc import Iterable

from gnomon.domain.errors import PipeError
from gnomon.domain.json_value import Fields
from gnomon.trust.channel import UNREAD_LIMIT
from gnomon.trust.frames import MAX_LINE
from gnomon.trust.ipc import Peer

HIGH_WATER = 256 * 1024
"""Bytes that may wait before `drain` does, as a socket's and a transport's buffers hold."""


class MemoryChannel:
    """One side of a pair of queues. No timer, no thread, no descriptor."""

    def __init__(self) -> None:
        self.other: MemoryChannel = self
        self._inbox: deque[bytes] = deque()
        self._size = 0
        self._changed = asyncio.Event()
        self._taken = asyncio.Event()
        self._closed = False

    async def read(self) -> bytes | None:
        while not self._inbox:
            if self._closed or self.other.is_closed:
                return None
            self._changed.clear()
            await self._changed.wait()
        line = self._inbox.popleft()
        self._size -= len(line)
        self._taken.set()
        if len(line) > MAX_LINE:
            raise PipeError(
                f"The other process sent a line over {MAX_LINE} bytes.", reason="line-too-long"
            )
        return line.removesuffix(b"\n")

    @property
    def is_closed(self) -> bool:
        return self._closed

    def write(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self.other.receive(line)
        if self.other.waiting > UNREAD_LIMIT:
            self.close()
            raise PipeError("The other process does not read.", reason="unread")

    def receive(self, line: bytes) -> None:
        if self._closed:
            return
        self._inbox.append(line)
        self._size += len(line)
        self._changed.set()

    @property
    def waiting(self) -> int:
        return self._size

    async def drain(self) -> None:
        while self.other.waiting > HIGH_WATER and not self._closed:
            if self.other.is_closed:
                raise PipeError("The other process went away.", reason="closed")
            await self.other.wait_taken()

    async def wait_taken(self) -> None:
        self._taken.clear()
        await self._taken.wait()

    def close(self) -> None:
        self._closed = True
        for side in (self, self.other):
            side.wake()

    def wake(self) -> None:
        self._changed.set()
        self._taken.set()


def channel_pair() -> tuple[MemoryChannel, MemoryChannel]:
    """Two channels that are each other's other side."""
    left, right = MemoryChannel(), MemoryChannel()
    left.other, right.other = right, left
    return left, right


def peer_pair(hello: Fields | None = None) -> tuple[Peer, Peer]:
    """Two peers in one event loop. Each still needs its `run` in a task."""
    left, right = channel_pair()
    return Peer(left, hello), Peer(right, hello)
