"""Repeats are counted on what was said; the pressure comes after and changes no count."""

import msgspec
import pytest

from gnomon.domain.records import ItemSource
from gnomon.domain.similarity import Similarity
from gnomon.resident.reflection import Item, ReflectionOutput
from gnomon.resident.stall import Before, alternate, raw_signature, same_title, stabilised, weigh
from gnomon.scaffold.flags import AntipatternFlags

FLAGS = AntipatternFlags(sharpened_next_step="Name what is missing: {subject}")


def item(title: str, source: ItemSource = "background", rationale: str = "") -> Item:
    return Item(title=title, source=source, rationale=rationale)


def said(**changes: object) -> ReflectionOutput:
    plain = ReflectionOutput(
        focus="the slow test",
        desired_action="observe",
        summary="watching",
        concerns=("It may be flaky",),
        interests=(),
        open_questions=(),
        candidate_items=(),
        active_item=item("find the slow test"),
        thread_title="the slow test",
        problem_statement="one test takes a minute",
        last_conclusion="it waits for a socket",
        next_step="read its log",
    )
    return msgspec.structs.replace(plain, **changes)


# --- titles -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Find the slow test", "find the slow test", True),
        ("a b c", "a b c d e f", True),
        ("a b", "a b c d", False),
        ("a b c d e f g", "a b c x y z w", False),
        ("a b c d e f", "a b c x y z", True),
        ("one", "one", True),
        ("  one   two ", "one two", True),
        ("", "", True),
    ],
)
def test_titles_are_the_same_when_they_share_three_words_and_45_percent(
    one: str, other: str, same: bool
) -> None:
    assert same_title(one, other) is same


def test_a_carried_title_stays_where_the_new_one_says_the_same() -> None:
    before = Before(thread_title="fix the slow test", active_title="find the slow test now")
    steady = stabilised(said(thread_title="the slow test fix"), before)
    assert steady.thread_title == "fix the slow test"
    assert steady.active_item is not None
    assert steady.active_item.title == "find the slow test now"


def test_another_title_is_another_title() -> None:
    before = Before(thread_title="the release notes", active_title="write the notes")
    assert stabilised(said(), before) == said()
    bare = said(thread_title=None, active_item=None)
    assert stabilised(bare, before) == bare


# --- signatures -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"focus": "another"},
        {"desired_action": "plan"},
        {"thread_title": "another"},
        {"problem_statement": "another"},
        {"last_conclusion": "another"},
        {"next_step": "another"},
        {"active_item": item("another")},
        {"active_item": item("find the slow test", "operator")},  # the lane
        {"active_item": None},
        {"concerns": ("Another",)},
    ],
)
def test_the_signature_covers_every_part(changes: dict[str, object]) -> None:
    assert raw_signature(said(**changes)) != raw_signature(said())


@pytest.mark.parametrize(
    "changes",
    [
        {"summary": "another"},
        {"interests": ("x",)},
        {"open_questions": ("x",)},
        {"candidate_items": (item("x"),)},
        {"concerns": ("IT MAY BE  flaky",)},
        {"focus": " the slow  test "},
        {"active_item": item("find the slow test", "concern", "another reason")},
    ],
)
def test_the_signature_covers_nothing_else(changes: dict[str, object]) -> None:
    assert raw_signature(said(**changes)) == raw_signature(said())


def test_an_unknown_action_counts_as_hold() -> None:
    unknown = said(desired_action="dance")
    assert raw_signature(unknown) == raw_signature(said(desired_action="hold"))
    assert weigh(unknown, Before(), FLAGS).action == "hold"


# --- counting and pressure ------------------------------------------------------------------


def test_the_referees_config_decides_when_two_titles_are_one() -> None:
    before = Before(thread_title="the slow test")
    loose = Similarity(shared_words=1, shared_part=0.3)
    first, again = said(thread_title="the slow test"), said(thread_title="a slow build")
    signature = weigh(first, before, FLAGS, loose).signature
    assert weigh(again, before, FLAGS, loose).signature == signature
    assert weigh(again, before, FLAGS).signature != signature


