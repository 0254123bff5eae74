"""Syncs off the event loop, at a hop's least cost.

A sync must not block the loop, and the hop to a thread and back is what we add to the device's
own time. `run_in_executor` takes about 45 us for it here, a token through a pipe each way
about 10 (`make bench`, docs/adr/0102): the thread waits in `read`, the loop in its selector.
Four threads at most, shared by all ledgers of a loop, begun when first needed, gone when the
last ledger closes.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable

MAX_THREADS = 4
"""Syncs at once. More gain nothing: they meet in the file system's journal."""

Job = Callable[[], None]
Done = Callable[[BaseException | None], None]
"""Called on the loop, with what the job raised, if anything. It must not raise."""


class Flusher:
    """Runs jobs in threads for one event loop. Made by `borrow`, given back by `give_back`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._jobs: deque[tuple[Job, Done] | None] = deque()
        self._done: deque[tuple[Done, BaseException | None]] = deque()
        self._threads: list[threading.Thread] = []
        self._running = 0
        self._ask_read, self._ask_write = os.pipe()
        self._tell_read, self._tell_write = os.pipe()
        self.borrowers = 0
        loop.add_reader(self._tell_read, self._hear)

    def run(self, job: Job, done: Done) -> None:
        """Run a job in a thread, then call `done`: without a future between them, which would
        cost a turn of the loop.
        """
        if self._running >= len(self._threads) < MAX_THREADS:
            thread = threading.Thread(target=self._work, name="ledger-sync", daemon=True)
            thread.start()
            self._threads.append(thread)
        self._running += 1
        self._jobs.append((job, done))
        os.write(self._ask_write, b".")

    def close(self) -> None:
        """End the threads, which finish what they run."""
        for _ in self._threads:
            self._jobs.append(None)
            os.write(self._ask_write, b".")
        for thread in self._threads:
            thread.join()
        if not self._loop.is_closed():
            self._loop.remove_reader(self._tell_read)
        for fd in (self._ask_read, self._ask_write, self._tell_read, self._tell_write):
            os.close(fd)

    def _work(self) -> None:
        while True:
            os.read(self._ask_read, 1)
            item = self._jobs.popleft()
            if item is None:
                return
            job, done = item
            error: BaseException | None = None
            try:
                job()
            except BaseException as failure:  # noqa: BLE001 - whatever it is, the asker hears it
                error = failure
            self._done.append((done, error))
            os.write(self._tell_write, b".")

    def _hear(self) -> None:
        for _ in os.read(self._tell_read, 4096):
            self._running -= 1
            done, error = self._done.popleft()
            done(error)


_flushers: dict[asyncio.AbstractEventLoop, Flusher] = {}


def borrow(loop: asyncio.AbstractEventLoop) -> Flusher:
    """The loop's flusher, counting who has it."""
    flusher = _flushers.get(loop)
    if flusher is None:
        flusher = _flushers[loop] = Flusher(loop)
    flusher.borrowers += 1
    return flusher


def give_back(flusher: Flusher) -> None:
    """Say that it is no longer needed; the last one to say so ends it."""
    flusher.borrowers -= 1
    if flusher.borrowers == 0:
        for loop, mine in list(_flushers.items()):
            if mine is flusher:
                del _flushers[loop]
        flusher.close()
