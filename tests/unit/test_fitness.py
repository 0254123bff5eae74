"""A window's numbers (seed 1, sections 4 and 6; page 3)."""

import pytest

from gnomon.domain.records import Stopped
from gnomon.domain.records_referee import Components, EngagementCounts, Window
from gnomon.referee.config import FitnessConfig, Similarity, Weights
from gnomon.referee.fitness import lasting_concerns, same_concern
from tests.referee_kit import V1, V2, Story, hour, standing

RULE = Similarity()


def only_window(story: Story) -> Window:
    """The one window of a story of at most an hour, 60 s after its end."""
    story.clock.advance(3660 - (story.now - 1_779_645_600_000) / 1000)
    [window] = story.fitness()
    assert isinstance(window, Window)
    return window


def test_an_empty_window_emits_a_null_composite_with_missing_data() -> None:
    story = Story()
    story.tick(10)
    window = only_window(story)
    assert (window.stall_composite, window.stall_reason) == (None, "missing_data")
    assert window.components == Components()
    assert (window.tick_count, window.reflection_count) == (10, 0)


def test_four_reflections_are_missing_data_and_five_are_enough() -> None:
    for count, reason in ((4, "missing_data"), (5, None)):
        story = Story()
        story.reflect(count)
        assert only_window(story).stall_reason == reason


def test_a_synthetic_ledger_with_known_repeats_gives_the_expected_composite() -> None:
    story = Story()
    story.reflect(6)
    story.reflect(4, repeated=True)
    window = only_window(story)
    assert window.components.reflection_repeat_rate == 0.4
    assert window.stall_composite == 0.2


def test_the_seeds_example_is_0_19() -> None:
    # Repeats 0.1, cooldowns 0.3, concerns 0.25, of seed 1, section 4.3.
    story = Story()
    story.reflect(1, concerns=["the tests fail on Fridays", "a", "b"])
    story.reflect(8)
    story.reflect(1, repeated=True, concerns=["On Fridays the tests fail", "c"])
    for number in range(10):
        story.attempt("cooldown" if number < 3 else "produced")
    window = only_window(story)
    assert window.components == Components(
        reflection_repeat_rate=0.1, executive_cooldown_rate=0.3, concern_persistence_rate=0.25
    )
    assert window.stall_composite == 0.19
    assert (window.reflection_count, window.executive_attempt_count) == (10, 10)


def test_a_held_reflection_is_a_repeat() -> None:
    story = Story()
    story.reflect(4)
    story.reflect(1, pressure="hold")
    assert only_window(story).components.reflection_repeat_rate == 0.2


def test_without_attempts_or_concerns_those_rates_are_zero() -> None:
    story = Story()
    story.reflect(5)
    window = only_window(story)
    assert window.components == Components(
        reflection_repeat_rate=0.0, executive_cooldown_rate=0.0, concern_persistence_rate=0.0
    )
    assert window.stall_composite == 0


def test_the_worst_window_is_one() -> None:
    story = Story()
    story.reflect(5, repeated=True, concerns=["the same old thing"])
    story.attempt("cooldown")
    assert only_window(story).stall_composite == 1


def test_rates_have_six_decimals() -> None:
    story = Story()
    story.reflect(6)
    story.reflect(1, repeated=True)
    window = only_window(story)
    assert window.components.reflection_repeat_rate == 0.142857
    assert window.stall_composite == 0.071429


def test_the_weights_and_the_floor_come_from_the_config() -> None:
    config = FitnessConfig(
        weights=Weights(repeat=1, cooldown=0, concern=0), min_reflections_for_valid_window=2
    )
    story = Story(config=config)
    story.reflect(1)
    story.reflect(1, repeated=True)
    assert only_window(story).stall_composite == 0.5


def test_versions_in_force_are_named_and_a_change_is_mixed() -> None:
    story = Story()
    story.awake_resident()
    story.tick()
    window = only_window(story)
    assert (window.scaffold_version, window.mixed_scaffold) == (V1, False)
    story = Story()
    story.reflect(1)
    story.version = V2
    story.reflect(1)
    window = only_window(story)
    assert (window.scaffold_version, window.mixed_scaffold) == (V2, True)


def test_a_version_that_came_back_within_the_window_is_mixed_too() -> None:
    story = Story()
    for version in (V1, V2, V1):
        story.version = version
        story.tick()
    window = only_window(story)
    assert (window.scaffold_version, window.mixed_scaffold) == (V1, True)


