"""What the pages say of fitness and of the inbox: page 8's words, and no more than is known."""

import msgspec
import pytest

from gnomon.domain.instants import HOUR, MINUTE, Millis, iso
from gnomon.domain.records_referee import EngagementCounts
from gnomon.domain.views_referee import Forecast, Pooled
from gnomon.gateway.dashboard import fitness_words as words
from gnomon.gateway.dashboard.labels import read_labels
from gnomon.gateway.dashboard.wording import Sentence, gist, pretty
from gnomon.testing.referee import NOON, a_fitness, a_line, a_window, an_item, some_items

LABELS = read_labels()


def said(sentence: Sentence) -> str:
    return LABELS(sentence.key, **sentence.values)


def whole(pooled: Pooled) -> str:
    use = words.usefulness(pooled, 3)
    tail = "; ".join(map(said, use.tail))
    return said(use.lead) + (said(use.rest) if use.rest else "") + (f" {tail}." if tail else "")


def a_pool(**changed: object) -> Pooled:
    return msgspec.structs.replace(a_fitness().pooled[0], **changed)


def test_the_week_is_told_in_the_words_of_the_design():
    assert whole(a_pool()) == (
        "Used 14 of 22 (64%), last 7 days. You dismissed 3, let 5 pass. "
        "2 came while it was off and don't count; 4 are open."
    )


def test_what_there_is_none_of_is_not_mentioned():
    assert whole(a_pool(unavailable=0, open=0)) == (
        "Used 14 of 22 (64%), last 7 days. You dismissed 3, let 5 pass."
    )
    assert whole(a_pool(unavailable=1, open=1)).endswith(
        "1 came while it was off and doesn't count; 1 is open."
    )


def test_below_the_least_sample_there_is_no_score():
    early = a_pool(acted=0, acked=0, ignored=0, rate=None, interval=None, unavailable=0, open=1)
    assert whole(early) == (
        "Too early to say. Brought 1, used 0, open 1. A score appears after 3 have settled."
    )


def test_shares_and_values_are_rounded_half_up():
    assert words.percent(0.625) == "63%"
    assert words.points(0.185) == "0.19"
    assert words.points(0.19) == "0.19"


# --- this week and the one before ----------------------------------------------------------------


Interval = tuple[float, float] | None


def trend(now: float | None, of_now: Interval, then: float | None, of_then: Interval) -> str:
    fitness = a_fitness()
    week = msgspec.structs.replace(fitness.pooled[0], rate=now, interval=of_now)
    before = msgspec.structs.replace(fitness.before, rate=then, interval=of_then)
    return said(words.trend(msgspec.structs.replace(fitness, pooled=(week,), before=before)))


def test_a_difference_that_the_intervals_allow_is_called_chance():
    assert "no more than chance" in trend(0.64, (0.43, 0.8), 0.55, (0.35, 0.73))
    few = trend(0.59, (0.41, 0.74), 0.8, (0.38, 0.96))
    assert "no more than chance" in few, "five items of a first day are no week"
    assert "no more than chance" in trend(0.6, None, 0.5, None)


def test_a_difference_beyond_them_is_said_either_way():
    assert trend(0.9, (0.8, 0.97), 0.4, (0.3, 0.5)).startswith("You used more")
    assert trend(0.2, (0.1, 0.3), 0.9, (0.8, 0.97)).startswith("You used less")


def test_without_two_weeks_no_trend_is_said():
    assert "two weeks" in trend(0.64, (0.43, 0.8), None, None)
    assert "two weeks" in trend(None, None, 0.5, (0.4, 0.6))
    assert words.trend(a_fitness(pooled=())) == Sentence("fitness.no-trend-yet")


def test_the_forecast_says_how_long_a_difference_takes():
    forecast = words.forecast(Forecast(points=10, surfaces_per_day=5.0, days=100))
    assert forecast is not None
    assert said(forecast) == "At 5 a day, a 10-point difference shows after about 100 days."
    assert words.forecast(Forecast(points=10, surfaces_per_day=None, days=None)) is None
    assert words.forecast(Forecast(points=10, surfaces_per_day=0.0, days=10)) is None


