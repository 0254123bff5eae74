"""When the refiner may run: what it waits for, and what is in its way."""

from dataclasses import replace

import pytest

from gnomon.domain.instants import DAY, HOUR, MINUTE, Millis
from gnomon.domain.records import SkipReason
from gnomon.refiner.readiness import DAYS, Evidence, Means, days_of, not_ready
from gnomon.refiner.schedule import (
    GONE,
    SENTENCES,
    Every,
    Last,
    Quiet,
    has_come,
    next_at,
    not_quiet,
    refusal,
)

FINE = Evidence(days=7, engagement=0.5, surfaces=10, off=5, enabled=True, measured=10, needed=10)
ABLE = Means(autonomy="full", failures=0, referee_fails=False, fault=None)
QUIET = Quiet(turn_in_flight=False, idle=15 * MINUTE, under_judgment=False, waiting=False)
NOW = Millis(100 * DAY)


def codes(evidence: Evidence = FINE, means: Means = ABLE, *, dev_mode: bool = False) -> list[str]:
    return [reason.code for reason in not_ready(evidence, means, dev_mode=dev_mode)]


def test_it_is_ready_when_nothing_is_missing() -> None:
    assert codes() == []


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"days": 6}, "few-days"),
        ({"engagement": None}, "engagement-unknown"),
        ({"engagement": 0.199}, "engagement-low"),
        ({"engagement": 0.951}, "engagement-high"),
        ({"off": 6}, "often-off"),
        ({"enabled": False}, "not-enabled"),
    ],
)
def test_each_condition_is_named_when_it_is_missing_and_waived_in_dev_mode(
    changed: dict[str, object], code: str
) -> None:
    missing = replace(FINE, **changed)  # type: ignore[arg-type] - by name
    assert codes(missing) == [code]
    assert codes(missing, dev_mode=True) == []


def test_what_nothing_could_be_compared_with_is_not_begun_in_dev_mode_either() -> None:
    missing = replace(FINE, measured=1, needed=2)
    assert codes(missing) == codes(missing, dev_mode=True) == ["unmeasured"]


@pytest.mark.parametrize("engagement", [0.2, 0.95])
def test_the_bounds_of_engagement_are_within(engagement: float) -> None:
    assert codes(replace(FINE, engagement=engagement)) == []


@pytest.mark.parametrize(
    ("means", "code"),
    [
        (replace(ABLE, autonomy="skills"), "autonomy"),
        (replace(ABLE, failures=2), "failed-twice"),
        (replace(ABLE, referee_fails=True), "referee-fails"),
        (replace(ABLE, fault=("remote-model", "It is elsewhere.")), "remote-model"),
    ],
)
def test_dev_mode_waives_nothing_of_what_it_is_allowed(means: Means, code: str) -> None:
    assert codes(means=means) == [code]
    assert codes(means=means, dev_mode=True) == [code]


def test_all_that_is_missing_is_told_in_sentences() -> None:
    missing = not_ready(
        replace(FINE, days=0, engagement=None, surfaces=0, off=0, enabled=False),
        ABLE,
        dev_mode=False,
    )
    assert [reason.sentence.endswith(".") for reason in missing] == [True] * 3
    assert missing[0].sentence == "It has been measured on 0 of 7 days."


def test_days_are_dates_and_no_more_are_read_than_are_asked_for() -> None:
    starts = [f"2026-03-{day:02d}T{hour:02d}:00:00.000Z" for day in range(1, 10) for hour in (0, 9)]
    rest = iter(starts)
    assert days_of(rest) == DAYS
    assert next(rest) == "2026-03-07T09:00:00.000Z"
    assert days_of(starts[:3]) == 2


EVERY = Every(ticks=100, hours=4)


@pytest.mark.parametrize(
    ("last", "ticks", "come"),
    [
        (Last(), 0, True),
        (Last(at=NOW, ticks=50), 149, False),
        (Last(at=NOW, ticks=50), 150, True),
        (Last(at=Millis(NOW - 4 * HOUR + 1), ticks=50), 50, False),
        (Last(at=Millis(NOW - 4 * HOUR), ticks=50), 50, True),
        (Last(at=Millis(NOW + DAY), ticks=50), 50, False),
        (Last(at=Millis(NOW + DAY), ticks=50), 150, True),
    ],
)
def test_it_is_due_by_ticks_or_by_hours_whichever_comes_first(
    last: Last, ticks: int, come: bool
) -> None:
    assert has_come(EVERY, last, ticks, NOW) is come


def test_its_next_time_is_told_by_the_clock() -> None:
    assert next_at(EVERY, Last(), NOW) == NOW
    assert next_at(EVERY, Last(at=Millis(NOW - HOUR)), NOW) == NOW + 3 * HOUR
    assert next_at(EVERY, Last(at=Millis(NOW - DAY)), NOW) == NOW


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, None),
        ({"turn_in_flight": True}, "turn"),
        ({"under_judgment": True}, "judging"),
        ({"waiting": True}, "waiting"),
        ({"idle": 15 * MINUTE - 1}, "near"),
        ({"idle": GONE + 1}, "gone"),
    ],
)
def test_what_is_in_the_way_is_named(changed: dict[str, object], reason: str | None) -> None:
    found = not_quiet(replace(QUIET, **changed))  # type: ignore[arg-type] - by name
    assert found == reason
    assert found is None or SENTENCES[found].endswith(".")


@pytest.mark.parametrize(
    ("skipped", "reason"),
    [
        (None, None),
        ("model-error", "model"),
        ("no-model", "model"),
        ("duty-cycle", "budget"),
        ("paused", "budget"),
    ],
)
def test_what_would_refuse_its_calls_is_named(
    skipped: SkipReason | None, reason: str | None
) -> None:
    found = refusal(skipped)
    assert found == reason
    assert found is None or SENTENCES[found].endswith(".")
