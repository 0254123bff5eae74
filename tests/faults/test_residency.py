"""A resident that keeps dying: started again with waits, and nobody who stops waits for them."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from gnomon.daemon.child.residency import LOOK_SECONDS, RESTART_SECONDS, Residency
from gnomon.daemon.talk import recall_process
from gnomon.domain.errors import PipeError, TrustError
from gnomon.testing.memory_child import MemoryChild
from gnomon.trust.ipc import Peer
from tests.world_kit import World, in_virtual_time


class DyingChild:
    """Lives for `seconds`, then is gone as if it had been killed."""

    pid = 1
    level = "none"

    def __init__(self, seconds: float) -> None:
        self.self_test: dict[str, Any] = {}
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
        waits = [round(b - a - 0.1, 3) for a, b in pairwise(began)]
        assert waits == list(RESTART_SECONDS[1:])
        assert told[-1] == "resident-down"
        await here.stop("the gateway ends")

    in_virtual_time(story)


class StuckChild(DyingChild):
    """Takes questions and answers none, until it is killed; `awake` ones know no `look`."""

    def __init__(self, *, awake: bool) -> None:
        super().__init__(0)
        self._awake = awake
        self._gone = asyncio.Event()

    async def call(self, op: str, args: Any, *, on_part: Any = None) -> Any:
        del args, on_part
        if self._awake and op == "look":
            raise TrustError("No such question.")
        await self._gone.wait()
        raise PipeError("It is gone.")

    async def wait(self) -> int:
        await self._gone.wait()
        return -9

    async def stop(self, grace: float) -> None:
        del grace
        self._gone.set()


def looked_at(*, awake: bool, asks: bool, looks: int) -> list[str]:
    """What was told of a resident that owes an answer for ever, after so many beats."""
    told: list[str] = []

    async def story() -> None:
        lives = [StuckChild(awake=awake), DyingChild(1_000_000)]

        async def start() -> Any:
            return lives.pop(0)

        loop = asyncio.get_running_loop()
        here = Residency(start, loop.time, lambda code, _: told.append(code))
        await here.child()
        waiting = asyncio.create_task(here.ask("tick", {})) if asks else None
        await asyncio.sleep(0)
        for _ in range(looks):
            before = loop.time()
            await here.look()
            assert loop.time() - before <= LOOK_SECONDS
        if waiting is not None:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.sleep(RESTART_SECONDS[1] + 1)
        assert here.is_up
        await here.stop("the gateway ends")

    in_virtual_time(story)
    return [code for code in told if code != "resident-stop"]


def test_a_resident_that_is_stuck_is_ended_and_started_again() -> None:
    assert looked_at(awake=False, asks=True, looks=2) == ["resident-stuck", "resident-died"]


def test_one_beat_without_an_answer_ends_nobody() -> None:
    assert looked_at(awake=False, asks=True, looks=1) == []


def test_a_slow_tick_is_not_a_stuck_resident() -> None:
    assert looked_at(awake=True, asks=True, looks=10) == []


def test_a_resident_that_owes_nothing_is_not_woken() -> None:
    assert looked_at(awake=False, asks=False, looks=10) == []


def test_a_search_that_is_stuck_ends_with_an_error_and_the_next_is_tried_anew(
    tmp_path: Path,
) -> None:
    starts: list[str] = []

    async def stuck(peer: Peer, argument: Any) -> None:
        del argument

        async def never(op: str, args: Any, send_part: Any) -> Any:
            del op, args, send_part
            await asyncio.sleep(1_000_000)

        peer.serve(never)
        await peer.closed()

    async def story() -> None:
        world = World(tmp_path / "home")
        begin = world._start

        async def start(role: Any, module: str, argument: Any, grants: Any, *, serve: Any) -> Any:
            if role != "recall":
                return await begin(role, module, argument, grants, serve=serve)
            starts.append(module)
            return await MemoryChild.begin(role, stuck, argument, serve)

        world._start = start  # type: ignore[method-assign]
        object.__setattr__(world.platform, "start_child", start)
        async with world.up() as gateway:
            loop = asyncio.get_running_loop()
            before = loop.time()
            reply = await gateway.ask("chat.turn", text="how did I fix it?")
            assert "could not be searched" in reply.reply
            assert loop.time() - before < 2 * recall_process.ANSWER_SECONDS + 10
            await gateway.ask("chat.turn", text="and now?")

    in_virtual_time(story)
    assert len(starts) == 4