def test_the_pace_is_said_where_it_is_known():
    pace = words.pace(Forecast(points=10, surfaces_per_day=5.0, days=None))
    assert pace is not None
    assert said(pace) == ("You get about 5 a day. At 5 a day, verdicts say nothing of usefulness.")
    many = words.pace(Forecast(points=10, surfaces_per_day=24.0, days=None))
    assert many is not None
    assert said(many) == "You get about 24 a day."
    assert words.pace(Forecast(points=10, surfaces_per_day=None, days=None)) is None


# --- the table -----------------------------------------------------------------------------------


def test_rows_are_newest_first_with_gaps_among_them():
    rows = words.rows(a_fitness(), 100)
    assert [row.start for row in rows] == sorted((row.start for row in rows), reverse=True)
    assert [row.window is None for row in rows].count(True) == 1
    assert len(words.rows(a_fitness(), 3)) == 3


def test_each_number_leads_to_the_lines_behind_it():
    [row] = [row for row in words.rows(a_fitness(), 100) if row.window is not None][:1]
    assert row.counts[0].text == "0.19"
    assert row.counts[0].link == "/lines?name=decision-ledger&after=89&limit=41"
    assert row.counts[1].link == "/lines?name=engagement-ledger&after=119&limit=11"


def test_a_number_that_rests_on_no_line_leads_nowhere():
    window = msgspec.structs.replace(a_window(1, None), lines={})
    [row, *_] = words.rows(a_fitness(windows=(window,), gaps=()), 1)
    assert row.counts[0].text == "\u2013"
    assert all(count.link is None for count in row.counts)


def test_pools_and_trends_are_found_by_their_days():
    fitness = a_fitness(EngagementCounts(acted=1))
    assert words.pooled_of(fitness, 28) is not None
    assert words.pooled_of(fitness, 5) is None
    assert words.trend_of(fitness, 5) is None


# --- the inbox -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"open_until": iso(Millis(NOON + 19 * HOUR + 5))}, "Open 19 h left"),
        ({"open_until": iso(Millis(NOON + 42 * MINUTE))}, "Open 42 min left"),
        ({"open_until": iso(NOON)}, "Open 1 min left"),
        ({"open_until": None}, "Open"),
        ({"outcome": "acted"}, "Used"),
        ({"outcome": "acked"}, "Dismissed"),
        ({"outcome": "ignored"}, "Let pass"),
        ({"outcome": "system_unavailable", "open_until": None}, "Missed (Gnomon was off)"),
        (
            {"outcome": "system_unavailable", "open_until": iso(NOON)},
            "Gnomon was paused or off meanwhile; you can still answer",
        ),
    ],
)
def test_what_became_of_an_item_is_said_in_peoples_words(changed: dict[str, str], expected: str):
    assert said(words.outcome(an_item("sf-1", **changed), NOON)) == expected


def test_what_was_missed_and_can_still_be_used_waits_with_the_open_ones():
    missed = an_item("sf-9", outcome="system_unavailable")
    gone = an_item("sf-8", outcome="system_unavailable", open_until=None)
    items = [*some_items(), missed, gone]
    assert {each.surface_id for each in words.waiting(items)} == {"sf-1", "sf-2", "sf-3", "sf-9"}
    assert {each.surface_id for each in words.settled(items, 10)} == {"sf-4", "sf-5", "sf-8"}
    assert len(words.settled(items, 1)) == 1


# --- lines ---------------------------------------------------------------------------------------


def test_a_lines_gist_is_its_plain_values_in_one_short_row():
    assert gist(a_line(7)) == "scaffold_version 000042-6f1d2c3b4a59 · skip_reason idle"
    assert gist({"kind": "x", "text": "a\nb", "none": None, "list": [1]}) == "text a b"
    assert len(gist({"text": "long " * 100})) == 120


def test_a_line_is_shown_whole_when_it_is_opened():
    assert '"skip_reason": "idle"' in pretty(a_line(7))
