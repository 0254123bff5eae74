"""An event loop whose time jumps: when nothing is ready, it is the next timer's time.

A month of ticks takes seconds, and two runs of one seed are the same run.
"""

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

from gnomon.domain.instants import SECOND, Millis

RESOLUTION = 1e-7
"""Seconds by which a timer may fire early. Time does not go on by itself here: whoever then
finds that it is not due yet, and sleeps again, would do so for ever. So clocks show
microseconds, which no such early bird can tell.
"""
SHOWN_DIGITS = 6
OWN_DESCRIPTORS = 1
"""What a loop itself listens to: the pipe by which a signal wakes it."""
Arguments = TypeVarTuple("Arguments")
T = TypeVar("T")


class StuckError(RuntimeError):
    """Nothing is ready and no timer is set: the simulated program would wait for ever."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """`time()` is virtual seconds since the loop was made. As on a real machine it stands
    still while the machine sleeps.
    """

    def __init__(self) -> None:
        self._virtual = 0.0
        super().__init__(_JumpingSelector(self))
        # After months the spacing of floats exceeds a nanosecond, the loop's own resolution;
        # a timer that is due would then never be.
        self._clock_resolution = RESOLUTION

    def time(self) -> float:
        return self._virtual

    def jump(self, seconds: float) -> None:
        self._virtual += seconds

    def run_in_executor(
        self,
        executor: Executor | None,
        func: Callable[[*Arguments], T],
        *args: *Arguments,
    ) -> "asyncio.Future[T]":
        """No thread: virtual time would not wait for it. It runs now."""
        del executor
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - whoever waits for it gets it
            future.set_exception(error)
        return future


class _JumpingSelector(selectors.DefaultSelector):
    """Looks whether something is ready; instead of waiting, moves the loop's time."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout == 0 and len(self.get_map()) <= OWN_DESCRIPTORS:
            return []  # nothing outside can be ready
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise StuckError("Nothing is ready and no timer is set.")
        self._loop.jump(timeout)
        return []


class VirtualClock:
    """The three clocks over a loop's time, and a fourth that no program can see: `true`,
    which nobody sets and which never stands still.
    """

    def __init__(self, loop: VirtualTimeLoop, start: Millis) -> None:
        self._loop = loop
        self._start = start
        self._stepped = 0.0
        self._asleep = 0.0
        self._booted = 0.0
        self._booted_awake = 0.0
        self.boots = 1

    def wall(self) -> Millis:
        return Millis(self.true() + round(self._stepped * SECOND))

    def true(self) -> Millis:
        return Millis(self._start + round((self._loop.time() + self._asleep) * SECOND))

    def monotonic(self) -> float:
        return round(self._loop.time() - self._booted_awake, SHOWN_DIGITS)

    def boottime(self) -> float:
        return round(self._loop.time() + self._asleep - self._booted, SHOWN_DIGITS)

    @property
    def boot_id(self) -> str:
        return f"boot-{self.boots}"

    def step(self, seconds: float) -> None:
        """Somebody sets the wall clock."""
        self._stepped += seconds

    def sleep(self, seconds: float) -> None:
        """The machine sleeps: timers and the monotonic clock stand still meanwhile."""
        self._asleep += seconds

    def reboot(self) -> None:
        """The boot clock begins anew."""
        self.boots += 1
        self._booted_awake = self._loop.time()
        self._booted = self._loop.time() + self._asleep
