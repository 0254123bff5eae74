"""Awake, asleep or down: what the gateway's lines say, whatever the wall does."""

import pytest

from gnomon.domain.instants import HOUR, SECOND, Millis, iso
from gnomon.domain.records_referee import ClockStepped, GatewayStarted, GatewayStopped
from gnomon.referee.availability import Availability, Away, intervals, paused, resumed, slept
from tests.referee_kit import BOOT, MORNING, Story

DAY_SECONDS = 86_400.0


def awake_seconds(story: Story) -> float:
    """Awake time since the story's first line."""
    fold = Availability()
    for line in story.engagement.lines:
        fold.take(line)
    return fold.awake(fold.steady(story.now)) / SECOND


def test_awake_time_passes_while_it_is_up() -> None:
    story = Story()
    story.begin()
    story.clock.advance(500)
    assert awake_seconds(story) == 500


def test_time_down_is_not_awake_and_comes_back_as_an_absence() -> None:
    story = Story()
    fold = Availability()
    story.begin()
    story.clock.advance(100)
    story.end()
    story.clock.advance(50)
    for line in story.engagement.lines:
        assert fold.take(line) is None
    assert not fold.is_up
    assert fold.away_since == fold.now
    story.begin(cause="orderly", gap_seconds=50)
    away = fold.take(story.engagement.lines[-1])
    assert away == Away(fold.now - 50_000, fold.now, "orderly")
    assert away.down
    assert away.milliseconds == 50_000
    assert fold.is_up
    assert fold.away_since is None
    assert awake_seconds(story) == 100


def test_a_crash_is_dated_back_to_the_last_beat() -> None:
    story = Story()
    story.begin()
    story.clock.advance(100)
    story.crash(400)
    assert awake_seconds(story) == 100


def test_sleep_is_neither_awake_nor_down() -> None:
    story = Story()
    story.begin()
    story.clock.advance(100)
    story.sleep(8 * 3600)
    story.clock.advance(10)
    assert awake_seconds(story) == 110
    assert not Away(0, 1, "sleep").down


def test_a_nap_shorter_than_half_a_beat_is_not_written_down() -> None:
    assert slept(29, BOOT) is None
    lines = slept(31.4, BOOT)
    assert lines is not None
    stopped, started = lines
    assert (stopped.asleep_seconds, started.gap_seconds) == (31, 31)


def test_lines_written_on_waking_before_the_sleep_was_seen_do_not_make_it_awake() -> None:
    story = Story()
    story.begin()
    story.clock.advance(100)
    story.clock.sleep(3600)
    story.surface()  # within a minute of waking
    story.clock.advance(20)
    story.say(*(slept(3600, BOOT) or ()))
    # The stop is dated back from when it was written: 20 s of waking went with it.
    assert awake_seconds(story) == 120


def test_a_pause_is_down_and_a_stop_within_it_adds_nothing() -> None:
    story = Story()
    story.begin()
    story.clock.advance(100)
    story.say(paused(BOOT))
    story.clock.advance(1000)
    story.say(GatewayStopped(cause="orderly", boot_id=BOOT))
    story.clock.advance(1000)
    story.say(resumed(BOOT, 2000))
    story.clock.advance(7)
    assert awake_seconds(story) == 107
    [_, stopped, _] = intervals(story.engagement.lines)
    assert (stopped.state, stopped.cause) == ("down", "pause")


def test_a_lost_stop_is_dated_by_the_last_line() -> None:
    story = Story()
    story.begin()
    story.clock.advance(100)
    story.surface()
    story.clock.advance(1000)  # its heartbeat was lost with it
    story.say(GatewayStarted(boot_id=BOOT))
    assert awake_seconds(story) == 100


def test_a_fold_that_begins_within_a_pause_learns_of_it_at_its_end() -> None:
    story = Story()
    story.begin()
    story.say(paused(BOOT))
    story.clock.advance(60)
    story.surface(synthetic=True)
    story.clock.advance(1000)
    story.say(resumed(BOOT, 1060))
    story.clock.advance(5)
    fold = Availability()
    for line in story.engagement.lines[2:]:
        fold.take(line)
    assert fold.awake(fold.steady(story.now)) == 5 * SECOND


def test_a_fold_that_begins_with_a_stop_or_a_start_is_sound() -> None:
    story = Story()
    story.begin()
    story.end()
    story.clock.advance(9)
    story.begin(cause="orderly", gap_seconds=9)
    story.clock.advance(5)
    for first in (1, 2):
        fold = Availability()
        for line in story.engagement.lines[first:]:
            fold.take(line)
        assert fold.awake(fold.steady(story.now)) == 5 * SECOND


