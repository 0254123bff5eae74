"""What the pages say of changes and held actions: page 8's words."""

import msgspec
import pytest

from gnomon.domain.instants import DAY, HOUR, Millis, iso
from gnomon.domain.records_change import Delta, Prediction
from gnomon.domain.verdict_reasons import plain_reason
from gnomon.domain.views_change import ChangeStepView, ChangeView, VersionView
from gnomon.gateway.dashboard import change_words as words
from gnomon.gateway.dashboard.labels import read_labels
from gnomon.gateway.dashboard.wording import Sentence
from gnomon.testing.changes import a_change, a_health, a_readiness, some_changes
from gnomon.testing.held_cards import an_approval, some_approvals
from gnomon.testing.referee import NOON

LABELS = read_labels()


def said(sentence: Sentence) -> str:
    return LABELS(sentence.key, **sentence.values)


def a_verdict(**changed: object) -> ChangeView:
    return msgspec.structs.replace(a_change("ch-1"), **changed)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"status": "proposed"}, "Waits its turn"),
        ({"status": "probed"}, "Waits its turn"),
        ({"status": "held"}, "Waits for you"),
        ({"status": "applied", "outcome": None}, "Being tested"),
        ({"status": "watched", "outcome": None}, "Being tested"),
        ({}, "Kept"),
        ({"basis": "stall_only"}, "Kept (usefulness unknown)"),
        ({"status": "reverted", "outcome": "rolled_back"}, "Undone (not better)"),
        ({"status": "reverted", "outcome": "inconclusive"}, "Undone (not enough evidence)"),
        ({"status": "reverted", "outcome": "kept"}, "Undone (by you)"),
        ({"status": "reverted", "outcome": None}, "Undone (by you)"),
        ({"status": "voided", "outcome": "voided"}, "Stopped (you edited it)"),
        ({"status": "voided", "applied_at": None}, "Never tried"),
        ({"status": "refused", "outcome": None}, "Refused"),
        ({"status": "rejected"}, "You said no"),
        ({"status": "expired"}, "Expired"),
    ],
)
def test_what_became_of_a_change_is_told_in_the_words_of_the_design(changed, expected):
    assert said(words.verdict(a_verdict(**changed))) == expected


def test_what_is_good_looks_otherwise_than_what_is_not_known():
    looks = {each.change_id: words.verdict_class(each) for each in some_changes()}
    assert looks["ch-8"] == "level-ok"
    assert looks["ch-6"] == "level-warning"
    assert looks["ch-7"] == "level-error"
    assert looks["ch-5"] == ""


def test_what_moved_is_signed_and_null_is_not_nought():
    moved = a_verdict(delta=Delta(stall=-0.064, engagement=0.085))
    assert words.usefulness_moved(moved) == "+9"
    assert words.circles_moved(moved) == "\N{MINUS SIGN}0.06"
    tiny = a_verdict(delta=Delta(stall=0.001, engagement=-0.004))
    assert words.usefulness_moved(tiny) == "0"
    assert words.circles_moved(tiny) == "0.00"
    unknown = a_verdict(delta=Delta())
    assert words.usefulness_moved(unknown) is None
    assert words.circles_moved(unknown) is None


def test_a_change_is_named_by_the_words_that_came():
    assert words.gist(a_verdict(summary="+2 -1: + Say less.")) == words.Gist(
        "+2 \N{MINUS SIGN}1", "Say less.", went=False
    )
    assert words.gist(a_verdict(summary="+0 -1: - Say more.")).went
    assert words.gist(a_verdict(summary="something else")).text == "something else"


@pytest.mark.parametrize(
    ("signal", "direction", "held", "expected"),
    [
        ("engagement", "up", True, ("use more of what it brings.", "That came true.")),
        ("engagement", "down", None, ("use less of what it brings.", "is not known.")),
        ("stall", "down", False, ("go less in circles.", "That did not come true.")),
        ("stall", "up", None, ("go more in circles.", "Whether that holds is not known.")),
    ],
)
def test_a_prediction_is_told_with_what_became_of_it(signal, direction, held, expected):
    told = words.expected(Prediction(signal=signal, direction=direction), held)
    for sentence, end in zip(map(said, told), expected, strict=True):
        assert sentence.endswith(end)


@pytest.mark.parametrize(
    ("signal", "direction", "reason", "end"),
    [
        ("stall", "down", "stall-not-better", "but by less than what counts."),
        ("engagement", "up", "engagement-not-better", "but by less than what counts."),
        ("stall", "up", "stall-not-better", "That came true."),
        ("stall", "down", "engagement-not-better", "That came true."),
    ],
)
def test_a_move_that_did_not_count_does_not_come_true(signal, direction, reason, end):
    told = words.expected(Prediction(signal=signal, direction=direction), True, (reason,))
    assert said(told[-1]).endswith(end)


def test_that_nothing_was_predicted_is_told():
    assert [said(each) for each in words.expected(None, None)] == ["It predicted nothing."]


