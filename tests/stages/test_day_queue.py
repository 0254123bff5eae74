"""Five surfaces a day, the rest wait and were not emitted: on the real core, over days."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gnomon.daemon.inbox.day_queue import KEPT, MOST, Asked, Payload
from gnomon.domain.errors import LedgerClosedError
from gnomon.domain.instants import DAY, HOUR, SECOND
from gnomon.domain.ledgers import LedgerName
from gnomon.domain.records import Origin
from gnomon.domain.records_referee import SurfaceEmitted
from tests.world_kit import CALM, Gateway, World, in_virtual_time

A_DAY = DAY / SECOND
LEDGER: LedgerName = "engagement-ledger"


def lived(root: Path, story: Callable[[World, Gateway], Awaitable[None]], **settings: Any) -> None:
    """One life that begins in the morning, with a room for five a day."""

    async def run() -> None:
        world = World(root / "home", config=settings.pop("config", CALM), **settings)
        async with world.up() as gateway:
            await story(world, gateway)

    in_virtual_time(run)


def asked(gateway: Gateway, title: str, origin: Origin = "model", **more: Any) -> Asked:
    payload = Payload(kind=more.pop("kind", "notification"), title=title, body="The text.")
    version = more.pop("version", gateway.core.scaffold_version())
    return Asked(payload=payload, origin=origin, scaffold_version=version, **more)


async def bring(gateway: Gateway, *titles: str, **more: Any) -> list[str | None]:
    return [await gateway.core.surfaces.emit(asked(gateway, title, **more)) for title in titles]


def shown(gateway: Gateway) -> list[str]:
    return [line.title for line in gateway.surfaces()]


def test_the_sixth_of_a_day_waits_and_comes_with_the_next_day(tmp_path: Path) -> None:
    async def story(world: World, gateway: Gateway) -> None:
        brought = await bring(gateway, *"abcdefg")
        assert [each is not None for each in brought] == [True] * 5 + [False] * 2
        assert shown(gateway) == list("abcde")
        assert gateway.core.surfaces.waiting == 2
        await asyncio.sleep(A_DAY - world.now % DAY / SECOND + 65)
        assert shown(gateway) == list("abcdefg")
        lines = gateway.core.stores.files[LEDGER].read()
        days = Counter(line.at // DAY for line in lines if isinstance(line.body, SurfaceEmitted))
        assert list(days.values()) == [5, 2]
        item = (await gateway.ask("inbox.list"))[0]
        assert (item.title, item.outcome) == ("g", None)
        assert gateway.core.surfaces.waiting == 0

    lived(tmp_path, story)


def test_what_waits_outlives_a_restart_and_today_stays_counted(tmp_path: Path) -> None:
    async def story() -> None:
        world = World(tmp_path / "home")
        async with world.up(crashes=True) as gateway:
            await bring(gateway, *"abcdef")
        async with world.up() as gateway:
            assert gateway.core.surfaces.waiting == 1
            assert await bring(gateway, "g") == [None]
            await asyncio.sleep(A_DAY - world.now % DAY / SECOND + 65)
            assert shown(gateway) == list("abcdefg")

    in_virtual_time(story)


def test_the_operators_own_and_what_they_must_decide_never_wait(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        await bring(gateway, "1", "2", "3", origin="rule", kind="pending", at_once=True)
        await gateway.ask("inbox.emit", title="a test")
        assert await bring(gateway, *"abcde") != [None] * 5
        assert None not in await bring(gateway, "4", origin="rule", kind="pending", at_once=True)
        await gateway.emit("counted")
        assert await bring(gateway, "f") == [None]

    lived(tmp_path, story)


def test_config_says_how_many(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        assert [each is None for each in await bring(gateway, *"abc")] == [False, False, True]

    lived(tmp_path, story, config="[notify]\nmax_per_day = 2\n")


def test_a_newer_word_on_the_same_takes_the_older_ones_place(tmp_path: Path) -> None:
    async def story(world: World, gateway: Gateway) -> None:
        await bring(gateway, *"abcde")
        await bring(gateway, "old", dedupe_key="k")
        await bring(gateway, "other")
        await bring(gateway, "new", dedupe_key="k")
        await asyncio.sleep(A_DAY - world.now % DAY / SECOND + 65)
        assert shown(gateway)[5:] == ["other", "new"]

    lived(tmp_path, story)


def test_a_text_of_instructions_that_were_replaced_is_let_go_and_a_rules_is_not(
    tmp_path: Path,
) -> None:
    """A surface is charged to the version under which it is emitted; it must have written it."""

    async def story(world: World, gateway: Gateway) -> None:
        await bring(gateway, *"abcde")
        await bring(gateway, "of another", version="000099-abcdefabcdef")
        await bring(gateway, "a rule's", origin="rule", version="000099-abcdefabcdef")
        await asyncio.sleep(A_DAY - world.now % DAY / SECOND + 65)
        last = gateway.surfaces()[-1]
        assert shown(gateway)[5:] == ["a rule's"]
        assert last.scaffold_version == gateway.core.scaffold_version()

    lived(tmp_path, story)


def test_a_pause_holds_it_back_and_what_is_too_old_is_let_go(tmp_path: Path) -> None:
    async def story(world: World, gateway: Gateway) -> None:
        await bring(gateway, *"abcde")
        await bring(gateway, "waits")
        await gateway.ask("kernel.pause")
        await asyncio.sleep(A_DAY)
        assert gateway.core.surfaces.waiting == 1
        await asyncio.sleep((KEPT - DAY + HOUR) / SECOND)
        await gateway.ask("kernel.resume")
        await asyncio.sleep(65)
        assert shown(gateway) == list("abcde")
        assert gateway.core.surfaces.waiting == 0

    lived(tmp_path, story)


def test_the_line_has_an_end(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        await bring(gateway, *"abcde")
        await bring(gateway, *(f"w{number}" for number in range(MOST + 3)))
        assert gateway.core.surfaces.waiting == MOST

    lived(tmp_path, story)


def test_what_the_disk_refuses_waits_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(world: World, gateway: Gateway) -> None:
        stores = gateway.core.stores
        append = stores.append
        await bring(gateway, *"abcde")
        await bring(gateway, "waits")

        async def refuse(name: Any, body: Any, **more: Any) -> Any:
            if isinstance(body, SurfaceEmitted):
                raise LedgerClosedError("Closed.", ledger=name)
            return await append(name, body, **more)

        monkeypatch.setattr(stores, "append", refuse)
        await asyncio.sleep(A_DAY - world.now % DAY / SECOND + 65)
        assert gateway.core.surfaces.waiting == 1
        assert "A beat failed: Closed." in gateway.core.agent.journal.read_text()
        monkeypatch.undo()
        await asyncio.sleep(60)
        assert shown(gateway)[5:] == ["waits"]

    lived(tmp_path, story)


def test_a_damaged_line_is_set_aside_and_nothing_waits(tmp_path: Path) -> None:
    async def story() -> None:
        world = World(tmp_path / "home")
        file = world.home.agent("main").state / "surfaces-waiting.json"
        async with world.up() as gateway:
            await bring(gateway, *"abcdef")
        file.write_bytes(b"{")
        async with world.up() as gateway:
            assert gateway.core.surfaces.waiting == 0
            assert "What waited to be brought to you is lost." in (
                gateway.core.agent.journal.read_text()
            )

    in_virtual_time(story)


def test_a_day_is_counted_anew_when_the_clock_is_set_to_another(tmp_path: Path) -> None:
    async def story(world: World, gateway: Gateway) -> None:
        await bring(gateway, *"abcde")
        world.clock.step(2 * A_DAY)
        assert None not in await bring(gateway, "f")
        world.clock.step(-2 * A_DAY)
        assert await bring(gateway, "g") == [None]

    lived(tmp_path, story)
