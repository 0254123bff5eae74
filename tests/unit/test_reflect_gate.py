"""Whether to reflect: each reason alone, and the order among several."""

import itertools
from dataclasses import replace
from typing import get_args

import pytest

from gnomon.domain.records import Mode, SkipReason
from gnomon.domain.views import ModelKind
from gnomon.resident.gate import GateFacts, decide, effective_mode

OPEN = GateFacts(
    mode="soft",
    model_kind="local",
    paused=False,
    breaker_open=False,
    seconds_since_operator=10.0,
    idle_gate_minutes=30,
    duty_seconds_left=100.0,
    within_budget=True,
    power_allows=True,
    salience_gate=False,
    changed=False,
)
REASONS: list[tuple[SkipReason, dict[str, object]]] = [
    ("paused", {"paused": True}),
    ("mode", {"mode": "off"}),
    ("no-model", {"model_kind": "none"}),
    ("model-error", {"breaker_open": True}),
    ("idle", {"seconds_since_operator": 1800.0}),
    ("duty-cycle", {"duty_seconds_left": 0.0}),
    ("budget", {"within_budget": False}),
    ("power", {"power_allows": False}),
    ("unchanged", {"salience_gate": True}),
]


def test_it_reflects_when_nothing_speaks_against_it() -> None:
    assert decide(OPEN) is None


@pytest.mark.parametrize(("reason", "facts"), REASONS)
def test_each_fact_alone_gives_its_reason(reason: SkipReason, facts: dict[str, object]) -> None:
    assert decide(replace(OPEN, **facts)) == reason  # type: ignore[arg-type]


@pytest.mark.parametrize("chosen", list(itertools.combinations(range(len(REASONS)), 2)))
def test_of_two_reasons_the_earlier_one_is_told(chosen: tuple[int, int]) -> None:
    facts: dict[str, object] = {}
    for index in chosen:
        facts |= REASONS[index][1]
    assert decide(replace(OPEN, **facts)) == REASONS[min(chosen)][0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("minutes", "seconds", "skips"),
    [
        (30, 1799.9, False),
        (30, 1800.0, True),
        (30, None, True),
        (0, None, False),
        (0, 10.0**9, False),
        (1, 60.0, True),
    ],
)
def test_the_idle_gate_closes_after_its_minutes_and_zero_turns_it_off(
    minutes: int, seconds: float | None, skips: bool
) -> None:
    facts = replace(OPEN, idle_gate_minutes=minutes, seconds_since_operator=seconds)
    assert (decide(facts) == "idle") is skips


def test_the_salience_gate_asks_for_a_change_only_where_it_is_on() -> None:
    assert decide(replace(OPEN, salience_gate=True, changed=True)) is None
    assert decide(replace(OPEN, salience_gate=False, changed=False)) is None


@pytest.mark.parametrize("mode", get_args(Mode))
@pytest.mark.parametrize("kind", get_args(ModelKind))
def test_nothing_leaves_on_the_word_of_a_demo_model(mode: Mode, kind: ModelKind) -> None:
    effective = effective_mode(mode, kind)
    if kind in ("demo", "none"):
        assert effective == ("off" if mode == "off" else "shadow")
    else:
        assert effective == mode
