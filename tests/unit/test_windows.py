"""Which lines the fitness-ledger gets, and when: each window once, and none of them false."""

from itertools import pairwise

import pytest

from gnomon.domain.errors import LedgerCorruptError
from gnomon.domain.instants import HOUR, Millis, iso, parse_iso
from gnomon.domain.records import AnchoredHead
from gnomon.domain.records_referee import Amendment, ClockStepped, FitnessBody, Gap, Window
from gnomon.referee.config import FitnessConfig
from gnomon.referee.fitness_tail import FitnessTail, StandingLine
from gnomon.referee.windows import Evidence, Stretches, plan, stays
from gnomon.testing.clock import FakeClock
from tests.referee_kit import V1, V2, Story, hour, standing


def live_hours(story: Story, hours: float) -> None:
    """Ticks every two minutes, each with its sweep, through whole hours."""
    for _ in range(round(hours * 30)):
        story.tick()
        story.sweep()


def windows(bodies: list[FitnessBody]) -> list[str]:
    return [body.window_start for body in bodies if isinstance(body, Window)]


def gaps(bodies: list[FitnessBody]) -> list[tuple[str, str]]:
    return [(b.window_start, b.window_end) for b in bodies if isinstance(b, Gap)]


def test_a_window_is_computed_60_seconds_after_it_closes() -> None:
    story = Story()
    live_hours(story, 1)
    end = parse_iso(hour(1))
    assert story.fitness(Millis(end + 59_999)) == []
    [window] = story.fitness(Millis(end + 60_000))
    assert isinstance(window, Window)
    assert (window.window_start, window.window_end) == (hour(0), hour(1))
    assert window.window_seconds == 3600
    assert window.config_sha256 == "c" * 64


def test_three_hours_give_three_entries() -> None:
    story = Story()
    story.begin()
    live_hours(story, 3)
    story.clock.advance(60)
    found = story.fitness()
    assert windows(found) == [hour(0), hour(1), hour(2)]
    assert all(isinstance(body, Window) for body in found)


def test_windows_are_aligned_to_utc_whenever_the_life_began() -> None:
    story = Story(clock=FakeClock(parse_iso("2026-05-24T18:47:13Z")))
    live_hours(story, 1)
    assert windows(story.fitness(Millis(story.now + 2 * HOUR))) == [hour(0), hour(1)]


def test_a_window_cites_the_last_lines_that_it_used() -> None:
    story = Story()
    story.begin()
    live_hours(story, 1)
    story.surface()
    live_hours(story, 1)
    [first, second] = story.fitness(Millis(story.now + 60_000))[:2]
    assert isinstance(first, Window)
    assert isinstance(second, Window)
    line = story.decisions.lines[29]
    assert first.inputs["decision-ledger"] == AnchoredHead(seq=30, sha256=line.sha256)
    cited = story.engagement.lines[1]
    assert first.inputs["engagement-ledger"] == AnchoredHead(seq=2, sha256=cited.sha256)
    assert second.inputs["decision-ledger"].seq == 60


def test_what_is_there_already_is_not_made_again() -> None:
    story = Story()
    story.begin()
    tail = FitnessTail()
    live_hours(story, 5)
    first = story.fitness(tail=tail)
    assert story.fitness(tail=tail) == []
    live_hours(story, 2)
    again = story.fitness(tail=tail)
    assert windows(first) + windows(again) == [hour(n) for n in range(6)]
    assert first + again == story.fitness()


def test_a_restart_inside_an_hour_loses_nothing() -> None:
    story = Story()
    story.begin()
    for _ in range(3):
        story.tick(5)
        story.restart(300)
    live_hours(story, 0.5)
    [window] = story.fitness(Millis(parse_iso(hour(1)) + 60_000))
    assert isinstance(window, Window)
    assert window.window_start == hour(0)
    assert window.tick_count == 23


