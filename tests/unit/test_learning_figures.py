"""Shares and means with their errors, and the table that shows them."""

import math

import pytest

from bench.learning.figures import EFFECTS, Column, Figure, Figures, mean, points, ratio, share
from bench.learning.lives import EDITS, one_history
from bench.learning.rules import EVERYTHING, SEED
from bench.learning.table import table
from bench.learning.world import BEARABLE, BUSY


def test_a_share_has_the_error_of_a_proportion() -> None:
    assert share([True] * 3 + [False]) == Figure(75.0, round(100 * math.sqrt(0.75 / 16), 2), 4)
    assert share([]) == Figure(None, None, 0)


def test_a_mean_of_one_has_no_error() -> None:
    assert mean([7]) == Figure(7.0, None, 1)
    assert mean([1, 2, 3]).error == pytest.approx(1 / math.sqrt(3), abs=0.01)


def test_edits_of_one_history_are_not_independent() -> None:
    """Ten that all share one fate tell as much as one."""
    together, apart = ratio([(10, 10), (0, 10)] * 8), ratio([(5, 10)] * 16)
    assert (together.value, apart.value) == (50.0, 50.0)
    assert (together.error or 0) > 10 > (apart.error or 0) == 0
    assert ratio([(0, 0)]) == Figure(None, None, 0)


def test_effects_are_written_in_points() -> None:
    assert [points(effect) for effect in EFFECTS] == ["-20", "-10", "-5", "0", "+5", "+10", "+20"]
    assert math.isclose(sum(part for _, part in EDITS), 1.0)


def test_without_a_referee_every_edit_stays_and_with_one_each_waits_for_its_verdict() -> None:
    kept = one_history(BUSY, EVERYTHING, "one", days=12)
    judged = one_history(BUSY, SEED, "one", days=12)
    assert {each.kept for each in kept.decided} == {True}
    assert len(kept.decided) > 20
    assert 0 < len(judged.decided) < 4
    assert all(each.basis == "both" and each.hours >= 34 for each in judged.decided)


def test_at_a_bearable_pace_going_in_circles_decides_alone_after_seven_days() -> None:
    decided = one_history(BEARABLE, SEED, "two", days=30).decided
    assert {(each.basis, each.hours) for each in decided} == {("stall_only", 168)}
    assert len(decided) >= 2


def test_nothing_is_tried_before_a_week_of_numbers() -> None:
    assert one_history(BUSY, EVERYTHING, "three", days=7).decided == []


def test_a_table_shows_an_error_only_where_it_shows() -> None:
    columns = [
        Column(
            pace=pace,
            rule="seed",
            first={points(effect): share([True, False] * 50) for effect in EFFECTS},
            both=Figure(100.0, 0.0, 9),
            hours=Figure(35.71, 0.01, 9),
            edits=Figure(9.0, 0.31, 9),
            in_use={"harm": Figure(None, None, 0), "nothing": mean([1]), "help": mean([2])},
            quality=mean([-40]),
            worse=share([]),
        )
        for pace in (BUSY.name, BEARABLE.name)
    ]
    figures = Figures(seed=1, lives=1, histories=1, columns=tuple(columns), depends={})
    lines = table(figures).splitlines()
    assert {len(line) for line in lines} == {len(lines[0])}
    assert [cell.strip() for cell in lines[0].split("|")] == [
        "",
        "",
        "6/h **seed**",
        "5/day **seed**",
        "",
    ]
    shown = [line.split("|")[2].strip() for line in lines[2:]]
    assert shown == ["50 ±5"] * 7 + ["35.7", "100", "9.0 ±0.3", "-", "1", "2", "-40", "-"]
