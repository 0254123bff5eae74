"""The fold of a change's life, and what may come next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gnomon.change.diff import SUMMARY_LIMIT, summary
from gnomon.change.life import ENDED, NEXT, STANDS, ChangesState, check_step
from gnomon.change.shown import change_shown, change_view, waits_for
from gnomon.domain.errors import ConflictError
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import GENESIS, Line
from gnomon.domain.policy import AUTONOMIES
from gnomon.domain.records import Body
from gnomon.domain.records_change import ChangeStatus, ChangeStep
from gnomon.domain.tiers import COMPOSED, SCAFFOLD, TIERS, may_apply
from gnomon.domain.unified_diff import unified
from tests.change_kit import a_change, a_judgment

REFINEMENT, JUDGMENT = "refinement-ledger", "judgment-ledger"


def line(seq: int, body: Body) -> Line:
    return Line(seq=seq, at=Millis(seq), schema=1, prev=GENESIS, sha256=GENESIS, body=body)


def step(status: ChangeStatus, number: int = 1, **facts: str) -> ChangeStep:
    return ChangeStep(change_id=f"change-{number:04d}", status=status, **facts)  # pyright: ignore[reportArgumentType]


def folded(*bodies: Body) -> ChangesState:
    state = ChangesState()
    for seq, body in enumerate(bodies, start=1):
        state.take(JUDGMENT if body.kind() == "judgment" else REFINEMENT, line(seq, body))
    return state


def test_a_kept_change_tells_its_whole_life() -> None:
    state = folded(
        a_change(),
        step("applied", base_version="x", base_scaffold_version="000001-a"),
        step("watched", scaffold_version="000002-b"),
        a_judgment("kept"),
        step("kept"),
    )
    life = state.of("change-0001")
    assert life is not None
    assert (life.status, life.outcome, life.base_version) == ("kept", "kept", "x")
    assert (life.applied_at, life.decided_at) == (2, 4)
    assert life.change.candidate == "", "the text is let go, its diff stays"
    assert [told.seq for told in life.told] == [1, 2, 3, 4, 5]
    shown = change_shown(life, state)
    assert shown.can_revert
    assert shown.change.summary.startswith("+2 -0: + Begin")
    assert [each.ledger for each in shown.steps].count(JUDGMENT) == 1


def test_an_early_end_is_a_rollback_without_a_judgment() -> None:
    early = ChangeStep(change_id="change-0001", status="reverted", outcome="rolled_back")
    state = folded(a_change(), step("applied"), step("watched"), early)
    life = state.of("change-0001")
    assert life is not None
    assert life.outcome == "rolled_back"
    assert life.has_failed
    assert change_view(life).outcome == "rolled_back"


def test_a_pending_note_is_no_verdict() -> None:
    pending = replace(a_judgment("kept"), outcome="pending")
    state = folded(a_change(), step("applied"), step("watched"), pending)
    life = state.under_judgment
    assert life is not None
    assert life.outcome is None
    assert life.told[-1].status == "pending"


def test_a_second_verdict_changes_nothing() -> None:
    state = folded(
        a_change(), step("applied"), step("watched"), a_judgment("kept"), a_judgment("rolled_back")
    )
    life = state.of("change-0001")
    assert life is not None
    assert life.outcome == "kept"
    assert state.unfinished is life


def test_lines_of_unknown_changes_are_passed_over() -> None:
    state = folded(step("applied"), a_judgment("kept"))
    assert list(state.in_order()) == []
    assert state.next_in_line is None
    assert state.unfinished is None


def test_what_waits_says_for_what() -> None:
    state = folded(a_change(1), a_change(2), step("applied", 1))
    first, second = state.in_order()
    assert state.next_in_line is None
    assert waits_for(first, state) == "the next beat"
    assert waits_for(second, state) == (
        "the verdict on change-0001: one change is tested at a time"
    )
    alone = folded(a_change(1))
    assert alone.next_in_line is not None
    assert waits_for(alone.next_in_line, alone) == "the next beat"
    held = folded(a_change(1), step("held"))
    assert waits_for(next(held.open()), held) == "your word"
    watched = folded(a_change(1), step("applied"), step("watched"))
    assert waits_for(next(watched.open()), watched) == "enough hours with it in force"
    ended = folded(a_change(1), step("voided"))
    assert waits_for(next(ended.newest_first()), ended) is None


@pytest.mark.parametrize("status", list(NEXT))
def test_an_ended_change_cannot_go_on(status: ChangeStatus) -> None:
    life = folded(a_change(), step(status)).of("change-0001")
    assert life is not None
    if status in ENDED and status != "kept":
        with pytest.raises(ConflictError, match=STANDS[status]):
            check_step(life, "applied")
    for following in NEXT[status]:
        check_step(life, following)


STEPS = st.lists(
    st.tuples(st.sampled_from(list(NEXT)), st.integers(min_value=1, max_value=4)), max_size=30
)


@given(STEPS)
def test_however_steps_come_legal_ones_leave_one_under_judgment(
    wanted: list[tuple[ChangeStatus, int]],
) -> None:
    """What `Changes` writes: a step that is legal, and an applying only while none is tested."""
    state = folded(*(a_change(number) for number in range(1, 5)))
    for seq, (status, number) in enumerate(wanted, start=10):
        life = state.of(f"change-{number:04d}")
        assert life is not None
        if status not in NEXT[life.status]:
            continue
        if status == "applied" and state.under_judgment is not None:
            continue
        state.take(REFINEMENT, line(seq, step(status, number)))
    tested = [each for each in state.in_order() if each.status in ("applied", "watched")]
    assert len(tested) <= 1
    assert state.under_judgment == (tested[0] if tested else None)
    assert set(state.open()) == {each for each in state.in_order() if not each.has_ended}


def test_a_diff_is_for_people() -> None:
    diff = unified("one\ntwo", "one\nthree\n", "a.md")
    assert "\\ No newline at end of file" in diff
    assert summary(diff) == "+1 -1: + three"
    assert summary(unified("a\nb\n", "a\n", "x")) == "+0 -1: - b"
    assert unified("a", "a", "x") == ""
    assert len(summary(unified("", "w" * 500, "x"))) == SUMMARY_LIMIT


def test_a_line_that_looks_like_a_head_of_a_diff_is_counted() -> None:
    diff = unified("-- old\nb\n", "++ sly\n@@ more\nb\n", "x")
    assert summary(diff) == "+2 -1: + ++ sly"


def test_a_lower_autonomy_never_applies_more() -> None:
    for tier, part in TIERS:
        decisions = [may_apply(tier, part, autonomy) for autonomy in AUTONOMIES]
        assert decisions == sorted(decisions, key=["deny", "hold", "allow"].index)


def test_what_the_table_does_not_know_is_denied() -> None:
    assert may_apply("T2", SCAFFOLD, "full") == "allow"
    assert may_apply("T2", SCAFFOLD, "skills") == "deny"
    assert may_apply("T2", COMPOSED, "memory") == "deny"
    assert may_apply("T3", "", "full") == "hold"
    assert may_apply("T3", SCAFFOLD, "full") == "deny"
    assert may_apply("T2", "tools", "full") == "deny"
    assert may_apply("T0", "", "mad") == "deny"  # pyright: ignore[reportArgumentType]
