"""The daemon by clocks that are set, stand still or begin anew, and a week with a broken model:
in virtual time, over the real core, life and resident.
"""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gnomon.daemon.core import Core
from gnomon.daemon.life import Life
from gnomon.daemon.wire import open_core
from gnomon.domain.errors import ModelTimeoutError
from gnomon.domain.instants import DAY, HOUR, SECOND, parse_iso
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.home import Home
from gnomon.ledger.verify import verify
from gnomon.resident.reflection import ReflectionOutput
from gnomon.simulate.virtual_time import VirtualClock, VirtualTimeLoop
from gnomon.testing.clock import SequenceIds
from tests.daemon_world import Answer, Machine, failing

START = parse_iso("2026-03-02T06:00:00Z")
TICK = 120
YEAR = 365 * DAY // SECOND
STEPS = [HOUR // SECOND, -HOUR // SECOND, YEAR, -YEAR]

Days = Callable[[Core, VirtualClock], Awaitable[None]]


class World:
    """One machine over several lives of a gateway."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.ids = SequenceIds()
        self.machine: Machine | None = None

    def live(
        self,
        *lives: Days,
        between: Callable[[VirtualClock], None] | None = None,
        boots: tuple[str, str] = ("one-boot", "one-boot"),
    ) -> None:
        """Live each in turn, with something done to the clock between them."""
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(self._live(lives, between, boots))

    async def _live(
        self,
        lives: tuple[Days, ...],
        between: Callable[[VirtualClock], None] | None,
        boots: tuple[str, str],
    ) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        clock = VirtualClock(loop, START)
        machine = self.machine = self.machine or Machine(clock=clock, ids=self.ids)
        machine.clock = clock
        for number, days in enumerate(lives):
            if number and between is not None:
                between(clock)
            async with open_core(self.home, "main", machine.platform()) as core:
                life = Life(core, boot=boots[number])
                await life.begin()
                await days(core, clock)
                await life.end()

    # --- what was written ----------------------------------------------------------------------

    def segments(self, path: Path) -> list[list[dict[str, Any]]]:
        """The lines of a ledger, segment by segment."""
        files = [path, *sorted(path.parent.glob(f"{path.stem}.0*.jsonl"))]
        return [[msgspec.json.decode(x) for x in f.read_bytes().splitlines()] for f in files]

    @property
    def agent(self):
        return self.home.agent("main")

    def steps(self) -> list[int]:
        return [
            line["step_seconds"]
            for segment in self.segments(self.agent.engagement_ledger)
            for line in segment
            if line["kind"] == "clock-stepped"
        ]

    def ticks(self) -> list[list[int]]:
        return [
            [parse_iso(line["at"]) for line in segment if line["kind"] == "tick"]
            for segment in self.segments(self.agent.decision_ledger)
        ]

    def holds(self) -> None:
        """Every chain is whole, and no segment's times run backwards."""
        assert [x for x in verify(self.home).ledgers if not x.ok] == []
        for path in (
            self.agent.decision_ledger,
            self.agent.engagement_ledger,
            self.home.spend_ledger,
        ):
            for segment in self.segments(path):
                times = [line["at"] for line in segment]
                assert times == sorted(times)


def step(seconds: float) -> Days:
    """Half an hour, a step of the wall clock, half an hour."""

    async def days(core: Core, clock: VirtualClock) -> None:
        del core
        await asyncio.sleep(1800)
        clock.step(seconds)
        await asyncio.sleep(1810)

    return days


async def an_hour(core: Core, clock: VirtualClock) -> None:
    del core, clock
    await asyncio.sleep(3610)


@pytest.fixture
def world(ram: Path) -> World:
    return World(Home(ram / "home"))


@pytest.mark.parametrize("seconds", STEPS)
def test_a_step_of_the_wall_is_written_down_and_doubles_no_tick(world: World, seconds: int):
    world.live(step(seconds))
    world.holds()
    assert world.steps() == [pytest.approx(seconds, abs=61)]
    segments = world.ticks()
    assert len(segments) == (2 if seconds < 0 else 1)
    # Ticks go by the monotonic clock: as many as ever, none made up, none in a burst.
    assert sum(map(len, segments)) == 3600 // TICK
    for segment in segments:
        gaps = [(b - a) / SECOND for a, b in pairwise(segment)]
        assert all(gap >= TICK - 2 for gap in gaps), gaps


@pytest.mark.parametrize("seconds", STEPS)
def test_a_step_while_nothing_ran_is_written_down_by_the_next_life(world: World, seconds: int):
    world.live(an_hour, an_hour, between=lambda clock: clock.step(seconds))
    world.holds()
    assert world.steps() == [pytest.approx(seconds, abs=5)]
    assert sum(map(len, world.ticks())) == 2 * 3600 // TICK


def test_a_wall_that_is_behind_after_another_boot_was_set_back(world: World):
    world.live(
        an_hour, an_hour, between=lambda clock: clock.step(-7200), boots=("one-boot", "another")
    )
    world.holds()
    assert world.steps() == [pytest.approx(-7200, abs=5)]


@pytest.mark.parametrize("seconds", [60, -60, 290, -290])
def test_a_small_step_is_no_event(world: World, seconds: int):
    world.live(step(seconds))
    world.holds()
    assert world.steps() == []
    assert len(world.ticks()) == 1


def test_a_sleep_of_nine_hours_is_no_step_and_its_ticks_are_not_made_up(world: World):
    async def night(core: Core, clock: VirtualClock) -> None:
        del core
        await asyncio.sleep(1800)
        clock.sleep(9 * 3600)
        await asyncio.sleep(1810)

    world.live(night)
    world.holds()
    assert world.steps() == []
    [ticks] = world.ticks()
    assert len(ticks) == 3600 // TICK
    gaps = sorted((b - a) // SECOND for a, b in pairwise(ticks))
    assert gaps[-1] >= 9 * 3600
    assert gaps[-2] <= TICK + 2
    assert gaps[0] >= TICK - 2


def test_a_sleep_while_nothing_ran_is_counted(world: World):
    world.live(an_hour, an_hour, between=lambda clock: clock.sleep(9 * 3600))
    world.holds()
    lines = [x for segment in world.segments(world.agent.engagement_ledger) for x in segment]
    started = [line for line in lines if line["kind"] == "gateway_started"]
    assert started[1]["asleep_seconds"] == 9 * 3600
    assert started[1]["gap_seconds"] >= 9 * 3600
    assert world.steps() == []


def test_a_turn_in_a_session_goes_on_after_the_clock_went_back_a_year(world: World):
    async def talk(core: Core, clock: VirtualClock) -> None:
        first = await core.turns.take("one", None, None, "local", None, lambda _: None)
        clock.step(-YEAR)
        await asyncio.sleep(130)
        for text in ("two", "three"):
            reply = await core.turns.take(text, first.session, None, "local", None, lambda _: None)
        assert reply.turn == 3
        assert [x.text for x in core.turns.messages(first.session) if x.role == "user"] == [
            "one", "two", "three",
        ]  # fmt: skip

    world.live(talk)
    world.holds()


REFLECTION = ReflectionOutput(
    focus="the week",
    desired_action="rest",
    summary="Nothing stirs.",
    concerns=(),
    interests=(),
    open_questions=(),
    candidate_items=(),
    active_item=None,
)


async def reflects(_: ModelRequest) -> ModelReply:
    content = msgspec.json.encode(REFLECTION).decode()
    return ModelReply(content=content, finish="stop", model="scripted")


async def nonsense(_: ModelRequest) -> ModelReply:
    return ModelReply(content="no JSON", finish="stop", model="scripted")


@pytest.mark.parametrize(
    ("broken", "calls", "reason", "days"),
    [
        (failing(ModelTimeoutError("It does not answer.", seconds=1.0)), 3, "model-error", 7),
        (nonsense, 6, "invalid-output", 1),  # each reflection asks once more
    ],
    ids=["dead", "nonsense"],
)
def test_in_a_week_with_nobody_there_a_failing_model_is_left_alone(
    world: World, broken: Answer, calls: int, reason: str, days: int
):
    """Three failures open the breaker; with nobody near there is no trial, however long."""
    asked: list[int] = []

    async def week(core: Core, clock: VirtualClock) -> None:
        del clock
        machine = world.machine
        assert machine is not None
        machine.model.answer = reflects
        await asyncio.sleep(HOUR // SECOND)  # the model works, and the operator leaves
        asked.append(machine.model.calls)
        machine.model.answer = broken
        await asyncio.sleep(2 * HOUR // SECOND)
        asked.append(machine.model.calls)
        assert core.broker.budget_view().breaker_open_until is not None
        await asyncio.sleep(days * DAY // SECOND + 10)
        asked.append(machine.model.calls)
        assert core.broker.budget_view().breaker_open_until is not None

    world.home.root.mkdir()
    world.home.config.write_text("[kernel]\nidle_activity_gate_minutes = 0\ntick_ms = 600000\n")
    world.live(week)
    world.holds()
    assert asked[0] > 0
    assert asked[1] == asked[0] + calls, "three failures open the breaker"
    assert asked[2] == asked[1], "and no call is made in the week after"
    [ticks] = world.ticks()
    assert len(ticks) == (3 * HOUR + days * DAY) // (600 * SECOND)
    lines = [x for segment in world.segments(world.agent.decision_ledger) for x in segment]
    reasons = [x["skip_reason"] for x in lines if x["kind"] == "tick"]
    assert set(reasons[-100:]) == {"model-error"}
    assert reason in reasons
    assert world.agent.journal.read_text().count("holds back") == 1