@pytest.mark.parametrize("seconds", [3600.0, -3600.0, 365 * DAY_SECONDS, -365 * DAY_SECONDS])
def test_a_step_of_the_clock_is_no_time(seconds: float) -> None:
    story = Story()
    story.begin()
    story.clock.advance(100)
    story.step(seconds)
    story.clock.advance(50)
    assert awake_seconds(story) == 150


@pytest.mark.parametrize("seconds", [7200, -7200])
def test_lines_between_a_step_and_its_discovery_do_not_count_for_it(seconds: int) -> None:
    story = Story()
    story.begin()
    before = story.now
    story.clock.advance(10)
    story.clock.step(seconds)
    story.surface()
    story.clock.advance(20)
    story.say(
        ClockStepped(step_seconds=seconds, wall_before=iso(before), wall_after=iso(story.now))
    )
    # Of a wall that went back, nothing tells how long it had gone on since the line before.
    assert awake_seconds(story) == pytest.approx(30 if seconds > 0 else 20, abs=1)


def test_time_goes_on_at_once_where_nobody_noted_that_the_clock_was_set_back() -> None:
    story = Story()
    story.begin()
    story.clock.advance(100)
    story.end()
    story.clock.step(-7200)  # another boot: nothing can tell by how much
    story.begin(cause="orderly")
    story.clock.advance(50)
    assert awake_seconds(story) == 150


@pytest.mark.parametrize("seconds", [7200, -7200])
def test_a_step_that_is_noted_while_it_is_down_is_no_time_either(seconds: int) -> None:
    story = Story()
    story.begin()
    story.clock.advance(100)
    story.end()
    story.clock.advance(50)
    story.step(seconds)
    fold = Availability()
    for line in story.engagement.lines:
        fold.take(line)
    story.begin(cause="orderly", gap_seconds=50)
    away = fold.take(story.engagement.lines[-1])
    assert away is not None
    assert away.milliseconds == 50 * SECOND
    assert awake_seconds(story) == 100


def test_a_set_back_that_an_absence_outlasts_takes_nothing_from_it() -> None:
    story = Story()
    story.begin()
    story.clock.advance(3600)
    story.end()
    before = story.now  # the last that was known, as a start finds it in the heartbeat
    story.clock.advance(28_800)
    story.clock.step(-3600)
    story.stretch.set_back(story.now)
    story.say(ClockStepped(step_seconds=-3600, wall_before=iso(before), wall_after=iso(story.now)))
    fold = Availability()
    for line in story.engagement.lines:
        fold.take(line)
    story.begin(cause="orderly", gap_seconds=28_800)
    away = fold.take(story.engagement.lines[-1])
    assert away is not None
    assert away.milliseconds == 28_800 * SECOND


def test_a_fold_that_begins_later_counts_the_same_however_the_clock_was_set() -> None:
    story = Story()
    story.begin()
    story.surface()
    for seconds in (-7200, 400, -500, 86_400):
        story.clock.step(seconds)
        story.surface()
        story.clock.advance(60)
        story.step(-seconds)
        story.surface()
        story.clock.advance(60)
    lines = story.engagement.lines
    for first in range(1, len(lines) - 2):
        whole, late = Availability(), Availability()
        for line in lines[: first + 1]:
            whole.take(line)
        late.take(lines[first])
        before = whole.now - late.now
        for line in lines[first + 1 :]:
            whole.take(line)
            late.take(line)
        assert whole.now - late.now == before, first


def test_the_gateways_own_start_may_be_its_very_first_line() -> None:
    fold = Availability()
    assert fold.now == 0
    assert fold.awake(10) == 0
    assert fold.steady(Millis(HOUR)) == HOUR


def test_intervals_are_told_by_the_wall() -> None:
    story = Story()
    story.begin()
    story.clock.advance(3600)
    story.sleep(600)
    story.clock.advance(600)
    story.surface()
    story.restart(300)
    found = intervals(story.engagement.lines)
    assert [each.state for each in found] == ["awake", "asleep", "awake", "down", "awake"]
    assert [each.start - MORNING for each in found] == [
        0,
        3600_000,
        4200_000,
        4800_000,
        5100_000,
    ]
    assert found[-1].end is None
    assert intervals(story.engagement.lines[1:])[0].state == "asleep"
