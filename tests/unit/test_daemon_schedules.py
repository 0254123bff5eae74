"""The daemon's pure parts: the beat's schedule, presence, tallies, what a start must say."""

import pytest

from gnomon.daemon import beat
from gnomon.daemon.presence import Presence
from gnomon.daemon.store import heartbeat
from gnomon.daemon.store.tally import Tally, fold
from gnomon.domain.instants import MINUTE, Millis
from gnomon.domain.ledgers import GENESIS, Line
from gnomon.domain.records import Body, Reflection, Tick


def line(seq: int, body: Body) -> Line:
    return Line(seq=seq, at=Millis(seq), schema=1, prev=GENESIS, sha256=GENESIS, body=body)


def reflection(number: int, focus: str) -> Reflection:
    return Reflection(
        reflection_no=number,
        focus=focus,
        desired_action="rest",
        summary="",
        concerns=(),
        active_item=None,
        raw_signature="",
        repeated=False,
        repeat_count=0,
        pressure="none",
        model="m",
        seconds=1.0,
        tokens_in=None,
        tokens_out=None,
        scaffold_version="000001-000000000000",
    )


def test_the_first_tick_comes_one_period_after_the_start() -> None:
    schedule = beat.first(100.0, 120.0)
    things, _ = beat.due(schedule, 219.9, 120.0)
    assert "tick" not in things
    things, _ = beat.due(schedule, 220.0, 120.0)
    assert "tick" in things


def test_a_late_tick_is_not_made_up() -> None:
    things, schedule = beat.due(beat.first(0.0, 120.0), 10_000.0, 120.0)
    assert things.count("tick") == 1
    assert schedule.tick_at > 10_000.0
    assert schedule.tick_at % 120.0 == 0


def test_a_sign_older_than_the_last_changes_nothing() -> None:
    here = Presence(last_at=Millis(1_000), last_sign="up")
    assert here.seen(Millis(500), "chat") == here
    assert here.seen(Millis(2_000), "chat").last_sign == "chat"


def test_the_operator_is_away_after_the_gate_and_never_when_it_is_off() -> None:
    here = Presence(last_at=Millis(0), last_sign="up")
    assert here.is_near(Millis(30 * MINUTE), 30)
    assert not here.is_near(Millis(30 * MINUTE + 1), 30)
    assert here.is_near(Millis(10**12), 0)


def test_the_tally_counts_ticks_and_reasons_and_ignores_lines_it_has() -> None:
    lines = [
        line(1, Tick(scaffold_version="v")),
        line(2, reflection(1, "the flaky test")),
        line(3, Tick(scaffold_version="v", skip_reason="idle")),
        line(4, Tick(scaffold_version="v", skip_reason="idle")),
    ]
    tally = Tally()
    for entry in [*lines, *lines]:
        tally = fold(tally, entry)
    assert (tally.ticks, tally.reflections, tally.skipped) == (3, 1, {"idle": 2})
    assert tally.last_focus == "the flaky test"


def beat_at(
    wall: int, boottime: float, monotonic: float, *, boot_id: str = "b", ended: bool = False
) -> heartbeat.Heartbeat:
    return heartbeat.Heartbeat(
        wall=Millis(wall), boottime=boottime, monotonic=monotonic, boot_id=boot_id, ended=ended
    )


def test_a_start_after_a_crash_says_when_the_earlier_life_ended() -> None:
    kinds = [
        (body.kind(), body.cause)
        for body in heartbeat.lines_at_start(beat_at(0, 0, 0), beat_at(90_000, 90, 90))
    ]
    assert kinds == [("gateway_stopped", "crash"), ("gateway_started", "crash")]


def test_a_start_after_an_orderly_stop_writes_one_line() -> None:
    lines = heartbeat.lines_at_start(beat_at(0, 0, 0, ended=True), beat_at(90_000, 90, 90))
    assert [(body.kind(), body.gap_seconds) for body in lines] == [("gateway_started", 90)]


def test_sleep_is_what_boot_time_counts_and_monotonic_time_does_not() -> None:
    assert heartbeat.asleep_seconds(beat_at(0, 0, 0), beat_at(0, 3_700, 100)) == 3_600


def test_a_gap_within_one_boot_is_what_the_boot_clock_says_however_the_wall_was_set() -> None:
    for wall in (-3_600_000, 90_000, 86_490_000):
        lines = heartbeat.lines_at_start(beat_at(0, 0, 0), beat_at(wall, 90, 90))
        assert [line.gap_seconds for line in lines] == [90, 90]


@pytest.mark.parametrize(
    ("wall", "boot", "step"),
    [(3_690_000, "a", 3_600), (-3_510_000, "a", -3_600), (-3_600_000, "b", -3_600)],
)
def test_a_clock_that_was_set_between_two_lives_is_found(wall: int, boot: str, step: int) -> None:
    now = beat_at(wall, 90, 90, boot_id=boot)
    assert heartbeat.step_seconds(beat_at(0, 0, 0, boot_id="a"), now) == step


@pytest.mark.parametrize(("wall", "boot"), [(90_000, "a"), (-200_000, "b"), (86_400_000, "b")])
def test_what_no_two_looks_can_tell_is_no_step(wall: int, boot: str) -> None:
    now = beat_at(wall, 90, 90, boot_id=boot)
    assert heartbeat.step_seconds(beat_at(0, 0, 0, boot_id="a"), now) == 0
