"""One standing outcome a surface, by page 3's precedence, horizon and availability."""

import pytest

from gnomon.domain.errors import TrustError, UsageError
from gnomon.domain.instants import DAY, HOUR, SECOND
from gnomon.domain.records_referee import GatewayStarted, GatewayStopped, Outcome
from gnomon.referee import engagement
from gnomon.referee.config import FitnessConfig
from gnomon.referee.engagement import Engagement, decide_outcome
from tests.referee_kit import BOOT, Story


@pytest.fixture
def story() -> Story:
    told = Story()
    told.begin()
    return told


def test_an_ack_button_triggers_acked(story: Story) -> None:
    surface = story.surface()
    assert story.answer(surface, "acked") == Outcome(
        surface_id=surface, outcome="acked", source="dashboard_click"
    )
    assert story.standing(surface) == "acked"


def test_an_artifact_that_is_opened_triggers_acted(story: Story) -> None:
    surface = story.surface()
    story.answer(surface, "acted", "artifact_file_open")
    assert story.standing(surface) == "acted"


def test_the_timeout_sweeper_triggers_ignored(story: Story) -> None:
    surface = story.surface()
    story.clock.advance(24 * 3600 - 1)
    assert story.sweep() == []
    story.clock.advance(1)
    [due] = story.sweep()
    assert due == Outcome(surface_id=surface, outcome="ignored", source="timeout")
    assert story.sweep() == []
    assert story.standing(surface) == "ignored"


def test_a_shutdown_with_unresolved_surfaces_triggers_system_unavailable(story: Story) -> None:
    surface = story.surface()
    story.clock.advance(30)
    story.restart(270)
    stopped, started = story.outcomes(surface)
    assert (stopped.outcome, stopped.source) == ("system_unavailable", "gateway_shutdown")
    assert (stopped.alive_seconds, stopped.downtime_seconds) == (30, None)
    assert started.outcome == "system_unavailable"
    assert (started.alive_seconds, started.downtime_seconds) == (30, 270)
    assert story.standing(surface) == "system_unavailable"
    assert engagement.at_start(story.state, story.now) == []


def test_all_four_outcomes_in_one_hour_with_a_horizon_of_ten_minutes() -> None:
    story = Story(config=FitnessConfig(horizon_seconds=600))
    story.begin()
    acted, acked, ignored = story.surface(), story.surface(), story.surface()
    story.answer(acted, "acted")
    story.answer(acked, "acked")
    story.clock.advance(600)
    story.sweep()
    gone = story.surface()
    story.restart(60)
    assert [story.standing(s) for s in (acted, acked, ignored, gone)] == [
        "acted",
        "acked",
        "ignored",
        "system_unavailable",
    ]


def test_acked_may_become_acted_and_never_the_other_way(story: Story) -> None:
    surface = story.surface()
    story.answer(surface, "acked")
    assert story.answer(surface, "acked") is None
    story.answer(surface, "acted", "reply_in_conversation")
    assert story.answer(surface, "acked") is None
    assert story.answer(surface, "acted") is None
    assert story.standing(surface) == "acted"


def test_a_surface_that_outlived_a_shutdown_may_still_be_acted_on(story: Story) -> None:
    surface = story.surface()
    story.restart(3600)
    story.answer(surface, "acted")
    assert story.standing(surface) == "acted"


def test_what_was_answered_is_not_marked_at_a_stop(story: Story) -> None:
    acked, acted = story.surface(), story.surface()
    story.answer(acked, "acked")
    story.answer(acted, "acted")
    story.restart(3600)
    assert len(story.outcomes(acked)) == len(story.outcomes(acted)) == 1


def test_after_the_horizon_nothing_changes(story: Story) -> None:
    acked, ignored = story.surface(), story.surface()
    story.answer(acked, "acked")
    story.clock.advance(24 * 3600)
    story.sweep()
    for surface in (acked, ignored):
        with pytest.raises(UsageError) as caught:
            story.answer(surface, "acted")
        assert caught.value.facts["reason"] == "past-horizon"
    story.clock.advance(5)
    story.say(Outcome(surface_id=acked, outcome="acted", source="cli"))
    story.say(Outcome(surface_id=ignored, outcome="acted", source="cli"))
    assert story.standing(acked) == "acked"
    assert story.standing(ignored) == "ignored"
    story.restart(10)
    assert len(story.outcomes(ignored)) == 2


def test_an_unanswered_surface_past_its_horizon_is_refused_before_the_sweep(story: Story) -> None:
    surface = story.surface()
    story.clock.advance(24 * 3600)
    with pytest.raises(UsageError):
        story.answer(surface, "acted")