def test_a_step_leads_to_its_line_and_the_judges_are_verdicts():
    at = iso(NOON)
    step = ChangeStepView(at=at, status="kept", reason=None, ledger="refinement-ledger", seq=9)
    judged = msgspec.structs.replace(step, ledger="judgment-ledger")
    assert said(words.step(step)) == "Kept"
    assert said(words.step(judged)) == "Verdict: keep it"
    assert words.step_link(judged) == "/lines?name=judgment-ledger&after=8&limit=1"


def test_a_reason_is_told_without_its_code():
    assert plain_reason("new-number: The edit brings one.") == "The edit brings one."
    assert plain_reason("the file was edited: it stays") == "the file was edited: it stays"
    assert plain_reason(None) == ""


def test_every_step_that_may_be_told_has_its_word():
    from gnomon.change.life import NEXT

    for status in NEXT:
        assert f"change-step.{status}" in LABELS
    for outcome in ("kept", "rolled_back", "inconclusive", "voided", "pending"):
        assert f"change-step.judged-{outcome}" in LABELS


def test_the_tally_leaves_out_what_there_is_none_of():
    tally = words.tally(a_health("kept", "rolled_back", "rolled_back", "voided"))
    assert [said(each) for each in tally] == ["1 kept", "2 undone", "1 stopped by you"]
    assert words.tally(a_health()) == []


def test_a_yellow_light_for_much_undoing_says_so():
    fine = a_health("kept", "kept", "kept")
    assert words.why_light(fine) is None
    much = msgspec.structs.replace(fine, code="mostly-undone")
    why = words.why_light(much)
    assert why is not None
    assert said(why) == "0 of the 3 changes that were judged this week were undone."


def test_the_operators_word_is_asked_for_when_it_is_all_that_is_missing():
    assert not words.waits_for_you(a_readiness())
    assert words.waits_for_you(a_readiness(not_enabled="."))
    assert words.waits_for_you(a_readiness(not_enabled=".", failed_twice="."))
    assert not words.waits_for_you(a_readiness(not_enabled=".", few_days="."))


# --- versions --------------------------------------------------------------------------------


def a_version(name: str, activation: int, sha256: str, file: str = "p.md") -> VersionView:
    return VersionView(file=file, name=name, activation=activation, sha256=sha256, change_id=None)


VERSIONS = [
    a_version("current", 4, "aa" * 32),
    a_version("current", 4, "dd" * 32, "a.md"),
    a_version("p.3", 3, "bb" * 32),
    a_version("p.2", 2, "aa" * 32),
]


def test_files_with_a_past_come_first():
    assert words.files_of(VERSIONS) == ["p.md", "a.md"]


def test_a_text_that_stood_before_is_told_by_its_number():
    rows = words.version_rows(VERSIONS, "p.md")
    assert [row.again for row in rows] == [2, None, None]
    assert [row.before for row in rows] == ["p.3", "p.2", None]


def test_the_newest_is_compared_with_its_predecessor_unless_two_are_named():
    rows = words.version_rows(VERSIONS, "p.md")
    assert words.chosen(rows, "", "") == ("p.3", "current")
    assert words.chosen(rows, "p.2", "p.3") == ("p.2", "p.3")
    assert words.chosen(rows, "p.2", "gone") is None
    assert words.chosen(words.version_rows(VERSIONS, "a.md"), "", "") is None


# --- approvals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("skill.create", "write skill 'release' (6 lines)."),
        ("skill.patch", "change skill 'release' (6 lines)."),
        ("rule.add", "add a rule to release."),
        ("file.write", "write release (6 lines)."),
        ("tool.call", "use release once."),
        ("memory.add", "remember this."),
        ("run.ship", "go on with release."),
    ],
)
def test_what_it_wants_is_one_sentence(action, expected):
    assert said(words.wants(an_approval("ap-1", action=action))) == expected


def test_a_text_can_be_undone_and_an_act_happens_once():
    text, act = an_approval("ap-1").approval, an_approval("ap-1", action="tool.call").approval
    assert said(words.if_approved(text)) == "exactly this text; undo any time."
    assert said(words.if_approved(act)) == "exactly this, once."


def test_how_long_it_waits_is_told_in_days_and_then_in_hours():
    def left(milliseconds: int) -> str:
        until = iso(Millis(NOON + milliseconds))
        return said(words.if_nothing(an_approval("ap-1", expires_at=until).approval, NOON))

    assert left(6 * DAY + HOUR) == "expires in 6 days."
    assert left(DAY) == "expires in 1 day."
    assert left(5 * HOUR) == "expires in 5 hours."
    assert left(-HOUR) == "expires in 1 hour."


def test_what_cannot_be_done_any_more_is_stale():
    assert not words.is_stale(an_approval("ap-1"))
    assert words.is_stale(an_approval("ap-1", changed="another text"))
    assert words.is_stale(an_approval("ap-1", status="refused"))
    assert not words.is_stale(an_approval("ap-1", status="rejected", changed="another text"))


def test_what_waits_is_apart_from_what_is_settled():
    every = [each.approval for each in some_approvals()]
    assert [each.id for each in words.waiting(every)] == ["ap-3", "ap-2"]
    assert [each.id for each in words.settled(every, 9)] == ["ap-1"]
    assert words.settled(every, 0) == []