def test_a_span_without_a_decision_is_one_gap_line() -> None:
    story = Story()
    story.begin()
    live_hours(story, 1)
    story.restart(5 * 3600 + 1800)
    live_hours(story, 1)
    found = story.fitness(Millis(story.now + HOUR))
    assert gaps(found) == [(hour(1), hour(6))]
    assert windows(found) == [hour(0), hour(6), hour(7)]
    [gap] = [body for body in found if isinstance(body, Gap)]
    assert gap.window_seconds == 5 * 3600
    assert gap.inputs["decision-ledger"].seq == 30


def test_a_gap_line_is_not_repeated_when_the_window_after_it_was_not_written() -> None:
    story = Story()
    live_hours(story, 1)
    story.clock.advance(3 * 3600)
    live_hours(story, 1)
    story.clock.advance(60)
    found = story.fitness()
    for cut in range(len(found) + 1):
        tail = FitnessTail()
        for body in found[:cut]:
            tail.take(body)
        assert found[:cut] + story.fitness(tail=tail) == found


def test_a_surface_ignored_at_hour_25_changes_its_own_window_and_version() -> None:
    story = Story()
    story.begin()
    live_hours(story, 1)
    for _ in range(3):
        story.surface()
    live_hours(story, 1)
    story.version = V2
    live_hours(story, 26)
    found = story.fitness()
    lines = [b for b in found if not isinstance(b, Gap) and b.window_start == hour(1)]
    assert [type(line) for line in lines] == [Window, Amendment]
    early, last = lines
    assert (early.pending, early.mature, early.engagement_rate) == (3, False, None)
    assert (last.pending, last.mature, last.engagement_rate) == (0, True, 0.0)
    assert last.engagement_counts.ignored == 3
    assert last.scaffold_version == V1
    assert last.stall_reason == early.stall_reason
    late = standing(found)[hour(25)]
    assert late.engagement_counts.total == 0
    assert late.scaffold_version == V2


def test_an_answer_within_the_hour_needs_no_amendment() -> None:
    story = Story()
    story.begin()
    story.tick()
    story.answer(story.surface(), "acted")
    live_hours(story, 30)
    assert not any(isinstance(body, Amendment) for body in story.fitness())


def test_an_acked_surface_makes_its_window_mature_when_its_horizon_is_over() -> None:
    story = Story()
    story.begin()
    story.tick()
    story.answer(story.surface(), "acked")
    live_hours(story, 30)
    lines = [b for b in story.fitness() if not isinstance(b, Gap) and b.window_start == hour(0)]
    assert [(line.mature, line.engagement_counts.acked) for line in lines] == [
        (False, 1),
        (True, 1),
    ]


def test_amendments_converge() -> None:
    story = Story()
    story.begin()
    live_hours(story, 1)
    made = [story.surface() for _ in range(4)]
    live_hours(story, 3)
    story.answer(made[0], "acked")
    live_hours(story, 3)
    story.answer(made[0], "acted")
    story.restart(1800)
    live_hours(story, 30)
    found = story.fitness()
    lines = [b for b in found if not isinstance(b, Gap) and b.window_start == hour(1)]
    assert len(lines) <= 6
    assert lines[-1].mature
    for before, after in pairwise(lines):
        assert before != after
    live_hours(story, 30)
    assert [
        b for b in story.fitness() if not isinstance(b, Gap) and b.window_start == hour(1)
    ] == lines


def test_a_second_life_of_days_later_still_amends() -> None:
    story = Story()
    story.begin()
    live_hours(story, 1)
    for _ in range(3):
        story.surface()
    live_hours(story, 1)
    story.restart(21 * 24 * 3600)
    live_hours(story, 2)
    last = standing(story.fitness())[hour(1)]
    assert last.mature
    assert last.system_unavailable_count == 3
    assert last.system_unavailable_seconds == 3 * 71 * 3600


# --- killed anywhere -----------------------------------------------------------------------