def test_a_late_stamp_of_an_outcome_in_time_counts(story: Story) -> None:
    surface = story.surface()
    story.clock.advance(24 * 3600 - 1)
    decided = decide_outcome(story.state, surface, "acted", "cli", story.now)
    story.clock.advance(3)
    assert decided is not None
    story.say(decided)
    assert story.standing(surface) == "acted"


@pytest.mark.parametrize("outcome", ["ignored", "system_unavailable"])
@pytest.mark.parametrize("source", ["cli", "timeout", "gateway_shutdown"])
def test_system_outcomes_are_refused(story: Story, outcome: str, source: str) -> None:
    with pytest.raises(TrustError):
        story.answer(story.surface(), outcome, source)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("source", ["timeout", "gateway_shutdown", "artifact_file_open"])
def test_an_ack_has_no_other_source_than_a_click_or_a_command(story: Story, source: str) -> None:
    with pytest.raises(TrustError):
        story.answer(story.surface(), "acked", source)  # pyright: ignore[reportArgumentType]


def test_an_unknown_surface_is_refused(story: Story) -> None:
    with pytest.raises(UsageError) as caught:
        story.answer("nobody", "acted")
    assert caught.value.facts == {"surface_id": "nobody", "reason": "unknown"}


def test_an_outcome_of_an_unknown_surface_and_a_doubled_one_change_nothing(story: Story) -> None:
    surface = story.surface()
    story.answer(surface, "acked")
    story.say(Outcome(surface_id="nobody", outcome="acted", source="cli"))
    story.surface(surface)
    assert story.standing(surface) == "acked"
    assert len(list(story.state.surfaces())) == 1


# --- the horizon is awake time ------------------------------------------------------------


def test_nights_asleep_do_not_use_up_the_horizon(story: Story) -> None:
    surface = story.surface()
    story.clock.advance(10 * 3600)
    story.sleep(14 * 3600)
    story.clock.advance(13 * 3600)
    assert story.sweep() == []
    story.answer(surface, "acted")
    assert story.standing(surface) == "acted"


def test_three_horizons_of_wall_without_one_awake_is_unavailable(story: Story) -> None:
    surface = story.surface()
    for _ in range(3):
        story.clock.advance(2 * 3600)
        story.sleep(22 * 3600)
    [due] = story.sweep()
    assert due == Outcome(
        surface_id=surface,
        outcome="system_unavailable",
        source="timeout",
        alive_seconds=6 * 3600,
    )
    assert story.standing(surface) == "system_unavailable"
    with pytest.raises(UsageError):
        story.answer(surface, "acted")


def test_a_day_awake_within_three_of_wall_is_ignored(story: Story) -> None:
    surface = story.surface()
    for _ in range(2):
        story.clock.advance(12 * 3600)
        story.sleep(12 * 3600)
    story.sweep()
    assert story.standing(surface) == "ignored"


def test_open_until_says_when_it_ends_if_nothing_sleeps(story: Story) -> None:
    surface = story.state.open[story.surface()]
    began = story.now
    assert story.state.open_until(surface, story.now) == began + DAY
    story.clock.advance(3600)
    story.sleep(5 * 3600)
    assert story.state.open_until(surface, story.now) == began + 29 * HOUR
    story.sleep(60 * 3600)
    assert story.state.open_until(surface, story.now) == began + 72 * HOUR
    story.sleep(60 * 3600)
    assert story.state.open_until(surface, story.now) == story.now


def test_a_stop_a_pause_and_a_crash_pause_the_horizon(story: Story) -> None:
    surface = story.surface()
    story.clock.advance(3600)
    story.crash(200)
    story.restart(3600)
    story.pause(3600)
    found = story.state.open[surface]
    assert story.state.awake_ms(found, story.state.availability.now) == HOUR


# --- stops, crashes, pauses ---------------------------------------------------------------


def test_a_crash_of_more_than_300_seconds_marks_what_was_open(story: Story) -> None:
    surface = story.surface()
    story.clock.advance(40)
    story.crash(301)
    [said] = story.outcomes(surface)
    assert (said.outcome, said.alive_seconds, said.downtime_seconds) == (
        "system_unavailable",
        40,
        301,
    )
    assert story.standing(surface) == "system_unavailable"


def test_a_shorter_crash_leaves_it_open(story: Story) -> None:
    surface = story.surface()
    story.crash(300)
    assert story.outcomes(surface) == []
    story.clock.advance(24 * 3600)
    story.sweep()
    assert story.standing(surface) == "ignored"


