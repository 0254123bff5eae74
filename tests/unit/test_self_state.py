"""The self-state: read back equal, migrated forward, refused when damaged or newer."""

from typing import cast

import msgspec
import pytest

from gnomon.domain.errors import SelfStateError
from gnomon.domain.instants import Millis
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import ModelReply
from gnomon.resident import carry, state
from gnomon.resident.reflection import Item, ReflectionOutput
from gnomon.resident.stall import weigh
from gnomon.scaffold.flags import AntipatternFlags

NOW = Millis(1_780_000_000_000)
FLAGS = AntipatternFlags(sharpened_next_step="Name it: {subject}")
REPLY = ModelReply(content="", finish="stop", model="m", tokens_in=10, tokens_out=5, seconds=1.5)
GROUPS = {
    "continuity", "wakefulness", "budgets", "perception", "authority", "agency", "conversation",
    "active_work", "background_work", "agenda", "operator_notifications", "executive",
    "concerns", "shadow", "recent_decision", "last_error",
}  # fmt: skip


def thought(**changes: object) -> ReflectionOutput:
    plain = ReflectionOutput(
        focus="focus",
        desired_action="plan",
        summary="summary",
        concerns=("c",),
        interests=("i",),
        open_questions=("q",),
        candidate_items=(
            Item(title="asked for", source="operator"),
            Item(title="own idea", source="interest"),
        ),
        active_item=Item(title="own idea", source="interest"),
        thread_title="thread",
        problem_statement="problem",
        last_conclusion="conclusion",
        next_step="step",
        wakefulness="alert",
    )
    return msgspec.structs.replace(plain, **changes)


def after(before: state.SelfState, output: ReflectionOutput) -> state.SelfState:
    return carry.reflected(before, weigh(output, carry.before(before), FLAGS), REPLY, NOW)


def test_what_the_operator_settled_leaves_every_lane_and_is_told_once() -> None:
    before = after(state.SelfState(), thought(thread_title="own idea"))
    assert carry.closed(before, ()) == before
    closed = carry.closed(before, ("Own  idea", "asked for"))
    assert closed.continuity.active_item is None
    assert closed.continuity.thread is None
    assert (closed.active_work.items, closed.background_work.items) == ((), ())
    assert closed.agenda.candidates == ()
    told = carry.perceive(closed, NOW, True, "soft").closed_by_operator
    assert told == ("Own  idea", "asked for")
    assert carry.closed(closed, ("asked for",)).agenda.closed == ("Own  idea", "asked for")
    many = carry.closed(closed, tuple("abcdef"))
    assert many.agenda.closed == ("c", "d", "e", "f")
    assert state.decode(state.encode(many)) == many
    assert after(closed, thought()).agenda.closed == ()


def test_another_thread_and_other_items_stay_when_one_is_settled() -> None:
    before = after(state.SelfState(), thought())
    closed = carry.closed(before, ("asked for",))
    assert closed.continuity == before.continuity
    assert [each.title for each in closed.background_work.items] == ["own idea"]
    assert [each.title for each in closed.agenda.candidates] == ["own idea"]


def test_it_has_the_sixteen_groups_and_a_version() -> None:
    assert set(cast("Fields", state.encode(state.SelfState()))) == GROUPS | {"version"}


def test_what_is_put_is_read_back_equal() -> None:
    full = carry.conversed(after(state.SelfState(), thought()), "s-1", "do it")
    full = carry.failed(carry.ticked(full, NOW, True), "invalid-output", "reflection", NOW)
    raw = msgspec.json.decode(msgspec.json.encode(state.encode(full)))
    assert state.decode(raw) == full


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        [],
        "text",
        {},
        {"version": "1"},
        {"version": True},
        {"version": -1},
        {"version": 1, "unknown": {}},
        {"version": 1, "shadow": {"ticks": -1}},
        {"version": 1, "shadow": {"ticks": "many"}},
        {"version": 1, "agency": {"desired_action": "dance"}},
        {"version": 0},
    ],
)
def test_a_damaged_state_is_a_typed_error(damaged: Json) -> None:
    with pytest.raises(SelfStateError, match="cannot be read"):
        state.decode(damaged)


def test_a_newer_state_is_refused() -> None:
    with pytest.raises(SelfStateError, match="newer") as caught:
        state.decode({"version": state.VERSION + 1})
    assert caught.value.facts["version"] == state.VERSION + 1


