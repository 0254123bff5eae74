"""The executive's attempts: which, when, and what cools down."""

import pytest

from gnomon.domain.instants import MINUTE, Millis
from gnomon.domain.records import DesiredAction
from gnomon.resident.executive import KINDS, Attempted, Work, decide
from gnomon.resident.reflection import Item, ReflectionOutput

NOW = Millis(1_780_000_000_000)


def said(focus: str = "focus", **changes: object) -> ReflectionOutput:
    plain: dict[str, object] = {
        "focus": focus,
        "desired_action": "research",
        "summary": "",
        "concerns": (),
        "interests": (),
        "open_questions": (),
        "candidate_items": (),
        "active_item": Item(title="the title", source="background"),
        "problem_statement": "the question",
    }
    return ReflectionOutput(**(plain | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        ("research", "research-brief"),
        ("plan", "plan-note"),
        ("consolidate", "synthesis-note"),
        ("reflect", "memory-research"),
        ("observe", "memory-research"),
        ("create", "draft"),
    ],
)
def test_each_action_asks_for_its_kind_of_work(action: DesiredAction, kind: str) -> None:
    decision = decide("full", action, said(), (), NOW)
    assert decision is not None
    assert decision.work == Work(kind, "the title", "the question")
    assert not decision.cools
    line = decision.work.attempt("produced", "a@v1")
    assert (line.action_kind, line.title, line.query) == (kind, "the title", "the question")
    assert (line.outcome, line.artifact) == ("produced", "a@v1")


@pytest.mark.parametrize("action", ["rest", "hold"])
def test_resting_and_holding_are_no_attempt(action: DesiredAction) -> None:
    assert decide("full", action, said(), (), NOW) is None
    assert action not in KINDS


@pytest.mark.parametrize("mode", ["off", "shadow", "soft"])
def test_only_the_mode_full_attempts(mode: str) -> None:
    assert decide(mode, "research", said(), (), NOW) is None  # type: ignore[arg-type]


def test_the_same_work_within_20_minutes_is_a_cooldown_that_does_not_renew_itself() -> None:
    remembered: tuple[Attempted, ...] = ()
    outcomes = []
    for minute in (0, 2, 19, 20, 21, 41):
        decision = decide("full", "research", said(), remembered, Millis(NOW + minute * MINUTE))
        assert decision is not None
        remembered = decision.remembered
        outcomes.append(decision.cools)
    assert outcomes == [False, True, True, False, True, False]
    assert len(remembered) == 1


def test_other_kinds_titles_and_queries_do_not_cool_each_other_down() -> None:
    first = decide("full", "research", said(), (), NOW)
    assert first is not None
    for action, output in (
        ("plan", said()),
        ("research", said(active_item=Item(title="another", source="background"))),
        ("research", said(problem_statement="another")),
    ):
        decision = decide("full", action, output, first.remembered, NOW)  # type: ignore[arg-type]
        assert decision is not None
        assert not decision.cools
        assert len(decision.remembered) == 2


def test_a_clock_set_back_forgets_attempts_that_lie_ahead() -> None:
    ahead = (Attempted(action_kind="research-brief", title="the title", query="the question",
                       at=NOW + MINUTE),)  # fmt: skip
    decision = decide("full", "research", said(), ahead, NOW)
    assert decision is not None
    assert not decision.cools


def test_title_and_query_fall_back_to_what_was_said() -> None:
    bare = said(active_item=None, problem_statement=None, thread_title="thread", next_step="step")
    decision = decide("full", "plan", bare, (), NOW)
    assert decision is not None
    assert (decision.work.title, decision.work.query) == ("thread", "step")
    barest = said(active_item=None, problem_statement=None)
    decision = decide("full", "plan", barest, (), NOW)
    assert decision is not None
    assert (decision.work.title, decision.work.query) == ("focus", "focus")
