"""What the simulator counts again can fail: each rule, on lines that break it."""

from typing import Any

import pytest

from gnomon.domain.instants import HOUR, MINUTE, Millis, iso
from gnomon.domain.ledgers import GENESIS
from gnomon.simulate import recount
from gnomon.simulate.ledger_files import PlainLine
from gnomon.simulate.story import Did, Ended, Story

CONFIG = {
    "window_seconds": 3_600,
    "min_reflections_for_valid_window": 5,
    "M_min": 3,
    "weights": {"repeat": 0.5, "cooldown": 0.3, "concern": 0.2},
}


def line(seq: int, at: int, kind: str, **fields: Any) -> PlainLine:
    return PlainLine(seq=seq, at=at, kind=kind, prev=GENESIS, sha256=str(seq), fields=fields)


def decisions() -> list[PlainLine]:
    """An hour: ten reflections, a repeat, four attempts with a cooldown, two lasting concerns
    of four; and a tick in the next.
    """
    lines = [line(1, 0, "tick")]
    for number in range(10):
        concerns = ["the release is late again", "the login test is flaky"]
        concerns = concerns if number in (0, 9) else []
        concerns = ["disk", "heat"] if number == 4 else concerns
        lines.append(
            line(
                len(lines) + 1,
                number * MINUTE,
                "reflection",
                repeated=number == 3,
                pressure="none",
                concerns=concerns,
            )
        )
    outcomes = ("produced", "cooldown", "produced", "no-progress")
    lines += [
        line(12 + n, 20 * MINUTE, "executive-attempt", outcome=each)
        for n, each in enumerate(outcomes)
    ]
    return [*lines, line(16, HOUR + 1, "tick")]


def engagement() -> list[PlainLine]:
    shown = [
        line(n, n, "surface_emitted", surface_id=f"s{n}", origin="model", synthetic=False)
        for n in range(1, 5)
    ]
    became = ("acted", "acted", "acked", "system_unavailable")
    said = [
        line(4 + n, HOUR, "outcome", surface_id=f"s{n}", outcome=each)
        for n, each in enumerate(became, start=1)
    ]
    return shown + said


def window(**other: Any) -> PlainLine:
    fields = {
        "window_start": iso(Millis(0)),
        "window_end": iso(Millis(HOUR)),
        "stall_reason": None,
        "engagement_reason": None,
        "tick_count": 1,
        "reflection_count": 10,
        "executive_attempt_count": 4,
        "stall_composite": 0.225,  # 0.5 x 0.1 + 0.3 x 0.25 + 0.2 x 0.5
        "engagement_rate": 0.666667,
        "engagement_counts": {"acted": 2, "acked": 1, "ignored": 0},
        "system_unavailable_count": 1,
        "mature": True,
        "inputs": {"decision-ledger": {"seq": 15}},
    }
    return line(1, HOUR + MINUTE, "window", **(fields | other))


def violations(*windows: PlainLine) -> list[str]:
    return list(recount.window_violations(decisions(), engagement(), windows, CONFIG))


def test_a_true_window_holds() -> None:
    assert violations(window()) == []


@pytest.mark.parametrize(
    "false",
    [
        {"stall_composite": 0.23},
        {"tick_count": 2},
        {"reflection_count": 9},
        {"engagement_rate": 0.5},
        {"engagement_counts": {"acted": 3, "acked": 1, "ignored": 0}},
        {"system_unavailable_count": 0},
        {"stall_reason": "clock_step"},
        {"window_end": iso(Millis(HOUR + 1))},
        {"window_start": iso(Millis(3 * HOUR)), "window_end": iso(Millis(4 * HOUR))},
    ],
)
def test_a_false_window_is_a_violation(false: dict[str, Any]) -> None:
    assert violations(window(**false))


def test_a_window_that_stands_twice_is_a_violation() -> None:
    assert violations(window(), window())


def test_a_window_that_is_missing_is_a_violation() -> None:
    lines = [*decisions(), line(17, 2 * HOUR + 1, "tick")]
    late = window(
        window_start=iso(Millis(2 * HOUR)),
        window_end=iso(Millis(3 * HOUR)),
        inputs={"decision-ledger": {"seq": 17}},
    )
    found = list(recount.window_violations(lines, [], [late], CONFIG))
    assert "line 1 of the decision-ledger is in no window" in found


# --- outcomes ----------------------------------------------------------------------------------


def story(*spans: tuple[float, float, Ended]) -> Story:
    told = Story()
    for start, end, ended in spans:
        told.up(Millis(round(start * HOUR)))
        told.away(Millis(round(end * HOUR)), ended)
    return told


def became(outcome: str | None, told: Story, unsure: frozenset[str] = frozenset()) -> list[str]:
    lines = [line(1, 0, "surface_emitted", surface_id="s", origin="model", synthetic=False)]
    if outcome is not None:
        lines.append(line(2, 1, "outcome", surface_id="s", outcome=outcome))
    return list(recount.truth_violations(lines, {1: Millis(HOUR)}, told, set(unsure)))


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        (story((0, 30, "orderly")), "ignored"),
        (story((0, 10, "orderly"), (11, 60, "orderly")), "system_unavailable"),
        (story((0, 10, "killed"), (11, 60, "orderly")), "system_unavailable"),
        (story((0, 10, "killed"), (10.01, 60, "orderly")), "ignored"),
        (story((0, 10, "asleep"), (20, 60, "orderly")), "ignored"),
        (story((0, 10, "paused"), (20, 60, "orderly")), "system_unavailable"),
        (story((0, 10, "asleep"), (80, 90, "orderly")), "system_unavailable"),
    ],
)
def test_what_truly_became_of_a_surface_is_known(told: Story, outcome: str) -> None:
    assert became(outcome, told) == []
    for other in {"acted", "acked", "ignored", "system_unavailable", None} - {outcome}:
        assert became(other, told), other


def test_the_strongest_deed_stands() -> None:
    told = story((0, 60, "orderly"))
    told.did += [Did("s", "acked", Millis(2 * HOUR)), Did("s", "acted", Millis(3 * HOUR))]
    assert became("acted", told) == []
    assert became("acked", told)


def test_an_answer_after_the_horizon_is_a_violation() -> None:
    told = story((0, 60, "orderly"))
    told.did.append(Did("s", "acted", Millis(40 * HOUR)))
    assert "answered after its time" in became("acted", told)[0]


def test_what_is_not_sure_is_not_judged() -> None:
    assert became("acked", story((0, 60, "orderly")), frozenset({"s"})) == []
