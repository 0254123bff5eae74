"""Puts events into the order of time, in bounded memory: file order is not time order."""

import heapq
from collections.abc import Iterator

from gnomon.domain.instants import Millis
from gnomon.observe.transcripts.events import AnyEvent

CAPACITY = 4_096
"""Events that are held back. One that comes later than this many after its place is still
taken, where it stands."""


class Reorder:
    """A sliding window. An event without a time keeps its place behind the one before it."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._heap: list[tuple[Millis, int, AnyEvent]] = []
        self._capacity = capacity
        self._count = 0
        self._last = Millis(-(2**62))

    def push(self, event: AnyEvent) -> AnyEvent | None:
        """Take one; give the earliest when the window is full."""
        if event.at is not None:
            self._last = event.at
        self._count += 1
        entry = (self._last, self._count, event)
        if len(self._heap) < self._capacity:
            heapq.heappush(self._heap, entry)
            return None
        return heapq.heappushpop(self._heap, entry)[2]

    def rest(self) -> Iterator[AnyEvent]:
        while self._heap:
            yield heapq.heappop(self._heap)[2]
