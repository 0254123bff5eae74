"""The Health light: page 8's sentences, each where it is true and nowhere else."""

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.change.health import (
    SENTENCES,
    HealthFacts,
    Resized,
    Verdict,
    health,
    resized,
)
from gnomon.domain.chance import within_chance
from gnomon.domain.instants import DAY, Millis
from gnomon.domain.records_change import VerdictOutcome
from gnomon.domain.unified_diff import unified
from gnomon.gateway.dashboard.change_words import light_sentence
from gnomon.gateway.dashboard.labels import read_labels

NOW = Millis(100 * DAY)
KEPT = Verdict("kept", "both", NOW)
UNKNOWN = Verdict("kept", "stall_only", NOW)
UNDONE = Verdict("rolled_back", "both", NOW)
INCONCLUSIVE = Verdict("inconclusive", None, NOW)
STOPPED = Verdict("voided", None, NOW)
LABELS = read_labels()


def facts(*verdicts: Verdict, week: float | None = 0.55, **changed: object) -> HealthFacts:
    """A week as good as the one before."""
    made = HealthFacts(
        verdicts=verdicts,
        resized=(),
        week=week,
        week_before=0.55,
        margin=0.05,
        beyond_chance=True,
        now=NOW,
        day=20,
    )
    return replace(made, **changed)


def seen(*verdicts: Verdict, week: float | None = 0.55, **changed: object) -> tuple[str, str]:
    found = health(facts(*verdicts, week=week, **changed))
    return found.light, found.sentence


GREEN = ("green", "Improving: at least 1 of the last 3 changes kept, and the week is up")
YELLOW = ("yellow", "No clear change")
ALL_UNDONE = ("red", "Not improving: last 5 changes undone")
WORSE = ("red", "Worse than last week")
SHRINKS = ("red", "Its instructions keep shrinking, a known way to cheat")


def test_under_three_verdicts_it_is_too_early_whatever_the_week_says():
    assert seen() == ("grey", "Too early to say: 0 of 3 verdicts")
    assert seen(KEPT, week=0.9) == ("grey", "Too early to say: 1 of 3 verdicts")
    assert seen(UNDONE, UNDONE, week=0.1) == ("grey", "Too early to say: 2 of 3 verdicts")


def test_what_was_not_decided_on_evidence_is_no_verdict():
    assert seen(INCONCLUSIVE, STOPPED, INCONCLUSIVE, KEPT) == (
        "grey",
        "Too early to say: 1 of 3 verdicts",
    )
    figures = health(facts(INCONCLUSIVE, STOPPED, KEPT, UNKNOWN, UNDONE)).figures
    assert figures["not_enough_evidence"] == 1
    assert figures["stopped"] == 1
    assert (figures["kept"], figures["kept_usefulness_unknown"], figures["undone"]) == (1, 1, 1)


def test_green_takes_a_kept_one_of_the_last_three_and_a_better_week():
    assert seen(KEPT, UNDONE, UNDONE, week=0.64) == GREEN
    assert seen(KEPT, UNDONE, UNDONE, UNDONE, week=0.64) == YELLOW, "the kept one is too old"
    assert seen(KEPT, KEPT, KEPT, week=0.6) == YELLOW, "no more than the margin"
    assert seen(KEPT, KEPT, KEPT, week=None) == YELLOW
    assert seen(KEPT, KEPT, KEPT, week=0.64, week_before=None) == YELLOW


def test_one_whose_usefulness_is_unknown_is_never_a_reason_for_green():
    assert seen(UNKNOWN, UNKNOWN, UNKNOWN, week=0.9) == YELLOW
    assert seen(UNKNOWN, UNKNOWN, KEPT, week=0.9) == GREEN


def test_what_the_operator_took_back_is_none_that_was_kept():
    back = replace(KEPT, taken_back=True)
    assert seen(back, UNDONE, UNDONE, week=0.9) == YELLOW
    assert seen(back, UNDONE, UNDONE, UNDONE, UNDONE, week=0.9) == ALL_UNDONE


def test_five_undone_in_a_row_are_red():
    assert seen(*[UNDONE] * 4) == YELLOW
    assert seen(KEPT, *[UNDONE] * 5, week=0.9) == ALL_UNDONE
    assert seen(*[UNDONE] * 5, KEPT) == YELLOW
    assert seen(*[UNDONE] * 4, UNKNOWN) == YELLOW, "it was not undone"
    assert seen(UNDONE, UNDONE, UNDONE, INCONCLUSIVE, UNDONE, UNDONE) == ALL_UNDONE