def test_an_older_state_is_migrated_step_by_step() -> None:
    steps: list[int] = []

    def to_one(fields: Fields) -> Fields:
        steps.append(0)
        return {"shadow": {"ticks": fields["tick_count"]}}

    def to_two(fields: Fields) -> Fields:
        steps.append(1)
        return {**fields, "conversation": {"turns": 3}}

    found = state.decode({"version": 0, "tick_count": 7}, {0: to_one, 1: to_two}, current=2)
    assert steps == [0, 1]
    assert (found.version, found.shadow.ticks, found.conversation.turns) == (2, 7, 3)


def test_a_passed_tick_alone_is_not_worth_a_write() -> None:
    before = after(state.SelfState(), thought())
    assert not state.worth_saving(before, carry.ticked(before, NOW, True))
    assert state.worth_saving(before, carry.conversed(before, "s", "x"))
    assert state.worth_saving(before, after(before, thought()))


def test_the_lanes_are_kept_apart() -> None:
    kept = after(state.SelfState(), thought())
    assert [item.title for item in kept.active_work.items] == ["asked for"]
    assert [item.title for item in kept.background_work.items] == ["own idea"]
    perception = carry.perceive(kept, NOW, True, "soft")
    assert perception.operator_lane == ("asked for",)
    assert perception.background_lane == ("own idea",)


def test_the_thread_is_refined_and_another_title_is_another_thread() -> None:
    first = after(state.SelfState(), thought())
    refined = after(first, thought(problem_statement=None, next_step="smaller step"))
    carried = refined.continuity.thread
    assert carried is not None
    assert (carried.problem_statement, carried.next_step) == ("problem", "smaller step")
    other = after(refined, thought(thread_title="other", problem_statement=None, next_step=None))
    assert other.continuity.thread is not None
    assert other.continuity.thread.problem_statement == ""
    untitled = after(other, thought(thread_title=None))
    assert untitled.continuity.thread is not None
    assert untitled.continuity.thread.title == "own idea"
    empty = after(state.SelfState(), thought(thread_title=None, active_item=None))
    assert empty.continuity.thread is None


def test_a_repeat_is_told_to_the_next_reflection() -> None:
    first = after(state.SelfState(), thought(candidate_items=()))
    assert carry.perceive(first, NOW, True, "soft").repeating is None
    second = after(first, thought(candidate_items=()))
    told = carry.perceive(second, NOW, True, "soft").repeating
    assert told is not None
    assert (told.times, told.title, told.next_step) == (1, "thread", "Name it: problem")
    bare = thought(candidate_items=(), thread_title=None, active_item=None)
    threadless = after(after(state.SelfState(), bare), bare)
    told = carry.perceive(threadless, NOW, True, "soft").repeating
    assert told is not None
    assert (told.times, told.title, told.next_step) == (1, "focus", "")


def test_the_time_is_told_in_words() -> None:
    assert carry.in_words(NOW) == "Thursday 28 May 2026, 20:26 UTC"


def test_usage_is_summed_and_unknown_counts_add_nothing() -> None:
    once = after(state.SelfState(), thought())
    reply = msgspec.structs.replace(REPLY, tokens_in=None, tokens_out=None)
    twice = carry.reflected(once, weigh(thought(), carry.before(once), FLAGS), reply, NOW)
    assert twice.budgets == state.Budgets(inference_seconds=3.0, tokens_in=10, tokens_out=5)


def test_only_the_last_subjects_are_kept_and_each_is_short() -> None:
    talked = state.SelfState()
    for number in range(9):
        talked = carry.conversed(talked, "s", f"\n  turn {number}: " + "word " * 100 + "\nmore")
    assert talked.conversation.turns == 9
    assert len(talked.conversation.subjects) == state.RECENT_SUBJECTS
    assert all(len(subject) <= 120 for subject in talked.conversation.subjects)
    assert talked.conversation.subjects[-1].startswith("turn 8: word")
    assert carry.conversed(talked, "s", " \n ").conversation.subjects[-1] == ""


def test_the_ledgers_line_says_what_stands_after_the_pressure() -> None:
    states = [state.SelfState()]
    weighed = weigh(thought(), carry.before(states[0]), FLAGS)
    for _ in range(4):
        weighed = weigh(thought(candidate_items=()), carry.before(states[-1]), FLAGS)
        states.append(carry.reflected(states[-1], weighed, REPLY, NOW))
    line = carry.line(states[-1], weighed, REPLY, "000001-abc")
    assert (line.reflection_no, line.repeated, line.repeat_count) == (4, True, 3)
    assert (line.pressure, line.desired_action) == ("hold", "hold")
    assert line.active_item is not None
    assert line.active_item.source == "interest"
    assert states[-1].agency.held
    nothing = weigh(thought(active_item=None), carry.before(states[0]), FLAGS)
    assert carry.line(states[-1], nothing, REPLY, "v").active_item is None
