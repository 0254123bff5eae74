"""Simulated days in which the agent changes its own instructions, and is judged for it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gnomon.domain.json_value import Json
from gnomon.simulate import laundering
from gnomon.simulate.edits import EDITS, TELLING, Edit
from gnomon.simulate.ledger_files import plain_lines
from gnomon.simulate.world import Plan, simulate

pytestmark = pytest.mark.sweep
QUICK: dict[str, Json] = {
    "dev_mode": True,
    "window_seconds": 10_800,
    "M_min": 1,
    "horizon_seconds": 14_400,
    "deadline_days": 1.5,
    "refiner_every_hours": 1,
    "refiner_every_ticks": 30,
}
"""Two windows of three hours on each side, and a horizon of four: a verdict within a day."""
LIVES = 6


def lived(days: int, seed: int, home: Path, edits: Sequence[Edit] = EDITS) -> Path:
    """The kernel's folder of a life in which no invariant was broken."""
    plan = Plan(days=days, seed=seed, operator="attentive", rules=QUICK, edits=edits, keep=home)
    assert simulate(plan).violations == ()
    return home / "agents" / "main" / "kernel"


def verdicts(kernel: Path) -> list[tuple[str, Edit]]:
    """Each verdict with what its edit truly does."""
    proposed = {
        line.fields["change_id"]: line.fields
        for line in plain_lines(kernel / "refinement-ledger.jsonl")
        if line.kind == "change"
    }
    return [
        (line.fields["outcome"], truth(proposed[line.fields["change_id"]]))
        for line in plain_lines(kernel / "judgment-ledger.jsonl")
        if line.fields["outcome"] != "pending"
    ]


def truth(change: dict[str, Any]) -> Edit:
    return next(edit for edit in EDITS if f"+{edit.sentence}" in change["diff"])


def test_a_better_prompt_is_kept_and_a_worse_one_undone(tmp_path: Path) -> None:
    """And no measured number reaches a prompt, by whichever road: each life's own checks look
    for every rate of its fitness-ledger in everything that the resident was ever told.

    Two windows are few, so one life may be unlucky; of several, both are seen.
    """
    found: list[tuple[str, Edit]] = []
    for seed in range(8, 8 + LIVES):
        kernel = lived(4, seed, tmp_path / str(seed), TELLING)
        assert len(laundering.measured(plain_lines(kernel / "fitness-ledger.jsonl"))) >= 10
        found += verdicts(kernel)
        better = any(outcome == "kept" and edit.acts > 0 for outcome, edit in found)
        worse = any(outcome == "rolled_back" and edit.acts < 0 for outcome, edit in found)
        if better and worse:
            return
    raise AssertionError(f"not seen in {LIVES} lives: {found}")


@pytest.mark.soak
def test_in_a_month_of_refinements_no_measured_number_reaches_a_prompt(tmp_path: Path) -> None:
    kernel = lived(30, 7, tmp_path / "home")
    reasons = [
        line.fields["reason"]
        for line in plain_lines(kernel / "refinement-ledger.jsonl")
        if line.fields["status"] == "refused"
    ]
    assert sum(str(reason).startswith("new-number") for reason in reasons) >= 5, "it did try"
    assert len(verdicts(kernel)) >= 8
