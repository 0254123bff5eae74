"""docs/learning.md says what was measured, and what was measured is what the code measures."""

import json
import re

import msgspec

from bench.learning.figures import QUICK, Figure, measure
from bench.learning.stored import PAGE, shown, stored
from tests.house import ROOT

FULL = stored().full
SEED = ("6 an hour", "seed")
TEXT = " ".join(re.sub(r"[*`]", "", PAGE.read_text()).split())


def said(figure: Figure, *, other: bool = False) -> str:
    assert figure.value is not None
    return f"{100 - figure.value if other else figure.value:.0f}"


def test_its_tables_are_those_that_were_measured() -> None:
    page = PAGE.read_text()
    assert shown(page, FULL) == page, "run python -m bench.learning --seed 1 --write"
    assert page.count("after 90 days: points gained") == 1
    assert page.count("no swing by the hour") == 1


def test_the_same_seed_measures_the_same_to_the_digit() -> None:
    again = measure(1, QUICK)
    assert msgspec.json.encode(again) == msgspec.json.encode(stored().quick), (
        "what is measured has changed: run python -m bench.learning --seed 1 --write"
    )


def test_its_sentences_say_what_its_tables_say() -> None:
    column = {(each.pace, each.rule): each for each in FULL.columns}
    seed, few = column[SEED], column["5 a day", "seed"]
    hasty, none = column["6 an hour", "one window"], column["6 an hour", "everything"]
    day = column["6 an hour", "seed, 24 windows"]
    first = seed.first
    for sentence in (
        f"Of first edits that do nothing, {said(first['0'])}% are kept.",
        f"Of those that cost 10 points, {said(first['-10'])}% are kept;",
        f"of those that cost 20, {said(first['-20'])}%.",
        f"Of those that gain 10 points, {said(first['+10'], other=True)}% are undone.",
        f"{said(seed.quality)} points gained on average, and {said(seed.worse)}% end worse",
        f"it is {said(hasty.quality)} points, and {said(hasty.worse)}% end worse.",
        f"With no referee {said(none.worse)}% do.",
        f"does little harm ({said(few.worse)}% end worse)",
        f"A verdict then takes {said(day.hours)} hours.",
    ):
        assert sentence in TEXT, sentence
    assert {said(each) for each in few.first.values()} <= {"5", "6"}, "about 5% are kept"
    assert few.both.value == 0, "seven days cannot tell what was useful"


def test_the_line_beside_the_verdicts_says_what_was_measured() -> None:
    labels = json.loads((ROOT / "src/gnomon/gateway/dashboard/labels.json").read_text())
    [first] = [each.first for each in FULL.columns if (each.pace, each.rule) == SEED]
    nothing, harm = (round(100 / (first[worth].value or 0)) for worth in ("0", "-10"))
    assert (
        f"keeps 1 in {nothing} edits that change nothing and 1 in {harm} that cost 10 points"
        in labels["learn"]["trust"]
    )