def run(
    *outputs: ReflectionOutput, flags: AntipatternFlags = FLAGS
) -> list[tuple[int, bool, str, str]]:
    before, seen = Before(), []
    for output in outputs:
        weighed = weigh(output, before, flags)
        seen.append((weighed.repeats, weighed.repeated, weighed.pressure, weighed.action))
        before = Before(signature=weighed.signature, repeats=weighed.repeats)
    return seen


def test_the_same_thought_is_sharpened_twice_and_held_at_three_repeats() -> None:
    assert run(*[said()] * 5) == [
        (0, False, "none", "observe"),
        (1, True, "sharpened", "observe"),
        (2, True, "sharpened", "observe"),
        (3, True, "hold", "hold"),
        (4, True, "hold", "hold"),
    ]


def test_a_new_thought_starts_the_count_again() -> None:
    other = said(focus="another")
    assert [row[0] for row in run(said(), said(), other, said(), said())] == [0, 1, 0, 0, 1]


def test_a_sharpened_next_step_names_the_missing_datum() -> None:
    before = Before(signature=raw_signature(said()))
    weighed = weigh(said(), before, FLAGS)
    assert weighed.output.next_step == "Name what is missing: one test takes a minute"
    untitled = said(problem_statement=None, thread_title=None)
    weighed = weigh(untitled, Before(signature=raw_signature(untitled)), FLAGS)
    assert weighed.output.next_step == "Name what is missing: the slow test"


def test_a_repeat_with_another_candidate_rotates_to_it() -> None:
    other = item("write the notes", "concern", "they are late")
    output = said(candidate_items=(item("find the slow test"), other))
    weighed = weigh(output, Before(signature=raw_signature(output)), FLAGS)
    assert weighed.pressure == "rotated"
    assert weighed.output.active_item == other
    assert weighed.output.candidate_items == (other, item("find the slow test"))
    assert weighed.output.thread_title == "write the notes"
    assert weighed.output.problem_statement == "they are late"
    assert (weighed.output.next_step, weighed.output.last_conclusion) == ("", "")
    assert weighed.signature == raw_signature(output), "the count is of what was said"


def test_what_was_active_stays_on_the_agenda_after_a_rotation() -> None:
    other = item("write the notes")
    output = said(candidate_items=(other,))
    weighed = weigh(output, Before(signature=raw_signature(output)), FLAGS)
    assert weighed.output.candidate_items == (other, item("find the slow test"))
    alone = said(candidate_items=(other,), active_item=None)
    weighed = weigh(alone, Before(signature=raw_signature(alone)), FLAGS)
    assert weighed.output.candidate_items == (other,)


def test_the_alternate_is_of_the_same_lane_then_by_source_then_by_order() -> None:
    operators = item("answer the operator", "operator")
    interest, concern = item("an interest here", "interest"), item("a concern here", "concern")
    second = item("a second concern", "concern")
    candidates = (interest, operators, second, concern)
    assert alternate(said(candidate_items=candidates)) == second
    in_operators_lane = said(candidate_items=candidates, active_item=item("x", "operator"))
    assert alternate(in_operators_lane) == operators
    assert alternate(said(candidate_items=(item("find the slow test"),))) is None
    assert alternate(said()) is None


def test_the_flags_steer_rotation_sharpening_and_hold_and_no_count() -> None:
    lax = AntipatternFlags(
        rotate_at_repeats=5, sharpen_at_repeats=3, hold_at_repeats=4, sharpened_next_step="x"
    )
    seen = run(*[said(candidate_items=(item("other thing"),))] * 5, flags=lax)
    assert [row[2] for row in seen] == ["none", "none", "none", "sharpened", "hold"]
    assert [row[0] for row in seen] == [0, 1, 2, 3, 4]
