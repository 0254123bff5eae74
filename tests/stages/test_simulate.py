"""The simulator: virtual time, the real daemon, and invariants that can fail."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gnomon.domain.errors import UsageError
from gnomon.domain.instants import HOUR, MINUTE, SECOND, Millis
from gnomon.domain.ledgers import GENESIS
from gnomon.simulate import invariants
from gnomon.simulate.ledger_files import PlainLine
from gnomon.simulate.story import Called, Story
from gnomon.simulate.virtual_time import StuckError, VirtualClock, VirtualTimeLoop
from gnomon.simulate.world import Plan, simulate


def test_a_sleep_of_a_year_takes_no_time() -> None:
    async def year() -> float:
        await asyncio.sleep(365 * 86_400)
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(year()) == 365 * 86_400


def test_timers_fire_in_the_order_of_their_times() -> None:
    async def order() -> list[str]:
        heard: list[str] = []

        async def say(after: float, word: str) -> None:
            await asyncio.sleep(after)
            heard.append(word)

        await asyncio.gather(say(3, "third"), say(1, "first"), say(2, "second"))
        return heard

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        assert runner.run(order()) == ["first", "second", "third"]


def test_a_program_that_waits_for_nothing_is_said_to_be_stuck() -> None:
    loop = VirtualTimeLoop()
    try:
        with pytest.raises(StuckError):
            loop.run_until_complete(loop.create_future())
    finally:
        loop.close()


def test_a_simulated_day_holds_every_invariant_and_leaves_a_home(tmp_path: Path) -> None:
    lived = simulate(Plan(days=1, seed=7, keep=tmp_path / "home"))
    assert lived.violations == ()
    assert lived.reflections + sum(lived.skipped.values()) == lived.ticks
    assert lived.ticks > 300  # one every 120 s that the machine was awake
    assert lived.turns > 0
    assert lived.surfaces > 0
    assert sum(lived.outcomes.values()) == lived.surfaces
    assert lived.faults == {}
    assert (tmp_path / "home" / "agents" / "main" / "kernel" / "decision-ledger.jsonl").exists()


def test_one_seed_lives_the_same_day_twice_to_the_byte(tmp_path: Path) -> None:
    lives: list[dict[str, bytes]] = []
    for name in ("one", "two"):
        simulate(Plan(days=1, seed=11, keep=tmp_path / name, faults=True))
        files = sorted((tmp_path / name).rglob("*.jsonl"))
        lives.append({str(each.relative_to(tmp_path / name)): each.read_bytes() for each in files})
    assert len(lives[0]) > 5
    assert lives[0] == lives[1]


def test_a_folder_that_holds_something_is_not_lived_in(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(UsageError, match="not empty"):
        simulate(Plan(days=1, seed=1, keep=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def line(seq: int, kind: str, prev: str = GENESIS, **fields: Any) -> PlainLine:
    return PlainLine(seq=seq, at=seq, kind=kind, prev=prev, sha256=str(seq), fields=fields)


def reflected(at: int) -> Story:
    story = Story(signs=[Millis(0)])
    story.called.append(Called("reflection", Millis(at), Millis(at + SECOND), 1.0))
    return story


def test_a_reflection_with_nobody_near_is_a_violation() -> None:
    assert list(invariants.silence_violations(reflected(3 * HOUR), 30))
    assert not list(invariants.silence_violations(reflected(10 * MINUTE), 30))


def test_more_inference_than_the_duty_cycle_is_a_violation() -> None:
    calls = [
        Called("reflection", Millis(number * MINUTE), Millis((number + 1) * MINUTE), 100.0)
        for number in range(1, 6)
    ]
    assert list(invariants.duty_violations(calls, 360.0))
    assert not list(invariants.duty_violations(calls[:4], 360.0))
    chats = [Called("chat", each.start, each.end, each.seconds) for each in calls]
    assert not list(invariants.duty_violations(chats, 360.0))


def test_a_metric_in_a_prompt_is_a_violation() -> None:
    assert list(invariants.prompt_violations(["Your Engagement is 0.4."]))
    assert not list(invariants.prompt_violations(["Look at the flaky test."]))


def test_a_line_out_of_its_place_is_a_violation() -> None:
    first, second = line(1, "tick"), line(2, "tick", prev="1")
    assert not list(invariants.order_violations([first, second]))
    assert list(invariants.order_violations([first, line(3, "tick", prev="1")]))
    assert list(invariants.order_violations([first, line(2, "tick")]))


def test_a_burst_of_ticks_is_a_violation() -> None:
    ticks = [line(number, "tick") for number in range(1, 20)]
    steady = {number: Millis(number * 2 * MINUTE) for number in range(1, 20)}
    assert not list(invariants.burst_violations(ticks, steady, 120_000))
    burst = steady | {number: Millis(20 * MINUTE + number) for number in range(10, 20)}
    assert list(invariants.burst_violations(ticks, burst, 120_000))


@pytest.mark.parametrize(
    ("kinds", "holds"),
    [
        (["acked", "acted"], True),
        (["system_unavailable", "acted"], True),
        (["acted", "ignored"], False),
        (["acked", "acked"], False),
    ],
)
def test_an_outcome_only_grows_stronger(kinds: list[str], holds: bool) -> None:
    shown = line(1, "surface_emitted", surface_id="a")
    outcomes = [
        line(seq, "outcome", surface_id="a", outcome=kind, downtime_seconds=None)
        for seq, kind in enumerate(kinds, start=2)
    ]
    assert (not list(invariants.outcome_violations([shown, *outcomes]))) is holds
    assert list(invariants.outcome_violations(outcomes)), "of what was never shown"


def test_the_machine_sleeps_without_its_timers() -> None:
    loop = VirtualTimeLoop()
    try:
        clock = VirtualClock(loop, Millis(0))
        clock.sleep(100)
        clock.step(-40)
        assert (clock.true(), clock.wall()) == (100_000, 60_000)
        assert (clock.monotonic(), clock.boottime()) == (0, 100)
        clock.reboot()
        assert (clock.monotonic(), clock.boottime(), clock.true()) == (0, 0, 100_000)
    finally:
        loop.close()
