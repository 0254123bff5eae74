"""Engagement as people are shown it: pooled, with its interval and a forecast."""

import pytest

from gnomon.referee.pooled import (
    PooledEngagement,
    forecast,
    forecast_from,
    judged_within,
    pooled,
    pools,
    pools_by_version,
    wilson,
)
from tests.referee_kit import V1, V2, Story


def weeks(days: int, *, a_day: int = 1) -> Story:
    """So many days with surfaces: one in three acted on, one dismissed, one let pass."""
    story = Story()
    story.begin()
    for day in range(days):
        for number in range(a_day):
            made = story.surface()
            match (day * a_day + number) % 3:
                case 0:
                    story.answer(made, "acted")
                case 1:
                    story.answer(made, "acked")
                case _:
                    pass
        story.clock.advance(86_400)
        story.sweep()
    return story


def test_the_pools_are_of_7_and_28_days() -> None:
    story = weeks(30)
    week, month = pools(story.state, story.now)
    assert (week.days, week.acted, week.acked, week.ignored) == (7, 2, 2, 3)
    assert (month.days, month.emitted) == (28, 28)
    assert week.rate == round(2 / 7, 6)
    assert week.interval == wilson(2, 7)
    assert (week.unavailable, week.open) == (0, 0)


def test_what_is_open_or_was_unavailable_stands_beside_the_rate() -> None:
    story = weeks(1)
    story.surface()
    story.restart(600)
    story.surface()
    week, _ = pools(story.state, story.now)
    assert (week.answered, week.unavailable, week.open) == (1, 1, 1)
    assert week.emitted == 3
    assert week.rate == 1.0


def test_nothing_answered_has_no_rate_and_no_interval() -> None:
    story = Story()
    story.begin()
    story.surface(origin="rule")
    week, _ = pools(story.state, story.now)
    assert week == pooled([], 7)
    assert week == PooledEngagement(
        days=7, acted=0, acked=0, ignored=0, rate=None, interval=None, unavailable=0, open=0
    )


def test_each_version_has_its_own_pool_by_emission() -> None:
    story = Story()
    story.begin()
    first = story.surface()
    story.version = V2
    story.answer(story.surface(), "acked")
    story.clock.advance(86_400)
    story.sweep()
    assert story.standing(first) == "ignored"
    found = pools_by_version(story.state, story.now)
    assert list(found) == [V1, V2]
    assert (found[V1].ignored, found[V2].acked) == (1, 1)


def test_surfaces_come_oldest_first_settled_or_not() -> None:
    story = weeks(5)
    story.surface()
    found = judged_within(story.state, story.now, 7)
    assert [each.seq for each in found] == sorted(each.seq for each in found)
    assert len(found) == 6


@pytest.mark.parametrize(
    ("acted", "total", "low", "high"),
    [(0, 10, 0.0, 0.277533), (10, 10, 0.722467, 1.0), (5, 10, 0.236593, 0.763407)],
)
def test_the_interval_is_wilsons(acted: int, total: int, low: float, high: float) -> None:
    assert wilson(acted, total) == pytest.approx((low, high), abs=2e-6)


def test_at_5_a_day_a_ten_point_difference_shows_after_about_100_days() -> None:
    seen = forecast(0.2, 5)
    assert (seen.surfaces, seen.days) == (503, 101)
    assert forecast(None, 5) == seen


def test_a_smaller_difference_takes_longer_and_no_pace_for_ever() -> None:
    assert forecast(0.2, 5, 0.05).surfaces == pytest.approx(4 * 503, abs=4)
    assert forecast(0.2, 0).days is None
    assert forecast(0.0, 5).rate == 0.05
    assert forecast(1.0, 5).rate == 0.95


def test_a_pool_forecasts_at_its_own_pace() -> None:
    story = weeks(30, a_day=3)
    _, month = pools(story.state, story.now)
    seen = forecast_from(month)
    assert seen.per_day == 3.0
    assert seen.rate == month.rate