def test_a_crash_in_the_middle_of_an_orderly_stop_is_completed_at_the_start(story: Story) -> None:
    first, second = story.surface(), story.surface()
    story.clock.advance(60)
    lines = engagement.at_stop(story.state, story.now)
    assert [line.surface_id for line in lines] == [first, second]
    story.say(lines[0])  # and killed
    story.crash(600)
    assert [(o.alive_seconds, o.downtime_seconds) for o in story.outcomes(first)] == [
        (60, None),
        (60, 600),
    ]
    assert [(o.alive_seconds, o.downtime_seconds) for o in story.outcomes(second)] == [(60, 600)]


def test_a_crash_between_the_start_and_its_outcomes_is_completed_at_the_next(story: Story) -> None:
    surface = story.surface()
    story.clock.advance(60)
    story.say(GatewayStopped(cause="crash", boot_id=BOOT))
    story.clock.advance(1000)
    story.say(GatewayStarted(boot_id=BOOT, cause="crash", gap_seconds=1000))  # and killed
    assert story.sweep() == []
    story.crash(5)
    assert [o.downtime_seconds for o in story.outcomes(surface)] == [1000]


def test_a_pause_counts_as_downtime(story: Story) -> None:
    surface = story.surface()
    story.clock.advance(30)
    story.pause(900)
    stopped, resumed = story.outcomes(surface)
    assert (stopped.alive_seconds, resumed.downtime_seconds) == (30, 900)
    assert story.state.open[surface].down_ms == 900 * SECOND


def test_a_sleep_marks_nothing(story: Story) -> None:
    surface = story.surface()
    story.sleep(8 * 3600)
    assert engagement.at_start(story.state, story.now) == []
    assert story.state.open[surface].down_ms == 0


def test_downtime_counts_within_the_horizon_only(story: Story) -> None:
    surface = story.surface()
    story.clock.advance(3600)
    story.restart(30 * 24 * 3600)
    found = story.state.find(surface)
    assert found is not None
    assert found.down_ms == 71 * HOUR
    assert story.outcomes(surface)[-1].downtime_seconds == 30 * 24 * 3600


def test_downtime_after_the_awake_horizon_does_not_count(story: Story) -> None:
    surface = story.surface()
    story.answer(surface, "acked")
    story.clock.advance(24 * 3600)
    story.end()
    story.clock.advance(3600)
    folded = Engagement(story.config).take_all(story.engagement.lines)
    story.begin(cause="orderly", gap_seconds=3600)
    folded.take(story.engagement.lines[-1])
    assert folded.open[surface].down_ms == 0


def test_a_surface_due_at_a_stop_is_ignored_and_not_unavailable(story: Story) -> None:
    surface = story.surface()
    story.clock.advance(24 * 3600)
    story.restart(60)
    assert [o.outcome for o in story.outcomes(surface)] == ["ignored"]


def test_a_second_stop_says_nothing_more_of_a_surface(story: Story) -> None:
    surface = story.surface()
    story.restart(60)
    story.restart(60)
    assert len(story.outcomes(surface)) == 2
    assert story.state.open[surface].down_ms == 120 * SECOND


def test_what_is_emitted_in_a_pause_was_not_there_when_it_began(story: Story) -> None:
    story.end("pause")
    surface = story.surface(synthetic=True)
    story.clock.advance(600)
    story.begin(cause="pause", gap_seconds=600)
    assert story.outcomes(surface) == []


# --- the clock -----------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [3600.0, -3600.0, 365.0 * 86400, -365.0 * 86400])
def test_a_step_of_the_clock_neither_ends_nor_prolongs_a_horizon(
    story: Story, seconds: float
) -> None:
    surface = story.surface()
    story.clock.advance(3600)
    story.step(seconds)
    story.clock.advance(23 * 3600 - 1)
    assert story.sweep() == []
    story.clock.advance(1)
    story.sweep()
    assert story.standing(surface) == "ignored"


# --- what is kept --------------------------------------------------------------------------


def test_settled_surfaces_are_put_aside_and_forgotten_after_28_days(story: Story) -> None:
    first = story.surface()
    story.answer(first, "acted")
    second = story.surface()
    story.sweep()
    assert list(story.state.open) == [second]
    assert story.state.find(first) is story.state.settled[first]
    story.clock.advance(86400)
    story.sweep()
    story.sweep()
    assert story.state.open == {}
    story.clock.advance(31 * 86400 + 1)
    story.sweep()
    assert story.state.settled == {}
    assert story.state.seq == story.engagement.head.seq


def test_only_what_the_model_brought_judges_a_prompt(story: Story) -> None:
    made = [
        story.surface(),
        story.surface(origin="rule"),
        story.surface(synthetic=True),
    ]
    assert [story.state.open[each].judged for each in made] == [True, False, False]