def test_a_window_whose_lines_name_no_version_has_none() -> None:
    story = Story()
    story.decide(Stopped(reason="test"))
    window = only_window(story)
    assert (window.scaffold_version, window.mixed_scaffold) == (None, False)
    assert window.tick_count == 0


# --- concerns ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The build is slow", "the BUILD is slow!", True),
        ("build slow", "build slow", True),
        ("build slow", "slow build today", False),  # two words shared
        ("the nightly build is slow again", "why is the nightly job slow", True),  # 4 of 6
        ("a b c d e f g h", "a b c z y x w v", False),  # 3 of 8: under 45%
        ("a b c d e f", "a b c u v w x y z", True),  # 3 of 6
        ("", "", True),
        ("", "anything", False),
    ],
)
def test_two_wordings_are_one_when_they_share_enough(one: str, other: str, same: bool) -> None:
    assert same_concern(one, other, RULE) is same
    assert same_concern(other, one, RULE) is same


def test_a_concern_lasts_when_it_was_there_before_and_is_in_the_last_reflection() -> None:
    reflections = [("one", "two"), ("two", "three"), ("three", "four")]
    assert lasting_concerns(reflections, RULE) == (1, 4)
    assert lasting_concerns([("one",), ()], RULE) == (0, 1)
    assert lasting_concerns([("one", "one")], RULE) == (0, 1)
    assert lasting_concerns([], RULE) == (0, 0)


# --- engagement --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("acted", "acked", "ignored", "rate"),
    [(4, 1, 1, 0.666667), (0, 0, 3, 0.0), (3, 0, 0, 1.0), (1, 1, 1, 0.333333), (2, 5, 0, 0.285714)],
)
def test_the_rate_matches_the_expected_for_synthetic_mixes(
    acted: int, acked: int, ignored: int, rate: float
) -> None:
    story = Story()
    story.begin()
    story.reflect(5)
    made = [story.surface() for _ in range(acted + acked + ignored)]
    for each in made[:acted]:
        story.answer(each, "acted")
    for each in made[acted : acted + acked]:
        story.answer(each, "acked")
    story.clock.advance(24 * 3600)
    story.sweep()
    story.tick(31)
    last = standing(story.fitness())[hour(0)]
    assert (last.engagement_rate, last.engagement_reason) == (rate, None)
    assert last.engagement_counts == EngagementCounts(acted=acted, acked=acked, ignored=ignored)
    assert last.mature
    assert last.pending == 0


def test_fewer_than_three_answers_are_a_low_sample() -> None:
    story = Story()
    story.begin()
    story.tick()
    for _ in range(2):
        story.answer(story.surface(), "acted")
    window = only_window(story)
    assert (window.engagement_rate, window.engagement_reason) == (None, "low_sample")
    assert window.engagement_counts == EngagementCounts(acted=2)
    assert window.mature


def test_system_unavailable_stands_beside_the_rate_and_never_in_it() -> None:
    story = Story()
    story.begin()
    story.tick()
    for _ in range(3):
        story.answer(story.surface(), "acted")
    story.surface()
    story.surface()
    story.clock.advance(30)
    story.restart(240)
    story.tick()
    window = only_window(story)
    assert window.engagement_rate == 1
    assert (window.system_unavailable_count, window.system_unavailable_seconds) == (2, 480)
    assert window.pending == 0
    assert not window.mature


def test_surfaces_of_rules_and_tests_are_counted_apart() -> None:
    story = Story()
    story.begin()
    story.tick()
    for _ in range(3):
        story.answer(story.surface(origin="rule"), "acked")
        story.answer(story.surface(synthetic=True), "acted")
        story.answer(story.surface(origin="rule", synthetic=True), "acted")
    window = only_window(story)
    assert window.engagement_rate is None
    assert window.engagement_counts == EngagementCounts()
    assert window.rule_counts == EngagementCounts(acked=3)
    assert window.synthetic_counts == EngagementCounts(acted=6)


def test_an_unanswered_surface_is_pending_and_the_window_provisional() -> None:
    story = Story()
    story.begin()
    story.tick()
    story.surface()
    window = only_window(story)
    assert (window.pending, window.mature) == (1, False)