def eventful() -> Story:
    story = Story()
    story.begin()
    for day in range(3):
        for number in range(10):
            live_hours(story, 1)
            made = story.surface()
            if number % 3 == 0:
                story.answer(made, "acked")
            if number % 3 == 1:
                live_hours(story, 0.2)
                story.answer(made, "acted")
        if day == 0:
            story.sleep(9 * 3600)
        if day == 1:
            story.restart(12 * 3600)
    live_hours(story, 27)
    return story


def test_a_writer_killed_after_any_line_goes_on_to_the_same_ledger() -> None:
    story = eventful()
    found = story.fitness()
    assert any(isinstance(body, Gap) for body in found)
    assert sum(isinstance(body, Amendment) for body in found) > 10
    for cut in range(len(found)):
        tail = FitnessTail()
        for body in found[:cut]:
            tail.take(body)
        assert found[:cut] + story.fitness(tail=tail) == found, cut


def test_when_the_writer_runs_makes_no_difference() -> None:
    story = eventful()
    found = story.fitness()
    tail = FitnessTail()
    stepwise: list[FitnessBody] = []
    for now in range(parse_iso(hour(0)), story.now, 5 * HOUR):
        stepwise += story.fitness(Millis(now), tail=tail)
    assert stepwise + story.fitness(tail=tail) == found


# --- the clock -----------------------------------------------------------------------------


def test_a_step_forward_nulls_the_windows_at_both_ends_and_leaves_a_gap() -> None:
    story = Story()
    story.begin()
    live_hours(story, 1.5)
    story.reflect(5, every=1)
    story.step(3 * 3600)
    story.reflect(5, every=1)
    live_hours(story, 2)
    found = story.fitness()
    assert gaps(found) == [(hour(2), hour(4))]
    line = standing(found)
    for number in (1, 4):
        assert line[hour(number)].stall_reason == "clock_step"
        assert line[hour(number)].engagement_reason == "clock_step"
        assert line[hour(number)].stall_composite is None
    assert line[hour(0)].stall_reason == "missing_data"
    assert line[hour(5)].stall_reason == "missing_data"


def test_a_step_forward_of_a_year_is_one_gap() -> None:
    story = Story()
    story.begin()
    live_hours(story, 1.5)
    story.step(365 * 86400)
    live_hours(story, 2)
    found = story.fitness()
    assert len(gaps(found)) == 1
    assert len(windows(found)) == 4


def hand_lived(tail: FitnessTail, found: list[FitnessBody]) -> FitnessTail:
    """What the gateway adds to the tail after the clock was set back."""
    lived = {start: StandingLine(body=body, after=0) for start, body in standing(found).items()}
    tail.standing = {**lived, **tail.standing}
    return tail


def test_a_step_back_nulls_the_windows_that_are_lived_twice() -> None:
    story = Story()
    story.begin()
    tail = FitnessTail()
    live_hours(story, 3.5)
    found = story.fitness(tail=tail)
    assert windows(found) == [hour(0), hour(1), hour(2)]
    story.step(-2 * 3600)
    live_hours(story, 3.5)
    found += story.fitness(tail=hand_lived(tail, found))
    line = standing(found)
    assert windows(found) == [hour(n) for n in range(4)]
    for number in (1, 2, 3):
        assert line[hour(number)].stall_reason == "clock_step"
    assert line[hour(0)].stall_reason == "missing_data"
    assert line[hour(2)].tick_count == 60
    assert len(windows(found)) == len(set(windows(found)))
    assert gaps(found) == []
    live_hours(story, 1)
    found += story.fitness(tail=tail)
    assert windows(found) == [hour(n) for n in range(5)]
    assert standing(found)[hour(4)].stall_reason == "missing_data"


