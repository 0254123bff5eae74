"""The judge in a life of the daemon's own wiring, in virtual time: nobody calls it but the beat."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gnomon.domain.errors import JailError, UsageError
from gnomon.domain.instants import DAY, HOUR, Millis, iso
from gnomon.domain.policy import Role
from gnomon.domain.records_change import Judgment
from tests.change_kit import CANDIDATE, PARENT, PROMPT, a_change
from tests.court_kit import DEV
from tests.judge_kit import a_window
from tests.world_kit import Gateway, World, in_virtual_time


def lived(
    tmp_path: Path,
    work: Callable[[World, Gateway], Awaitable[None]],
    *without: Role,
    fitness: str = DEV,
) -> None:
    """One life of a gateway, some of whose roles do not start."""

    async def live() -> None:
        world = World(tmp_path / "home", fitness=fitness)
        start = world.platform.start_child

        async def refuses(role: Any, *given: Any, **more: Any) -> Any:
            if role in without:
                raise JailError(f"No {role} starts here.")
            return await start(role, *given, **more)

        world.platform = replace(world.platform, start_child=refuses)
        async with world.up() as gateway:
            await work(world, gateway)

    in_virtual_time(live)


async def measured(world: World, gateway: Gateway, stall: float, engagement: float) -> None:
    """Two hours go by, of which the test itself says how they were."""
    for _ in range(2):
        start = iso(Millis(world.now // HOUR * HOUR))
        await asyncio.sleep(3600)
        version, config = gateway.core.scaffold_version(), gateway.core.fitness.sha256
        window = a_window(start, stall, engagement, version=version, config=config)
        await gateway.core.stores.append("fitness-ledger", window)
    await asyncio.sleep(180)


def verdicts(gateway: Gateway) -> list[str]:
    lines: list[Judgment] = gateway.lines("judgment-ledger")
    return [line.outcome for line in lines]


def test_a_better_prompt_is_kept_and_a_worse_one_rolled_back(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        await asyncio.sleep(300)
        await measured(world, gateway, 0.4, 0.5)
        await gateway.core.changes.propose(a_change())
        await measured(world, gateway, 0.4, 0.6)
        assert verdicts(gateway) == ["pending", "kept"]
        prompt = gateway.core.agent.scaffold / PROMPT
        assert prompt.read_text() == CANDIDATE
        worse = CANDIDATE + "\nSay everything twice.\n"
        await gateway.core.changes.propose(a_change(2, worse, base=CANDIDATE))
        assert prompt.read_text() == worse
        await measured(world, gateway, 0.5, 0.3)
        assert verdicts(gateway) == ["pending", "kept", "pending", "rolled_back"]
        assert prompt.read_text() == CANDIDATE
        shown = await gateway.ask("changes.list")
        assert {each.change_id: each.outcome for each in shown} == {
            "change-0001": "kept",
            "change-0002": "rolled_back",
        }
        journal = gateway.core.agent.journal.read_text()
        assert journal.count("Judged change-000") == 2

    lived(tmp_path, work, "fitness-writer")


def test_a_human_edit_ends_the_test_at_a_beat_and_survives(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        await asyncio.sleep(300)
        await measured(world, gateway, 0.4, 0.5)
        await gateway.core.changes.propose(a_change())
        await asyncio.sleep(300)
        prompt = gateway.core.agent.scaffold / PROMPT
        prompt.write_text("By hand.\n")
        await asyncio.sleep(300)
        assert verdicts(gateway) == ["pending", "voided"]
        assert prompt.read_text() == "By hand.\n"

    lived(tmp_path, work, "fitness-writer")


def test_without_a_judge_the_resident_does_the_same(tmp_path: Path):
    ticks: list[list[tuple[str, str | None]]] = []

    async def work(world: World, gateway: Gateway) -> None:
        await asyncio.sleep(300)
        await gateway.core.changes.propose(a_change())
        await asyncio.sleep(6 * 3600)
        said = [line for line in gateway.lines("decision-ledger") if line.kind() == "tick"]
        ticks.append([(line.scaffold_version, line.skip_reason) for line in said])
        journal = gateway.core.agent.journal.read_text()
        assert journal.count("could not be judged") == len(ticks) - 1

    lived(tmp_path / "with", work)
    lived(tmp_path / "without", work, "judge")
    assert ticks[0] == ticks[1]
    assert len(ticks[0]) > 150


def test_jobs_are_listed_and_run_by_hand(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        await asyncio.sleep(300)
        listed = {job.name: job for job in await gateway.ask("jobs.list")}
        assert {"fitness", "judge"} <= listed.keys()
        assert (listed["judge"].due, listed["judge"].last_at) == (False, None)
        assert listed["judge"].why_not == "Nothing is under judgment."
        idle = await gateway.ask("jobs.run", name="judge")
        assert (idle.ran, idle.done, idle.why_not) == (False, (), "Nothing is under judgment.")
        with pytest.raises(UsageError, match="no job"):
            await gateway.ask("jobs.run", name="dream")
        await measured(world, gateway, 0.4, 0.5)
        await gateway.core.changes.propose(a_change())
        done = await gateway.ask("jobs.run", name="judge")
        assert done.done[0].startswith("change-0001: no verdict yet, since too few hours")
        later = iso(Millis(world.now + 8 * DAY))
        done = await gateway.ask("jobs.run", name="judge", now=later)
        assert done.done[0].startswith("change-0001: undone, since too few hours")
        assert (gateway.core.agent.scaffold / PROMPT).read_text() == PARENT
        listed = {job.name: job for job in await gateway.ask("jobs.list")}
        assert listed["judge"].last_at is not None

    lived(tmp_path, work, "fitness-writer")


def test_the_fitness_writer_is_a_job_too(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        await asyncio.sleep(1800)
        then = iso(Millis(world.now + 2 * HOUR))
        done = await gateway.ask("jobs.run", name="fitness", now=then)
        assert (done.ran, done.done, done.why_not) == (True, ("windows measured: 1",), None)
        listed = {job.name: job for job in await gateway.ask("jobs.list")}
        assert listed["fitness"].last_at is not None
        await asyncio.sleep(2 * 3600)
        idle = await gateway.ask("jobs.run", name="fitness")
        assert (idle.done, idle.why_not) == ((), "No window has closed since it last ran.")

    lived(tmp_path, work)


def test_what_is_measured_is_not_due_after_a_restart_either(tmp_path: Path):
    async def live() -> None:
        world = World(tmp_path / "home", fitness=DEV)
        async with world.up():
            await asyncio.sleep(2 * 3600)
        async with world.up() as gateway:
            listed = {job.name: job for job in await gateway.ask("jobs.list")}
            ran = await gateway.ask("jobs.run", name="fitness")
            assert (listed["fitness"].due, ran.done) == (False, ())
            assert listed["fitness"].why_not == ran.why_not

    in_virtual_time(live)


def test_before_the_first_hour_is_over_nothing_is_due(tmp_path: Path):
    async def work(world: World, gateway: Gateway) -> None:
        await asyncio.sleep(300)
        listed = {job.name: job for job in await gateway.ask("jobs.list")}
        assert not listed["fitness"].due
        assert not gateway.core.desk.is_due(), "no process is started for nothing"
        await asyncio.sleep(3600)
        assert gateway.lines("fitness-ledger")

    lived(tmp_path, work)
