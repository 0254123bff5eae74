"""What happens, as it happens: one bounded ring of events that any number of readers follow.

A reader is a place in the ring, not a queue: memory does not grow with readers, and nothing
wakes while nothing is published. A reader that falls off the ring's end learns it
(`FellBehindError`) and starts afresh.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec

from gnomon.domain.errors import GnomonError
from gnomon.domain.instants import Millis, iso

RING = 512
"""Events kept for a reader that comes back."""
MAX_EVENT_BYTES = 64 * 1024


class FellBehindError(GnomonError):
    """The reader's next event is no longer kept."""

    code = "fell-behind"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """`data` is JSON of at most 64 KiB, encoded when it was published."""

    number: int
    kind: str
    at: str
    data: bytes


class Stream:
    """`kind` is a word of `a-z-`; pages name the kinds that concern them. One event loop only.

    Kinds in use: `event` (an agent's step), `status` (a tick, a mode, a pause, a model),
    `chat` (a session changed), `history` (an import ended), `journal`, `inbox` (something was
    brought, or has an outcome), `fitness` (a window was measured).
    """

    def __init__(self, now: Callable[[], Millis], *, ring: int = RING) -> None:
        self.life = secrets.token_hex(4)
        """Differs each time the gateway starts, so that ids of an earlier life are known."""
        self._now = now
        self._ring: deque[Entry] = deque(maxlen=ring)
        self._last = 0
        self._news = asyncio.Event()

    @property
    def last(self) -> int:
        """The number of the newest event; 0 before the first."""
        return self._last

    def publish(self, kind: str, data: Any = None) -> None:
        """Hand an event to all readers, now and when they come back. Never waits."""
        body = msgspec.json.encode(data)
        if len(body) > MAX_EVENT_BYTES:
            body = msgspec.json.encode({"too_large": len(body)})
        self._last += 1
        at = iso(self._now())
        self._ring.append(Entry(number=self._last, kind=kind, at=at, data=body))
        news, self._news = self._news, asyncio.Event()
        news.set()

    def recent(self, kind: str, limit: int) -> Sequence[Entry]:
        """The newest events of a kind, newest first."""
        found = [entry for entry in reversed(self._ring) if entry.kind == kind]
        return found[:limit]

    def place_of(self, event_id: str | None) -> int | None:
        """Where a reader stands that last saw this id; None when that is not kept any more.

        Without an id a reader starts at what comes next.
        """
        if not event_id:
            return self._last
        life, _, number = event_id.partition("-")
        # isdecimal alone lets other scripts' digits through, and int() refuses very long ones.
        if life != self.life or not number.isascii() or not number.isdecimal() or len(number) > 15:
            return None
        place = int(number)
        return place if self._oldest() - 1 <= place <= self._last else None

    def event_id(self, number: int) -> str:
        return f"{self.life}-{number}"

    async def follow(self, place: int) -> AsyncIterator[Sequence[Entry]]:
        """Batches of events after `place`, without end. Raises FellBehindError."""
        while True:
            news = self._news
            if place < self._oldest() - 1:
                raise FellBehindError("The reader fell behind.", place=place, oldest=self._oldest())
            batch = [entry for entry in self._ring if entry.number > place]
            if batch:
                place = batch[-1].number
                yield batch
            else:
                await news.wait()

    def _oldest(self) -> int:
        return self._ring[0].number if self._ring else self._last + 1
