"""Small writes that nobody waits for. All of them are waited for at the end."""

import asyncio
from collections.abc import Awaitable, Callable


class Background:
    """Runs work as tasks; `failed` hears of each that raised."""

    def __init__(self, failed: Callable[[BaseException], None]) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed = failed

    def run(self, work: Awaitable[object]) -> None:
        async def to_the_end() -> None:
            await work

        task = asyncio.create_task(to_the_end())
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)

    async def drain(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)
