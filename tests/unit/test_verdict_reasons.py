"""Why a verdict was what it was: sentences that do not contradict the figures beside them."""

import pytest
from msgspec.structs import replace

from gnomon.domain.records_change import Delta, VerdictOutcome
from gnomon.domain.verdict_reasons import ONLY_CIRCLES, WORDS, Margins, told, verdict_sentence
from tests.change_kit import a_judgment

TWO_REASONS = (
    "change-0001: undone, since its text is shorter than the least that is allowed, whatever the "
    "numbers say; it changes nothing."
)
SEED = Margins(delta=0.05, epsilon=0.1)


@pytest.mark.parametrize(
    ("reason", "moved", "margins", "expected"),
    [
        (
            "stall-not-better",
            Delta(stall=-0.039),
            SEED,
            "It went less in circles by 0.04; it must be more than 0.05.",
        ),
        (
            "stall-not-better",
            Delta(stall=-0.0496),
            SEED,
            "It went less in circles by 0.0496; it must be more than 0.05.",
        ),
        (
            "stall-not-better",
            Delta(stall=-0.001),
            SEED,
            "It went less in circles by 0.001; it must be more than 0.05.",
        ),
        (
            "stall-not-better",
            Delta(stall=-0.039),
            None,
            "It went less in circles by 0.04, which is too little.",
        ),
        ("stall-not-better", Delta(stall=0.0), SEED, "It did not go less in circles."),
        ("stall-not-better", Delta(), SEED, "It did not go less in circles."),
        (
            "engagement-not-better",
            Delta(engagement=0.03),
            SEED,
            "You used more of what it brought by 3 points; it must be more than 5.",
        ),
        (
            "engagement-not-better",
            Delta(engagement=0.03),
            None,
            "You used more of what it brought by 3 points, which is too little.",
        ),
        (
            "engagement-not-better",
            Delta(engagement=-0.1),
            SEED,
            "You did not use more of what it brought.",
        ),
        (
            "engagement-not-better",
            Delta(engagement=0.0),
            Margins(delta=0.0, epsilon=0.1),
            "You did not use more of what it brought.",
        ),
    ],
)
def test_an_improvement_that_is_too_small_is_told_with_what_it_takes(
    reason: str, moved: Delta, margins: Margins | None, expected: str
):
    assert told((reason,), "both", moved, margins) == (expected,)


def test_where_only_circles_decided_it_is_said():
    reasons = ("stall-better", "engagement-missing")
    assert told(reasons, "stall_only", Delta(stall=-0.1), SEED)[1] == ONLY_CIRCLES
    assert told(reasons, None, Delta(), SEED)[1] == WORDS["engagement-missing"]


@pytest.mark.parametrize(
    ("outcome", "reasons", "expected"),
    [
        ("kept", (), "change-0001: kept."),
        (
            "rolled_back",
            ("below-length-floor", "changes-nothing"),
            TWO_REASONS,
        ),
    ],
)
def test_a_verdict_is_one_sentence(
    outcome: VerdictOutcome, reasons: tuple[str, ...], expected: str
):
    judged = replace(a_judgment(outcome), reasons=reasons)
    assert verdict_sentence(judged, SEED) == expected


def test_a_code_that_is_not_known_is_shown():
    assert told(("new-code",), None, Delta(), None) == ("new-code",)