def test_a_wrong_year_of_some_hours_hides_nothing_of_what_follows() -> None:
    """Found by a simulated life: a step forward that was noted between two windows, and undone
    a minute later, was waited for until its year would come.
    """
    story = Story()
    story.begin()
    live_hours(story, 1)
    story.step(365 * 86400)
    live_hours(story, 2.3)
    story.step(3600)
    story.step(-365 * 86400)
    story.answer(story.surface(), "acted")
    live_hours(story, 2)
    found = story.fitness()
    acted = [line.engagement_counts.acted for line in standing(found).values()]
    assert sum(acted) == 1


def test_a_wrong_year_in_which_it_decided_nothing_hides_nothing_either() -> None:
    """Found by a simulated life: it woke in a wrong year, brought something, and the clock was
    right again before the next tick.
    """
    story = Story()
    story.begin()
    live_hours(story, 1)
    story.step(365 * 86400)
    story.surface()
    story.step(-365 * 86400 + 7200)
    story.answer(story.surface(), "acted")
    live_hours(story, 2)
    found = standing(story.fitness())
    assert sum(line.engagement_counts.acted for line in found.values()) == 1


def test_a_small_step_back_that_nobody_noted_holds_up_nothing() -> None:
    story = Story()
    story.begin()
    live_hours(story, 0.6)
    story.answer(story.surface(), "acted")
    story.clock.step(-900)
    story.begin(cause="crash", gap_seconds=200)
    story.answer(story.surface(), "acted")
    live_hours(story, 1)
    first = standing(story.fitness())[hour(0)]
    assert first.engagement_counts.acted == 2


def test_a_surface_that_came_before_the_step_was_noted_holds_up_nothing() -> None:
    """Found by a simulated life: the clock was set back by a year, and dated a surface before
    the next beat noted it.
    """
    story = Story()
    story.begin()
    live_hours(story, 1.4)
    before = story.now
    story.clock.step(-365 * 86_400)
    story.surface()
    story.say(
        ClockStepped(step_seconds=-365 * 86_400, wall_before=iso(before), wall_after=iso(story.now))
    )
    live_hours(story, 0.5)
    story.step(365 * 86_400)
    live_hours(story, 2)
    story.answer(story.surface(), "acted")
    live_hours(story, 2)
    found = standing(story.fitness())
    assert sum(line.engagement_counts.acted for line in found.values()) == 1


def test_a_window_left_and_entered_again_without_a_decision_between_measures_nothing() -> None:
    """Found by a simulated life: at 18:58 the clock goes back to 17:59, and the next decision
    comes at 18:00.
    """
    story = Story()
    story.begin()
    live_hours(story, 1.95)
    story.step(-3600)
    story.clock.advance(240)
    live_hours(story, 2)
    story.answer(story.surface(), "acted")
    live_hours(story, 2)
    found = standing(story.fitness())
    assert found[hour(1)].stall_reason == "clock_step"
    assert sum(line.engagement_counts.acted for line in found.values()) == 1


def stepping() -> Story:
    """Surfaces about a clock that is set forward, then back further."""
    story = Story(config=FitnessConfig(horizon_seconds=2 * 3600))
    story.begin()
    for seconds in (0, 3 * 3600, -7000, -5 * 3600, 0):
        if seconds:
            story.step(seconds)
        for _ in range(2):
            story.surface()
            live_hours(story, 0.6)
            story.answer(story.surface(), "acked")
            live_hours(story, 0.7)
    live_hours(story, 12)
    return story


def test_a_writer_killed_about_steps_of_the_clock_goes_on_to_the_same_ledger() -> None:
    story = stepping()
    found = story.fitness()
    # From nothing, each window that is entered again is known by the line made just before.
    assert len(windows(found)) == len(set(windows(found)))
    for cut in range(len(found)):
        tail = FitnessTail()
        for body in found[:cut]:
            tail.take(body)
        assert found[:cut] + story.fitness(tail=tail) == found, cut


def test_a_small_step_back_within_a_window_nulls_it() -> None:
    story = Story()
    story.begin()
    live_hours(story, 0.9)
    story.step(-1800)
    live_hours(story, 1.2)
    line = standing(story.fitness(Millis(parse_iso(hour(1)) + 60_000)))
    assert line[hour(0)].stall_reason == "clock_step"