def test_a_worse_week_is_red_beyond_the_margin():
    assert seen(KEPT, KEPT, KEPT, week=0.49) == WORSE
    assert seen(KEPT, KEPT, KEPT, week=0.5) == YELLOW
    assert seen(KEPT, KEPT, KEPT, week=0.54, margin=0.0) == WORSE, "dev_mode has no margin"


def test_a_worse_week_that_chance_explains_is_no_clear_change():
    assert seen(KEPT, KEPT, KEPT, week=0.3, beyond_chance=False) == YELLOW
    assert within_chance((0.3, 0.6), (0.5, 0.8))
    assert within_chance(None, (0.5, 0.8))
    assert not within_chance((0.3, 0.4), (0.5, 0.8))


def test_instructions_that_keep_shrinking_are_red_before_all_else():
    shrinking = [Resized(600, 540), Resized(540, 500), Resized(500, 470)]
    assert seen(KEPT, KEPT, KEPT, week=0.9, resized=shrinking) == SHRINKS
    assert seen(resized=shrinking) == SHRINKS
    assert seen(KEPT, KEPT, KEPT, week=0.9, resized=shrinking[1:]) == GREEN, "two are no trend"
    grown = [Resized(500, 510), *shrinking[:1], Resized(540, 545)]
    assert seen(KEPT, KEPT, KEPT, week=0.9, resized=grown) == GREEN
    a_word = [Resized(600, 597), Resized(597, 594), Resized(594, 590)]
    assert seen(KEPT, KEPT, KEPT, week=0.9, resized=a_word) == GREEN, "editing, not cheating"
    assert seen(resized=[Resized(400, 900), *shrinking]) == SHRINKS


def test_after_a_month_a_week_of_undoing_is_yellow():
    old = replace(KEPT, at=Millis(NOW - 8 * DAY))
    week = [KEPT, *[UNDONE] * 4]
    often = [UNDONE, UNDONE, UNDONE, UNDONE, UNDONE, KEPT]
    found = health(facts(old, *often, week=0.9, day=31))
    assert (found.light, found.code) == ("yellow", "mostly-undone")
    assert found.sentence == "No clear change"
    assert found.figures["undone_this_week"] == 5
    assert seen(old, *often, week=0.9, day=30) == GREEN, "it finds its feet until then"
    assert seen(old, UNDONE, KEPT, week=0.9, day=31) == GREEN, "two verdicts are no share"
    assert seen(*week, week=0.9, day=31) == YELLOW, "0.8 is not over 0.8, and none of three kept"


def test_the_length_after_is_told_by_the_length_before_and_the_diff():
    before = "one\n--- two\n+++ three\nfour\n"
    after = "one\n--- two, longer\nfour\nfive\n"
    found = resized(len(before), unified(before, after, "prompt.md"))
    assert found == Resized(len(before), len(after))
    assert resized(10, "") == Resized(10, 10)


OUTCOMES: tuple[VerdictOutcome, ...] = ("kept", "rolled_back", "inconclusive", "voided")
VERDICTS = st.builds(
    Verdict,
    outcome=st.sampled_from(OUTCOMES),
    basis=st.sampled_from(["both", "stall_only", None]),
    at=st.integers(0, NOW).map(Millis),
    taken_back=st.booleans(),
)
SHARE = st.none() | st.floats(0, 1)


@given(
    verdicts=st.lists(VERDICTS, max_size=9),
    sizes=st.lists(st.builds(Resized, st.integers(0, 900), st.integers(0, 900)), max_size=5),
    week=SHARE,
    before=SHARE,
    day=st.integers(0, 90),
)
def test_every_case_has_one_light_and_green_is_never_without_its_reasons(
    verdicts: list[Verdict],
    sizes: list[Resized],
    week: float | None,
    before: float | None,
    day: int,
):
    found = health(facts(*verdicts, week=week, week_before=before, resized=sizes, day=day))
    assert found.sentence == SENTENCES[found.code].format_map(found.figures)
    if found.light == "green":
        reached = [each for each in verdicts if each.outcome in ("kept", "rolled_back")]
        assert any(each.outcome == "kept" and each.basis == "both" for each in reached[-3:])
        assert week is not None
        assert before is not None
        assert week > before


@pytest.mark.parametrize("code", sorted(SENTENCES))
def test_the_page_says_the_same(code: str):
    found = msgspec.structs.replace(health(facts()), code=code)
    said = light_sentence(found)
    assert LABELS(said.key, **said.values) == SENTENCES[code].format_map(found.figures)
