"""Who is near is told by a clock that nobody sets."""

import asyncio
from pathlib import Path

import msgspec

from gnomon.domain.messages import ModelRequest
from gnomon.domain.records import Tick
from gnomon.testing.openai_parts import example_of
from tests.world_kit import World, in_virtual_time

HOUR = 3_600
YEAR = 365 * 24 * HOUR


def says(request: ModelRequest) -> str:
    assert request.schema is not None
    return msgspec.json.encode(example_of(request.schema)).decode()


def test_a_wall_that_is_set_back_keeps_nobody_near_who_has_gone(tmp_path: Path) -> None:
    async def live() -> list[str | None]:
        world = World(tmp_path, says=says)
        async with world.up() as gateway:
            await asyncio.sleep(5 * 60)
            world.clock.step(-YEAR)
            await asyncio.sleep(2 * HOUR)
            ticks = [each for each in gateway.lines("decision-ledger") if isinstance(each, Tick)]
            return [tick.skip_reason for tick in ticks]

    reasons = in_virtual_time(live)
    assert set(reasons[-40:]) == {"idle"}


def test_a_wall_that_is_set_forward_takes_nobody_away(tmp_path: Path) -> None:
    async def live() -> set[str | None]:
        world = World(tmp_path, says=says)
        async with world.up() as gateway:
            world.clock.step(YEAR)
            await asyncio.sleep(20 * 60)
            ticks = [each for each in gateway.lines("decision-ledger") if isinstance(each, Tick)]
            return {tick.skip_reason for tick in ticks}

    assert "idle" not in in_virtual_time(live)