def test_a_stay_that_the_clock_ended_does_not_wait_for_its_windows_end() -> None:
    story = Story()
    story.begin()
    live_hours(story, 5.2)
    story.step(-5 * 3600)
    story.tick()
    found = story.fitness(tail=FitnessTail())
    assert windows(found)[-1] == hour(5)
    assert standing(found)[hour(5)].stall_reason == "clock_step"


# --- calendars ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "start",
    [
        "2026-03-29T00:00:00Z",  # Europe's clocks go forward within these hours
        "2026-10-25T00:00:00Z",  # and back
        "2028-02-28T22:00:00Z",  # into a leap day
        "2028-02-29T22:00:00Z",
        "2026-12-31T22:00:00Z",
    ],
)
def test_each_hour_of_utc_has_its_window_whatever_the_calendar_does(start: str) -> None:
    began = parse_iso(start)
    story = Story(clock=FakeClock(began))
    story.begin()
    live_hours(story, 6)
    story.clock.advance(60)
    assert windows(story.fitness()) == [iso(Millis(began + n * HOUR)) for n in range(6)]


def test_other_window_lengths_are_aligned_too() -> None:
    story = Story(config=FitnessConfig(window_seconds=60), clock=FakeClock())
    for _ in range(10):
        story.tick(every=30)
    found = windows(story.fitness(Millis(story.now + HOUR)))
    assert all(parse_iso(start) % 60_000 == 0 for start in found)
    assert len(found) == 6


# --- ledgers that are not what they were -------------------------------------------------------


def broken_after(story: Story, count: int):
    yield from story.decisions.lines[:count]
    raise LedgerCorruptError("bad", ledger="decision-ledger", line=count + 1, reason="test")


def test_a_window_that_cannot_be_read_to_its_end_is_null() -> None:
    story = Story()
    story.reflect(60)
    evidence = Evidence(decisions=broken_after(story, 70), engagement=[])
    first, second = plan(FitnessTail(), evidence, story.loaded, Millis(story.now + HOUR))
    assert isinstance(first, Window)
    assert isinstance(second, Window)
    assert first.stall_composite is not None
    assert (second.stall_composite, second.stall_reason) == (None, "ledger_changed")
    assert second.engagement_reason == "ledger_changed"


def test_lines_that_cannot_be_read_at_all_are_an_error() -> None:
    story = Story()
    with pytest.raises(LedgerCorruptError):
        list(stays(broken_after(story, 0), 3_600_000, Stretches()))


def test_a_cited_line_that_is_gone_nulls_what_follows() -> None:
    story = Story()
    story.reflect(31)
    evidence = Evidence(decisions=story.decisions.lines, engagement=[], changed=True)
    [window] = plan(FitnessTail(), evidence, story.loaded, story.now)
    assert isinstance(window, Window)
    assert window.stall_reason == "ledger_changed"
    assert window.reflection_count == 30


def test_without_a_decision_there_is_nothing_to_say() -> None:
    assert Story().fitness() == []
    assert list(stays([], 3_600_000, Stretches())) == []


def test_a_window_is_not_final_while_the_beat_that_says_ignored_is_still_to_come() -> None:
    story = Story()
    story.begin()
    live_hours(story, 1)
    made = story.surface()  # its horizon ends with the hour, and the sweep comes after the line
    live_hours(story, 23)
    for _ in range(30):
        story.tick()
    story.clock.advance(60)
    due = story.fitness()
    assert not any(b.mature and b.pending for b in due if not isinstance(b, Gap))
    assert story.sweep()
    assert story.standing(made) == "ignored"
    live_hours(story, 2)
    last = standing(story.fitness())[hour(1)]
    assert (last.pending, last.mature, last.engagement_counts.ignored) == (0, True, 1)
