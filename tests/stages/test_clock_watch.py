"""The clocks are watched from life to life: each step is noted once, and before what it changes."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gnomon.daemon.life import Life
from gnomon.daemon.wire import open_core
from gnomon.domain.body import Body
from gnomon.domain.errors import LedgerClosedError
from gnomon.domain.instants import HOUR, MINUTE
from gnomon.domain.ledgers import LedgerName
from gnomon.domain.records_referee import ClockStepped, GatewayStarted, GatewayStopped
from tests.world_kit import AGENT, Gateway, World, in_virtual_time, lived

DAY = 86_400.0


def steps(gateway: Gateway) -> list[int]:
    return [body.step_seconds for body in gateway.lines() if isinstance(body, ClockStepped)]


def awake_hours(world: World, gateway: Gateway, surface_id: str) -> float:
    state = gateway.core.book.state()
    surface = state.find(surface_id)
    assert surface is not None
    return state.awake_ms(surface, state.availability.steady(world.now)) / HOUR


@pytest.mark.parametrize("seconds", [60, 3600])
def test_a_pause_goes_on_while_the_machine_sleeps(tmp_path: Path, seconds: int) -> None:
    async def story(world: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit()
        await asyncio.sleep(3600)
        await gateway.ask("kernel.pause", for_seconds=12 * 3600)
        await asyncio.sleep(3600)
        world.clock.sleep(seconds)
        await asyncio.sleep(13 * 3600)
        causes = [body.cause for body in gateway.lines() if isinstance(body, GatewayStopped)]
        assert causes == ["pause"]
        # The hour before, and what is left of the thirteen after eleven more of pause.
        assert awake_hours(world, gateway, surface_id) == pytest.approx(3 + seconds / 3600, abs=0.1)

    lived(tmp_path, story)


@pytest.mark.parametrize("boot", ["boot", "another"])
@pytest.mark.parametrize("seconds", [DAY, -DAY])
def test_a_step_noted_before_a_crash_is_not_noted_again(
    tmp_path: Path, seconds: float, boot: str
) -> None:
    async def live() -> None:
        world = World(tmp_path / "home")
        async with world.up(crashes=True) as gateway:
            surface_id = await gateway.emit()
            await asyncio.sleep(20 * 3600 + 10)
            world.clock.step(seconds)
            await gateway.emit()  # it is noted here, and the next heartbeat never comes
        await asyncio.sleep(20)
        if boot != "boot":
            world.clock.reboot()
        async with world.up(boot=boot) as gateway:
            assert steps(gateway) == [round(seconds)]
            assert awake_hours(world, gateway, surface_id) == pytest.approx(20, abs=0.1)

    in_virtual_time(live)


def test_a_start_that_dies_between_the_note_and_its_own_line_does_not_note_twice(
    tmp_path: Path,
) -> None:
    async def live() -> None:
        world = World(tmp_path / "home")
        async with world.up() as gateway:
            await gateway.emit()
            await asyncio.sleep(3600)
        world.clock.step(DAY)
        async with open_core(world.home, AGENT, world.platform) as core:
            append = core.stores.append

            async def dies(name: LedgerName, body: Body, **how: Any) -> Any:
                if isinstance(body, GatewayStarted):
                    raise LedgerClosedError("The power fails.")
                return await append(name, body, **how)

            core.stores.append = dies  # type: ignore[method-assign]
            with pytest.raises(LedgerClosedError):
                await Life(core, boot="boot").begin()
        async with world.up() as gateway:
            assert steps(gateway) == [round(DAY)]

    in_virtual_time(live)


@pytest.mark.parametrize("seconds", [DAY, -DAY])
def test_a_note_that_was_cut_short_after_it_was_written_stands_for_its_step(
    tmp_path: Path, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World, gateway: Gateway) -> None:
        await gateway.emit()
        await asyncio.sleep(125)
        append = gateway.core.stores.append

        async def cut_short(*line: Any, **how: Any) -> Any:
            await append(*line, **how)
            raise asyncio.CancelledError

        world.clock.step(seconds)
        monkeypatch.setattr(gateway.core.stores, "append", cut_short)
        with pytest.raises(asyncio.CancelledError):
            await gateway.core.book.beat()
        monkeypatch.setattr(gateway.core.stores, "append", append)
        await asyncio.sleep(125)
        assert steps(gateway) == [round(seconds)]

    lived(tmp_path, story)


def test_no_window_is_measured_before_a_step_out_of_it_is_noted(tmp_path: Path) -> None:
    async def story(world: World, gateway: Gateway) -> None:
        await asyncio.sleep(1810)
        world.clock.step(3600)
        await asyncio.sleep(5)
        await gateway.core.desk.turn()
        window, *_ = gateway.lines("fitness-ledger")
        assert window.stall_reason == "clock_step"

    lived(tmp_path, story)


def test_a_step_that_no_ledger_could_take_is_found_again(tmp_path: Path) -> None:
    async def live() -> None:
        world = World(tmp_path / "home")

        async def refuse(*_: Any, **__: Any) -> Any:
            raise LedgerClosedError("The ledger is closed.")

        async with world.up(crashes=True) as gateway:
            await gateway.emit()
            await asyncio.sleep(125)
            gateway.core.stores.append = refuse  # type: ignore[method-assign]
            world.clock.step(-DAY)
            await asyncio.sleep(10 * 60)
        async with world.up() as gateway:
            assert steps(gateway) == [pytest.approx(-DAY, abs=1)]

    in_virtual_time(live)


def test_a_stop_within_a_pause_says_since_when_it_was_away(tmp_path: Path) -> None:
    async def live() -> None:
        world = World(tmp_path / "home")
        async with world.up() as gateway:
            await gateway.ask("kernel.pause", for_seconds=12 * 3600)
            await asyncio.sleep(3600)
        async with world.up() as gateway:
            pause, stop, *_ = (x for x in gateway.lines() if isinstance(x, GatewayStopped))
            assert (pause.cause, stop.cause) == ("pause", "orderly")
            assert stop.gap_seconds == pytest.approx(3600, abs=MINUTE // 1000)

    in_virtual_time(live)


def test_a_verb_without_a_gateway_notes_a_step_before_what_it_writes(tmp_path: Path) -> None:
    async def live() -> None:
        world = World(tmp_path / "home")
        async with world.up() as gateway:
            surface_id = await gateway.emit()
            await asyncio.sleep(3600)
        world.clock.step(-DAY)
        async with open_core(world.home, AGENT, world.platform) as core:
            assert await core.book.record(surface_id, "acted", "cli")
        async with world.up() as gateway:
            kinds = [body.kind() for body in gateway.lines()]
            assert kinds.index("clock-stepped") == kinds.index("gateway_stopped") + 1
            assert len(steps(gateway)) == 1

    in_virtual_time(live)
