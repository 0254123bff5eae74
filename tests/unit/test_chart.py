"""Charts as the gateway draws them: what is unknown is a gap, and nothing else."""

import re

from gnomon.gateway.dashboard.chart import gauge, sparkline

MARKS = ("0%", "50%", "100%")


def points(svg: str) -> list[list[tuple[float, float]]]:
    found = re.findall(r'<polyline points="([^"]*)"', svg)
    return [
        [(float(x), float(y)) for x, y in (pair.split(",") for pair in run.split())]
        for run in found
    ]


def test_higher_values_stand_higher_and_time_goes_right():
    [[first, second]] = points(sparkline([0.0, 1.0], "rising", MARKS))
    assert second[0] > first[0]
    assert second[1] < first[1]


def test_what_is_unknown_is_a_gap_and_no_zero():
    svg = sparkline([0.2, 0.4, None, 0.6, None], "a gap", MARKS)
    assert [len(run) for run in points(svg)] == [2, 1]
    assert svg.count('class="lone"') == 1
    assert svg.count('class="last"') == 1


def test_nothing_known_draws_the_scale_alone():
    svg = sparkline([None, None], "nothing", MARKS)
    assert points(svg) == []
    assert "circle" not in svg
    assert all(mark in svg for mark in MARKS)


def test_a_value_beyond_the_scale_stays_on_it():
    [[low, high]] = points(sparkline([-3.0, 7.0], "wild", MARKS))
    assert low[1] <= 72
    assert high[1] >= 0


def test_a_label_is_text_and_nothing_more():
    svg = sparkline([0.5], '"><script>', ("<b>", "x", "y"))
    assert "<script>" not in svg
    assert "<b>" not in svg


def test_a_gauge_shows_the_range_and_the_value_within():
    svg = gauge(0.25, 0.75, 0.5, "half")
    assert 'x="80.0" y="5" width="160.0"' in svg
    assert 'x="158.5"' in svg
    assert 'width="2.0"' in gauge(0.5, 0.5, 0.5, "a point")


def test_a_chart_has_no_style_of_its_own():
    assert "style" not in sparkline([0.1, 0.2], "x", MARKS) + gauge(0, 1, 0.5, "x")


def test_a_gauge_without_a_label_is_hidden_from_whoever_cannot_see_it():
    assert 'aria-hidden="true"' in gauge(0, 0.2, 0.2, "")
    assert "aria-hidden" not in gauge(0, 0.2, 0.2, "One fifth")
