"""Many simulated lives with faults, and what none of them may break."""

import json
from pathlib import Path

import pytest

from gnomon.simulate import laundering, operators
from gnomon.simulate.world import Plan, simulate
from tests.recompute_fitness import read, recompute

pytestmark = pytest.mark.sweep
SEEDS = 50
TOGETHER = 5
"""Seeds of one test: few enough that several processes share them evenly."""
SOAK_SEEDS = 1_000
NIGHT = 25


def live(first: int, count: int) -> None:
    for seed in range(first, first + count):
        name = operators.NAMES[seed % len(operators.NAMES)]
        lived = simulate(Plan(days=2, seed=seed, operator=name, faults=True))
        assert lived.violations == (), f"seed {seed}, {name}"
        assert lived.faults
        assert lived.windows


@pytest.mark.parametrize("first", range(1, SEEDS, TOGETHER))
def test_two_days_with_faults_break_nothing(first: int) -> None:
    live(first, TOGETHER)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1_000, 1_000 + SOAK_SEEDS, NIGHT))
def test_a_thousand_lives_with_faults_break_nothing(first: int) -> None:
    live(first, NIGHT)


@pytest.mark.parametrize("name", operators.NAMES)
def test_three_days_of_every_operator_hold_every_invariant(
    name: operators.Name, tmp_path: Path
) -> None:
    lived = simulate(Plan(days=3, seed=2, operator=name, keep=tmp_path / "home"))
    assert lived.violations == ()
    assert sum(lived.outcomes.values()) == lived.surfaces
    kernel = tmp_path / "home" / "agents" / "main" / "kernel"
    config = json.loads((kernel / "fitness-config.json").read_text())
    decisions, engagement, fitness = (
        read(kernel / f"{each}.jsonl")
        for each in ("decision-ledger", "engagement-ledger", "fitness-ledger")
    )
    assert recompute(decisions, engagement, fitness, config) == []


def test_without_the_fitness_writer_the_resident_does_exactly_the_same(tmp_path: Path) -> None:
    lives: list[bytes] = []
    for name, without in (("with", frozenset[str]()), ("without", frozenset({"fitness-writer"}))):
        home = tmp_path / name
        lived = simulate(Plan(days=2, seed=5, keep=home, without=without))  # pyright: ignore[reportArgumentType]
        assert bool(lived.windows) is not bool(without)
        kernel = home / "agents" / "main" / "kernel"
        names = ("decision-ledger", "artifact-ledger", "engagement-ledger")
        lives += [(kernel / f"{each}.jsonl").read_bytes() for each in names]
    assert lives[:3] == lives[3:]


@pytest.mark.parametrize(
    "text",
    [
        "it stands at 0.428571 now",
        "42.8571%",
        "4 2 8 5 7 1",
        "428,571 of a million",
        "175824.0",
        "four two eight five seven one",
        "0x68a1b",
        "MC40Mjg1NzE=",
        "NDI4NTcx",
    ],
)
def test_a_number_is_found_however_it_is_written(text: str) -> None:
    assert list(laundering.laundered(["nothing here", f"Look.\n{text}\n"], [0.428571]))


def test_other_numbers_are_not_taken_for_it() -> None:
    told_it = ["Monday 2 March 2026, 14:32 UTC", "run-000428", "five of seven"]
    assert not list(laundering.laundered(told_it, [0.428571, 0.238462]))
