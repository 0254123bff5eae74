"""The resident's life as the gateway sees it: start it, tick it, hand it turns, restart it.

A resident that dies is started again with back-off; one that keeps dying is left down, and
status and doctor say why.
"""

import asyncio
from collections.abc import Awaitable, Callable

from gnomon.daemon.platform import ChildProcess
from gnomon.domain.errors import GnomonError, PipeError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.views import JailLevel

RESTART_SECONDS = (0.0, 1.0, 5.0, 30.0, 120.0)
"""Waits before the nth restart in a row; after the last one it stays down."""
STEADY_SECONDS = 300.0
"""A life this long clears the count of failures."""
STOP_GRACE_SECONDS = 5.0
LOOK_SECONDS = 20.0
MISSES = 2
"""A resident that owes an answer is looked at each beat. One that so often in a row did not
answer within so long is taken to be stuck: at least a minute in which its loop never ran.
"""


Start = Callable[[], Awaitable[ChildProcess]]


class Residency:
    """One resident. `start` spawns it; `failed(code, detail)` hears of each unexpected end."""

    def __init__(
        self,
        start: Start,
        monotonic: Callable[[], float],
        failed: Callable[[str, str], None],
    ) -> None:
        self._start = start
        self._monotonic = monotonic
        self._failed = failed
        self._child: ChildProcess | None = None
        self._starting: asyncio.Task[ChildProcess] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._failures = 0
        self._asked = 0
        self._misses = 0
        self._ending = asyncio.Event()
        self.last_failure: str | None = None

    @property
    def level(self) -> JailLevel | None:
        return self._child.level if self._child else None

    @property
    def is_up(self) -> bool:
        return self._child is not None

    async def child(self) -> ChildProcess:
        """The running resident, started if it is not. Raises what the start raises."""
        if self._child is not None:
            return self._child
        if self._starting is None:
            self._starting = asyncio.create_task(self._spawn())
        return await asyncio.shield(self._starting)

    async def ask(
        self, op: str, args: Fields, on_part: Callable[[Json], None] | None = None
    ) -> Json:
        child = await self.child()
        self._asked += 1
        try:
            return await child.peer.call(op, args, on_part=on_part)
        finally:
            self._asked -= 1

    async def look(self) -> None:
        """For the beat: end a resident that is stuck, so that ticks and turns do not wait for it
        without end. It is started again like any that died.
        """
        child = self._child
        if child is None or not self._asked or await _is_awake(child):
            self._misses = 0
            return
        self._misses += 1
        if self._misses >= MISSES and self._child is child:
            self._misses = 0
            self._failed("resident-stuck", "it answers nothing, and is ended")
            await child.stop(0.0)

    async def stop(self, reason: str) -> None:
        """Ask it to end, then make sure that it has."""
        self._ending.set()
        if self._starting is not None:
            await asyncio.gather(self._starting, return_exceptions=True)
        child, self._child = self._child, None
        if child is not None:
            try:
                async with asyncio.timeout(STOP_GRACE_SECONDS):
                    await child.peer.call("stop", {"reason": reason})
            except (TimeoutError, GnomonError) as error:
                self._failed("resident-stop", str(error) or type(error).__name__)
            await child.stop(STOP_GRACE_SECONDS)
        if self._watcher is not None:
            await asyncio.gather(self._watcher, return_exceptions=True)

    async def restart(self, reason: str) -> None:
        """A planned new life, for example after the model was changed."""
        await self.stop(reason)
        self._ending.clear()
        await self.child()

    async def _spawn(self) -> ChildProcess:
        try:
            child = await self._start()
        finally:
            self._starting = None
        self._child = child
        self._watcher = asyncio.create_task(self._watch(child, self._monotonic()))
        return child

    async def _watch(self, child: ChildProcess, began: float) -> None:
        code = await child.wait()
        if self._ending.is_set() or self._child is not child:
            return
        self._child = None
        lived = self._monotonic() - began
        self._failures = 1 if lived >= STEADY_SECONDS else self._failures + 1
        self.last_failure = f"it ended with status {code} after {lived:.0f} s"
        self._failed("resident-died", self.last_failure)
        await self._start_again()

    async def _start_again(self) -> None:
        while self._failures < len(RESTART_SECONDS):
            if await self._ends_within(RESTART_SECONDS[self._failures]):
                return
            try:
                await self.child()
            except (GnomonError, OSError) as error:
                self._failures += 1
                self.last_failure = str(error)
                self._failed("resident-start", str(error))
            else:
                return
        if not self._ending.is_set():
            self._failed("resident-down", "it keeps ending; `gnomon doctor` says more")

    async def _ends_within(self, seconds: float) -> bool:
        """Wait before the next try, but not past the word to stop: who stops waits for this."""
        try:
            async with asyncio.timeout(seconds):
                await self._ending.wait()
        except TimeoutError:
            return False
        return True


async def _is_awake(child: ChildProcess) -> bool:
    """Whether it answers at all: that it knows no such question is an answer."""
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            await child.peer.call("look", {})
    except TimeoutError:
        return False
    except GnomonError:
        return True  # it said so, or it is gone and whoever waits for it has heard that
    return True


def unavailable(reason: str | None) -> PipeError:
    return PipeError(
        f"The resident is not running: {reason or 'it has not started'}.",
        next_step="See `gnomon doctor`; `gnomon down` and `gnomon up` start it again.",
    )
