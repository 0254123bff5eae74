"""From lines of the fitness-ledger to what is shown of them."""

from typing import Any

import msgspec

from gnomon.daemon.fitness import fold
from gnomon.domain.instants import DAY, HOUR, MINUTE, Millis, iso
from gnomon.domain.ledgers import GENESIS, Line
from gnomon.domain.records import AnchoredHead, Body
from gnomon.domain.records_referee import (
    Amendment,
    Components,
    EngagementCounts,
    Gap,
    GatewayStarted,
    Window,
)
from gnomon.referee.pooled import PooledEngagement

NOON = Millis(1_780_012_800_000)
SHA = "5c" * 32


def inputs(decision: int, engagement: int) -> dict[str, AnchoredHead]:
    return {
        "decision-ledger": AnchoredHead(seq=decision, sha256=SHA),
        "engagement-ledger": AnchoredHead(seq=engagement, sha256=SHA),
    }


def a_window(hours_ago: int, **changed: Any) -> Window:
    """The window that began so many hours before noon."""
    start = NOON - hours_ago * HOUR
    fresh = Window(
        window_start=iso(Millis(start)),
        window_end=iso(Millis(start + HOUR)),
        window_seconds=3600,
        stall_composite=0.2,
        stall_reason=None,
        components=Components(),
        engagement_rate=None,
        engagement_reason="low_sample",
        engagement_counts=EngagementCounts(acted=1),
        system_unavailable_count=0,
        system_unavailable_seconds=0,
        pending=1,
        mature=False,
        rule_counts=EngagementCounts(),
        synthetic_counts=EngagementCounts(),
        tick_count=30,
        reflection_count=12,
        executive_attempt_count=1,
        scaffold_version="000001-abcdefabcdef",
        mixed_scaffold=False,
        config_sha256=SHA,
        inputs=inputs(100 - 10 * hours_ago, 50 - hours_ago),
    )
    return msgspec.structs.replace(fresh, **changed)


def amended(window: Window, **changed: Any) -> Amendment:
    fields = {name: getattr(window, name) for name in window.__struct_fields__}
    return Amendment(**(fields | changed))


def lines(*bodies: Body) -> list[Line]:
    return [
        Line(seq=seq, at=Millis(NOON + seq * MINUTE), schema=1, prev=GENESIS, sha256=SHA, body=body)
        for seq, body in enumerate(bodies, start=1)
    ]


def a_gap() -> Gap:
    return Gap(
        window_start=iso(Millis(NOON - 9 * HOUR)),
        window_end=iso(Millis(NOON - 5 * HOUR)),
        window_seconds=4 * 3600,
        config_sha256=SHA,
        inputs=inputs(1, 1),
    )


def test_the_last_line_for_a_window_stands():
    late = amended(a_window(2), pending=0, mature=True, inputs=inputs(80, 49))
    found = fold.folded(lines(a_window(2), a_gap(), a_window(1), late))
    assert [window.seq for window in found.windows] == [4, 3]
    assert [gap.seq for gap in found.gaps] == [2]
    [first, second] = fold.shown(found.windows, Millis(0))
    assert (first.kind, first.pending, first.mature) == ("amendment", 0, True)
    assert second.kind == "window"


def test_a_window_rests_on_the_lines_after_those_of_the_one_before_however_late_that_changed():
    late = amended(a_window(2), inputs=inputs(80, 49))
    [first, second] = fold.shown(
        fold.folded(lines(a_window(2), a_window(1), late)).windows, Millis(0)
    )
    assert (first.lines["decision-ledger"].first, first.lines["decision-ledger"].last) == (1, 80)
    assert second.lines["decision-ledger"].first == 81
    assert second.lines["engagement-ledger"].first == 49, "as the first line said, not the last"
    assert second.lines["engagement-ledger"].last == 49


def test_windows_are_shown_from_a_time_on():
    found = fold.folded(lines(a_window(3), a_window(2), a_window(1)))
    assert len(fold.shown(found.windows, Millis(NOON - 2 * HOUR))) == 2
    [only] = fold.shown(found.windows, Millis(NOON - HOUR))
    assert only.lines["decision-ledger"].first == 81


def test_a_line_of_another_kind_is_let_go():
    assert fold.folded(lines(GatewayStarted(boot_id=""))).windows == []


# --- going in circles ----------------------------------------------------------------------------


def standing(*windows: Window) -> list[fold.StandingWindow]:
    return list(fold.folded(lines(*windows)).windows)


def test_means_are_of_the_valid_windows_alone():
    trend = fold.stall_trend(
        standing(
            a_window(30, stall_composite=0.8),
            a_window(2, stall_composite=None, stall_reason="missing_data"),
            a_window(3, stall_composite=0.4),
            a_window(1, stall_composite=0.19),
        ),
        NOON,
    )
    assert trend.last == 0.19
    assert trend.day == 0.295
    assert trend.week == 0.463333
    assert trend.hours[-3:] == (0.4, None, 0.19)
    assert len(trend.hours) == 24


def test_the_reason_of_an_unknown_hour_is_told():
    missing = a_window(1, stall_composite=None, stall_reason="missing_data")
    trend = fold.stall_trend(standing(missing), NOON)
    assert (trend.last, trend.reason) == (None, "missing_data")


def test_an_hour_long_past_is_not_the_last_hour():
    trend = fold.stall_trend(standing(a_window(6)), NOON)
    assert (trend.last, trend.window_start, trend.day) == (None, None, 0.2)
    assert fold.stall_trend([], NOON).week is None


def test_values_of_other_rules_are_in_no_mean():
    other = a_window(2, stall_composite=0.9, config_sha256="00" * 32)
    assert fold.stall_trend(standing(other, a_window(1)), NOON).day == 0.2


# --- engagement ----------------------------------------------------------------------------------


def test_a_days_share_is_of_what_was_brought_before_its_end():
    windows = standing(
        a_window(24 * 9, engagement_counts=EngagementCounts(ignored=3)),
        a_window(24 * 3, engagement_counts=EngagementCounts(acted=2, acked=1)),
        a_window(24, engagement_counts=EngagementCounts(acted=1)),
    )
    trend = fold.engagement_trend(windows, NOON, 7, 3)
    assert len(trend.rates) == len(trend.ends) == 28
    assert trend.ends[-1] == iso(NOON)
    assert trend.rates[-1] == 1 - 0.25
    assert trend.rates[-9] == 0.0, "the day after the three that were let pass"
    assert trend.rates[0] is None
    assert fold.engagement_trend(windows, Millis(NOON - 2 * DAY), 7, 5).rates[-1] is None


def test_a_pool_below_the_least_sample_has_no_rate():
    pool = PooledEngagement(
        days=7, acted=1, acked=1, ignored=0, rate=0.5, interval=(0.1, 0.9), unavailable=1, open=2
    )
    few, enough = fold.pooled_view(pool, 3), fold.pooled_view(pool, 2)
    assert (few.rate, few.interval, few.reason) == (None, None, "low_sample")
    assert (enough.rate, enough.interval, enough.reason) == (0.5, (0.1, 0.9), None)
    assert fold.lines_of([], 9) is None
    assert few.lines is None
    assert fold.version_view("v", pool, 3).rate is None
    assert fold.version_view("v", pool, 2).rate == 0.5
