"""A resident that keeps dying: started again with waits, and nobody who stops waits for them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from gnomon.daemon.residency import RESTART_SECONDS, Residency
from gnomon.domain.errors import PipeError
from tests.world_kit import in_virtual_time


class DyingChild:
    """Lives for `seconds`, then is gone as if it had been killed."""

    pid = 1
    level = "none"
    self_test: dict[str, Any] = {}

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.peer = self

    async def call(self, op: str, args: Any, *, on_part: Any = None) -> Any:
        del args, on_part
        if op == "stop":
            raise PipeError("It is gone.")
        return {}

    async def wait(self) -> int:
        await asyncio.sleep(self._seconds)
        return -9

    async def stop(self, grace: float) -> None:
        del grace


def residency(told: list[str], lives: float = 0.1) -> tuple[Residency, list[float]]:
    loop = asyncio.get_running_loop()
    began: list[float] = []

    async def start() -> Any:
        began.append(loop.time())
        return DyingChild(lives)

    return Residency(start, loop.time, lambda code, _: told.append(code)), began


def after_three_deaths(work: Callable[[Residency, list[float]], Awaitable[None]]) -> None:
    async def story() -> None:
        told: list[str] = []
        here, began = residency(told)
        await here.child()
        await asyncio.sleep(sum(RESTART_SECONDS[:3]) + 1)
        assert told.count("resident-died") == 3
        assert not here.is_up, "it waits before the next try"
        await work(here, began)

    in_virtual_time(story)


def test_stopping_does_not_wait_for_the_next_try() -> None:
    async def stop(here: Residency, began: list[float]) -> None:
        loop = asyncio.get_running_loop()
        now, lives = loop.time(), len(began)
        await here.stop("the gateway ends")
        assert loop.time() - now < 1
        await asyncio.sleep(1_000)
        assert len(began) == lives, "what was stopped is not started again"

    after_three_deaths(stop)


def test_a_planned_new_life_does_not_wait_for_the_next_try() -> None:
    async def restart(here: Residency, began: list[float]) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        await here.restart("the model was changed")
        assert began[-1] == now

    after_three_deaths(restart)


def test_tries_are_further_and_further_apart_and_end() -> None:
    async def story() -> None:
        told: list[str] = []
        here, began = residency(told)
        await here.child()
        await asyncio.sleep(10_000)
        waits = [round(b - a - 0.1, 3) for a, b in zip(began, began[1:], strict=False)]
        assert waits == list(RESTART_SECONDS[1:])
        assert told[-1] == "resident-down"
        await here.stop("the gateway ends")

    in_virtual_time(story)
