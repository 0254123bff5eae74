"""Seed 1, section 13: the four questions of day 30, from the ledgers."""

from gnomon.referee.config import FitnessConfig
from gnomon.referee.engagement import Surface
from gnomon.referee.pooled import judged_within
from gnomon.referee.retune import (
    low_samples,
    retune,
    slow_reflections,
    trend,
    unavailability,
)
from tests.referee_kit import Story, reflection, standing

CONFIG = FitnessConfig()


def answered(outcomes: list[str]) -> list[Surface]:
    """Surfaces with these outcomes, in order of emission."""
    story = Story()
    story.begin()
    for outcome in outcomes:
        made = story.surface()
        if outcome in {"acted", "acked"}:
            story.answer(made, outcome)  # pyright: ignore[reportArgumentType]
        if outcome == "system_unavailable":
            story.restart(60)
        story.clock.advance(1)
    return judged_within(story.state, story.now, 28)


def test_sparse_windows_hit_the_floor() -> None:
    story = Story()
    story.begin()
    for _ in range(30 * 30):
        story.tick()
        story.sweep()
    answer = low_samples(standing(story.fitness()).values())
    assert answer.answer == "yes"
    assert answer.figures["share"] == 1.0
    assert answer.advice


def test_busy_windows_do_not_and_clock_steps_do_not_count() -> None:
    story = Story()
    story.begin()
    for _ in range(3):
        for _ in range(30):
            story.tick()
        for _ in range(3):
            story.answer(story.surface(), "acted")
    story.step(-600)
    story.tick(60)
    lines = list(standing(story.fitness()).values())
    answer = low_samples(lines[1:3])
    assert answer.answer == "no"
    assert answer.advice == ""
    stepped = [line for line in lines if line.engagement_reason == "clock_step"]
    assert low_samples(stepped).answer == "unknown"
    assert low_samples(stepped).figures == {"windows": 0, "low_sample": 0, "share": None}


def test_a_rate_that_moved_is_seen_and_noise_is_not() -> None:
    moved = answered(["acked"] * 40 + ["acted"] * 40)
    assert trend(moved, CONFIG).answer == "yes"
    steady = answered(["acked", "acted"] * 40)
    assert trend(steady, CONFIG).answer == "no"
    assert trend(steady, CONFIG).advice
    same = answered(["acked"] * 20)
    assert trend(same, CONFIG).figures["z"] == 0.0


def test_too_few_answers_leave_the_trend_unknown() -> None:
    few = trend(answered(["acted"] * 5), CONFIG)
    assert few.answer == "unknown"
    assert few.figures == {"older": None, "newer": None, "answered": 5, "z": None}


def test_a_gateway_that_is_often_stopped_is_said() -> None:
    assert unavailability(answered(["system_unavailable"] * 2 + ["acted"] * 3)).answer == "yes"
    assert unavailability(answered(["acted"] * 20)).answer == "no"
    assert unavailability([]).answer == "unknown"


def test_reflections_are_weighed_by_the_model_in_force() -> None:
    slow = [reflection(seconds=30.0, model="old"), reflection(seconds=4.0, model="new")]
    answer = slow_reflections(slow, 12.0)
    assert answer.answer == "no"
    assert answer.figures["model"] == "new"
    assert slow_reflections(slow[:1], 12.0).answer == "yes"
    assert slow_reflections([], 12.0).answer == "unknown"


def test_the_four_answers_come_in_the_seeds_order() -> None:
    questions = [each.question for each in retune([], [], [], CONFIG, 12.0)]
    assert len(questions) == 4
    assert "rate of their own" in questions[0]
    assert "moving" in questions[1]
    assert "stopped" in questions[2]
    assert "reflections" in questions[3]
