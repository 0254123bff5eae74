"""Who is next at the model: foreground before background, in order of asking within each."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from gnomon.domain.errors import ModelUnavailableError

QUEUE_LIMIT = 64
"""More callers than this are refused: a loop that asks for ever must not fill the memory."""


class CallQueue:
    """`slots` calls at a time, of which at most one is a background call."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._background_running = False
        self._foreground: deque[asyncio.Future[None]] = deque()
        self._background: deque[asyncio.Future[None]] = deque()
        self._running = 0
        self._drained = asyncio.Event()
        self._drained.set()

    @asynccontextmanager
    async def place(self, *, foreground: bool) -> AsyncGenerator[None]:
        """Wait for a turn and hold it. Raises ModelUnavailableError when the queue is full."""
        waiting = self._foreground if foreground else self._background
        if len(waiting) >= QUEUE_LIMIT:
            raise ModelUnavailableError(
                f"{QUEUE_LIMIT} calls already wait for the model.",
                next_step="Wait for them, or choose a faster model.",
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        self._pump()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # its turn had come in the same moment
                self._leave(foreground)
            elif turn in waiting:
                waiting.remove(turn)
            raise
        try:
            yield
        finally:
            self._leave(foreground)

    async def drained(self) -> None:
        """Wait until no call is running."""
        await self._drained.wait()

    def _pump(self) -> None:
        while self._free > 0 and (turn := _first(self._foreground)) is not None:
            self._enter(turn)
        if self._free > 0 and not self._background_running:
            turn = _first(self._background)
            if turn is not None:
                self._background_running = True
                self._enter(turn)

    def _enter(self, turn: asyncio.Future[None]) -> None:
        self._free -= 1
        self._running += 1
        self._drained.clear()
        turn.set_result(None)

    def _leave(self, foreground: bool) -> None:
        self._free += 1
        self._running -= 1
        if not foreground:
            self._background_running = False
        if self._running == 0:
            self._drained.set()
        self._pump()


def _first(waiting: deque[asyncio.Future[None]]) -> asyncio.Future[None] | None:
    """Take the first that still waits. A cancelled one stays queued until its task runs."""
    while waiting:
        turn = waiting.popleft()
        if not turn.done():
            return turn
    return None
