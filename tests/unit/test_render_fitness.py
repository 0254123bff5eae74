"""Fitness in a terminal: the page's words."""

import msgspec

from gnomon.cli import render_fitness as render
from gnomon.domain.views_referee import RetuneAnswer, Retuned, Written
from gnomon.testing.referee import a_fitness


def text(lines: list[render.Line]) -> str:
    return "\n".join(line.text for line in lines)


def test_it_says_what_the_page_says():
    said = text(render.fitness_lines(a_fitness()))
    assert (
        "Used 14 of 22 (64%), last 7 days. You dismissed 3, let 5 pass. "
        "2 came while it was off and don't count; 4 are open."
    ) in said
    assert "Last 28 days: 41 of 84 (49%)." in said
    assert "Going in circles: 0.19 (0 fresh, 1 stuck), the last hour; 24 h 0.25" in said
    assert "At 5.0 a day, a 10-point difference shows after about 100 days." in said
    assert said.count("provisional") == 3


def test_too_early_is_said_and_no_number_made_up():
    fresh = a_fitness()
    week = msgspec.structs.replace(
        fresh.pooled[0], acted=0, acked=0, ignored=0, rate=None, unavailable=0, open=1
    )
    stall = msgspec.structs.replace(fresh.stall, last=None, day=None, week=None)
    empty = msgspec.structs.replace(
        fresh,
        pooled=(week,),
        stall=stall,
        windows=(),
        forecast=msgspec.structs.replace(fresh.forecast, days=None),
    )
    said = text(render.fitness_lines(empty))
    assert "Brought 1, used 0, open 1. A score appears after 3 have settled." in said
    assert "Going in circles: not known for the last hour." in said
    assert "No hour is over yet." in said


def test_one_is_one():
    week = msgspec.structs.replace(a_fitness().pooled[0], unavailable=1, open=1)
    assert render.used_sentence(week, 3).endswith(
        "1 came while it was off and doesn't count; 1 is open."
    )
    alone = msgspec.structs.replace(week, unavailable=0, open=0)
    assert render.used_sentence(alone, 3).endswith("let 5 pass.")
    stall = msgspec.structs.replace(a_fitness().stall, day=None, week=None)
    assert render.circles_sentence(a_fitness(stall=stall)).endswith("the last hour.")


def test_what_was_written_stands_first():
    written = Written(now="2026-05-24T18:00:00.000Z", windows=2, amendments=1, gaps=0)
    lines = render.fitness_lines(msgspec.structs.replace(a_fitness(), written=written))
    assert lines[0].text == "Written: 2 windows, 1 amendment, 0 gaps."
    nothing = msgspec.structs.replace(written, windows=0, amendments=0)
    assert render.written_line(nothing).text == "No window was due."


def test_the_four_questions_have_their_figures_and_advice():
    found = Retuned(
        days=28,
        answers=(
            RetuneAnswer(
                question="Is it?",
                answer="yes",
                figures={"n_a": 3.0, "z": -0.725163},
                advice="Do it.",
            ),
            RetuneAnswer(question="And this?", answer="unknown", figures={"x": None}, advice=""),
        ),
    )
    said = text(render.retuned_lines(found))
    assert "Is it? Yes." in said
    assert "From the last 28 days." in said
    assert "n a 3, z -0.725" in said
    assert "Do it." in said
    assert "And this? Unknown." in said
