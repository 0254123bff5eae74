"""Fitness over a life of the daemon's own wiring, in virtual time."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gnomon.daemon.health.ledger_pages import page
from gnomon.domain.errors import JailError, UsageError
from gnomon.domain.instants import HOUR, Millis, iso
from gnomon.gateway.answer import NotFoundError
from gnomon.resident.protocol import ArtifactArguments
from tests.live_kit import DOCUMENT
from tests.world_kit import CALM, Gateway, World, in_virtual_time


def lived(
    tmp_path: Path, work: Callable[[World, Gateway], Awaitable[None]], config: str = ""
) -> None:
    """One life of a gateway in a new home."""

    async def live() -> None:
        world = World(tmp_path / "home", config=config)
        async with world.up() as gateway:
            await work(world, gateway)

    in_virtual_time(live)


def test_each_window_is_measured_once_a_minute_or_two_after_it_closed(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        await asyncio.sleep(3 * 3600 + 300)
        fitness = await gateway.ask("fitness.show")
        starts = [window.window_start for window in fitness.windows]
        assert starts == [f"2026-03-02T0{hour}:00:00.000Z" for hour in (6, 7, 8)]
        assert {window.stall_reason for window in fitness.windows} == {"missing_data"}
        for window in fitness.windows:
            assert window.window_end < window.at < iso(Millis(world.now))
        assert fitness.stall.last is None
        assert fitness.stall.reason == "missing_data"

    lived(tmp_path, work)


def test_the_lines_behind_a_window_are_those_of_its_hour(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        del world
        await asyncio.sleep(3 * 3600 + 300)
        fitness = await gateway.ask("fitness.show")
        for window in fitness.windows:
            lines = window.lines["decision-ledger"]
            found = await gateway.ask(
                "ledger.read",
                name="decision-ledger",
                after=lines.first - 1,
                limit=lines.last - lines.first + 1,
            )
            ticks = [line for line in found.lines if line["kind"] == "tick"]
            assert len(ticks) == window.tick_count
            for line in found.lines:
                assert window.window_start <= line["at"] < window.window_end

    lived(tmp_path, work)


def test_an_answer_changes_the_pooled_number_at_once_and_the_window_later(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        del world
        surfaces = [await gateway.emit(f"Note {n}") for n in range(4)]
        await asyncio.sleep(3600 + 120)
        before = await gateway.ask("fitness.show")
        assert (before.pooled[0].open, before.pooled[0].rate) == (4, None)
        assert before.pooled[0].reason == "low_sample"
        assert (before.windows[0].pending, before.windows[0].mature) == (4, False)
        for surface in surfaces[:3]:
            await gateway.ask("inbox.use", surface_id=surface)
        await gateway.ask("inbox.dismiss", surface_id=surfaces[3])
        now = await gateway.ask("fitness.show")
        assert (now.pooled[0].acted, now.pooled[0].acked, now.pooled[0].rate) == (3, 1, 0.75)
        assert now.forecast.days is not None
        assert now.versions[0].rate == 0.75
        await asyncio.sleep(3600)
        later = await gateway.ask("fitness.show")
        assert later.windows[0].kind == "amendment"
        assert later.windows[0].engagement_rate == 0.75
        assert later.trends[0].rates[-1] == 0.75

    lived(tmp_path, work)


def test_the_week_before_is_what_the_week_is_compared_with(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        del world
        for title in ("one", "two", "three"):
            await gateway.ask("inbox.dismiss", surface_id=await gateway.emit(title))
        await asyncio.sleep(8 * 86_400)
        for title in ("four", "five", "six"):
            await gateway.ask("inbox.use", surface_id=await gateway.emit(title))
        fitness = await gateway.ask("fitness.show")
        assert (fitness.pooled[0].acted, fitness.pooled[0].acked) == (3, 0)
        assert (fitness.before.acted, fitness.before.acked, fitness.before.rate) == (0, 3, 0)
        assert fitness.pooled[1].rate == 0.5
        for pool, brought in zip(fitness.pooled, (3, 6), strict=True):
            behind = pool.lines
            page = await gateway.ask(
                "ledger.read",
                name="engagement-ledger",
                after=behind.first - 1,
                limit=behind.last - behind.first + 1,
            )
            counted = [line["outcome"] for line in page.lines if line["kind"] == "outcome"]
            assert (counted.count("acted"), counted.count("acked")) == (pool.acted, pool.acked)
            kinds = [line["kind"] for line in page.lines]
            assert (kinds[0], kinds.count("surface_emitted")) == ("surface_emitted", brought)

    lived(tmp_path, work, CALM)


def test_another_time_is_taken_in_a_simulated_home_alone(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        await asyncio.sleep(1830)
        then = iso(Millis(world.now + 2 * HOUR))
        done = await gateway.ask("fitness.run", now=then)
        assert (done.windows, done.now) == (1, then)
        assert (await gateway.ask("fitness.run", now=then)).windows == 0
        assert (await gateway.ask("fitness.show", now=then)).now == then
        mark = {"format": 1, "simulated": False}
        world.home.format_file.write_text(json.dumps(mark))
        for name in ("fitness.run", "fitness.show"):
            with pytest.raises(UsageError, match="simulated home, or a copy"):
                await gateway.ask(name, now=then)
        assert (await gateway.ask("fitness.show")).now == iso(world.now)

    lived(tmp_path, work)


def test_a_date_that_is_none_is_refused(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        del world
        with pytest.raises(UsageError, match="no date"):
            await gateway.ask("fitness.show", since="yesterday")
        assert (await gateway.ask("fitness.show", since="2026-01-01")).windows == ()

    lived(tmp_path, work)


def test_a_writer_that_cannot_start_is_told_once_and_harms_nothing(tmp_path: Path):
    async def live() -> None:
        world = World(tmp_path / "home")
        start = world.platform.start_child

        async def refuses(role: Any, *given: Any, **more: Any) -> Any:
            if role == "fitness-writer":
                raise JailError("There is no jail here.")
            return await start(role, *given, **more)

        world.platform = replace(world.platform, start_child=refuses)
        async with world.up() as gateway:
            await asyncio.sleep(3 * 3600)
            assert (await gateway.ask("fitness.show")).windows == ()
            journal = gateway.core.agent.journal.read_text()
            assert journal.count("could not be measured") == 1
            ticks = [line for line in gateway.lines("decision-ledger") if line.kind() == "tick"]
            assert len(ticks) > 80

    in_virtual_time(live)


def test_the_four_questions_are_answered_from_the_ledgers(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        del world
        await asyncio.sleep(2 * 3600 + 120)
        found = await gateway.ask("fitness.retune")
        assert found.days == 28
        assert len(found.answers) == 4
        assert found.answers[0].figures["windows"] == 2

    lived(tmp_path, work)


# --- ledgers by pages ----------------------------------------------------------------------------


def test_a_ledger_is_read_whole_by_its_pages(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        del world
        await asyncio.sleep(1800)
        seen: list[int] = []
        after: int | None = 0
        while after is not None:
            found = await gateway.ask("ledger.read", name="decision-ledger", after=after, limit=4)
            seen += [line["seq"] for line in found.lines]
            after = found.next_after
        assert seen == list(range(1, len(seen) + 1))
        assert len(seen) > 12
        whole = await gateway.ask("ledger.read", name="decision-ledger", limit=500)
        for before, line in zip(whole.lines, whole.lines[1:], strict=False):
            assert line["prev"] == before["sha256"]
        beyond = await gateway.ask("ledger.read", name="decision-ledger", after=10_000)
        assert (beyond.lines, beyond.next_after) == ((), None)

    lived(tmp_path, work)


def test_a_page_of_long_lines_is_short(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        del world
        await asyncio.sleep(600)
        ledger = gateway.core.stores.files["decision-ledger"]
        short = page(ledger, 0, 500, most_bytes=1)
        assert (len(short.lines), short.next_after) == (1, 1)
        assert len(page(ledger, 0, 500).lines) == ledger.head.seq

    lived(tmp_path, work)


def test_a_family_is_asked_by_id_and_other_ledgers_without(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        del world
        with pytest.raises(UsageError, match="one ledger for each id"):
            await gateway.ask("ledger.read", name="run")
        with pytest.raises(UsageError, match="has no ids"):
            await gateway.ask("ledger.read", name="anchors", id="x")
        with pytest.raises(NotFoundError):
            await gateway.ask("ledger.read", name="session", id="nobody")
        assert "run" in await gateway.ask("ledger.names")

    lived(tmp_path, work)


def test_to_look_at_a_document_is_not_to_use_it(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        del world
        made = await gateway.core.artifacts.put(
            ArtifactArguments(
                action_kind="research-brief", title="checkout", query="why", text=DOCUMENT
            )
        )
        shown = await gateway.ask("artifact.show", artifact=made.artifact)
        assert "Two cases bind port 8080." in shown.text
        assert gateway.outcomes() == []
        with pytest.raises(UsageError):
            await gateway.ask("artifact.show", artifact="nothing@v1")

    lived(tmp_path, work)
