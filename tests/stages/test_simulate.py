"""The simulator: virtual time, the real daemon, and invariants that can fail."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from gnomon.domain.errors import UsageError
from gnomon.domain.instants import HOUR, MINUTE, Millis
from gnomon.domain.ledgers import GENESIS, Line
from gnomon.domain.records import Body, Reflection, Spend, Tick
from gnomon.simulate import invariants
from gnomon.simulate.virtual_time import StuckError, VirtualTimeLoop
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
    assert lived.ticks == 720  # one every 120 s
    assert lived.reflections + sum(lived.skipped.values()) == lived.ticks
    assert lived.turns > 0
    assert (tmp_path / "home" / "agents" / "main" / "kernel" / "decision-ledger.jsonl").exists()


def test_one_seed_lives_the_same_day_twice_to_the_byte(tmp_path: Path) -> None:
    ledgers: list[bytes] = []
    for name in ("one", "two"):
        simulate(Plan(days=1, seed=11, keep=tmp_path / name))
        kernel = tmp_path / name / "agents" / "main" / "kernel"
        ledgers.append((kernel / "decision-ledger.jsonl").read_bytes())
    assert ledgers[0] == ledgers[1]


def test_a_folder_that_holds_something_is_not_lived_in(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(UsageError, match="not empty"):
        simulate(Plan(days=1, seed=1, keep=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def line(seq: int, at: int, body: Body) -> Line:
    return Line(seq=seq, at=Millis(at), schema=1, prev=GENESIS, sha256=str(seq), body=body)


def reflection() -> Reflection:
    return Reflection(
        reflection_no=1,
        focus="f",
        desired_action="rest",
        summary="",
        concerns=(),
        active_item=None,
        raw_signature="",
        repeated=False,
        repeat_count=0,
        pressure="none",
        model="m",
        seconds=1.0,
        tokens_in=None,
        tokens_out=None,
        scaffold_version="000001-000000000000",
    )


def spend(seconds: float) -> Spend:
    return Spend(
        role="resident",
        purpose="reflection",
        agent="main",
        model="m",
        prompt="",
        tokens_in=1,
        tokens_out=1,
        tokens_cached=None,
        seconds=seconds,
        cost_usd=0.0,
        joules=None,
    )


def test_a_reflection_with_nobody_near_is_a_violation() -> None:
    decisions = [line(1, 3 * HOUR, reflection())]
    assert list(invariants.silence_violations(decisions, [Millis(0)], 30))
    near = [Millis(3 * HOUR - 10 * MINUTE)]
    assert not list(invariants.silence_violations(decisions, near, 30))


def test_more_inference_than_the_duty_cycle_is_a_violation() -> None:
    calls = [line(number, number * MINUTE, spend(100.0)) for number in range(1, 6)]
    assert list(invariants.duty_violations(calls, 360.0))
    assert not list(invariants.duty_violations(calls[:4], 360.0))


def test_a_metric_in_a_prompt_is_a_violation() -> None:
    assert list(invariants.prompt_violations(["Your Engagement is 0.4."]))
    assert not list(invariants.prompt_violations(["Look at the flaky test."]))


def test_a_line_out_of_its_place_is_a_violation() -> None:
    first = line(1, 0, Tick(scaffold_version="v"))
    second = msgspec.structs.replace(line(2, 1, Tick(scaffold_version="v")), prev="1")
    assert not list(invariants.order_violations([first, second]))
    assert list(invariants.order_violations([first, line(3, 1, Tick(scaffold_version="v"))]))
