"""The queue of held actions: its fold, its decisions, and what is looked at before anything is
done.
"""

from dataclasses import replace
from typing import get_args

import msgspec
import pytest

from gnomon.approvals.approval import summary
from gnomon.approvals.queue import (
    LIFE,
    REMIND_AFTER,
    Approvals,
    Proposal,
    can_be_edited,
    can_be_redone,
    decider,
    held_line,
    in_order,
    settled,
    told,
)
from gnomon.approvals.ruling import Found, ruling, ruling_after_crash, what_changed
from gnomon.approvals.shown import approval_shown, approval_view
from gnomon.domain.body import Body
from gnomon.domain.errors import ConflictError, UsageError
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import Line
from gnomon.domain.records_change import (
    Decided,
    Executed,
    Expired,
    Forgotten,
    Held,
    HeldKind,
    HeldOrigin,
    Redone,
    Refused,
    Reminded,
    Undone,
)

NOW = Millis(1_780_000_000_000)
WAS, WANTED, OTHER = "a" * 64, "b" * 64, "c" * 64
PROPOSAL = Proposal(
    action="file.write",
    target="/data/a.md",
    payload={"content": "x"},
    target_sha256=WAS,
    origin=HeldOrigin(role="resident", session="s-1"),
    why="You said: x",
    diff="--- a\n+++ a\n@@ -1,1 +1,1 @@\n-y\n+x\n",
)
HELD = held_line(PROPOSAL, "ap-1", NOW)
YES = Decided(approval_id="ap-1", decision="approved", through="cli")
ALWAYS = msgspec.structs.replace(YES, always=True)
NO = Decided(approval_id="ap-1", decision="rejected", through="dashboard")
DONE = Executed(approval_id="ap-1", result="Replaced it.", backup="ap-1")
FAILED = Executed(approval_id="ap-1", result="", error="the disk is full")
REFUSED = Refused(approval_id="ap-1", reason="It changed.")


def fold(*bodies: Body) -> Approvals:
    lines = (
        Line(seq=seq, at=Millis(NOW + seq), schema=1, prev="0" * 64, sha256="0" * 64, body=body)
        for seq, body in enumerate(bodies, start=1)
    )
    return Approvals(lines)


def status(*bodies: Body, later: int = 10) -> str:
    return fold(*bodies).known("ap-1").status(Millis(NOW + later))


@pytest.mark.parametrize(
    ("bodies", "said"),
    [
        ((), "pending"),
        ((Reminded(approval_id="ap-1"),), "pending"),
        ((YES,), "approved"),
        ((NO,), "rejected"),
        ((YES, DONE), "executed"),
        ((YES, FAILED), "failed"),
        ((YES, REFUSED), "refused"),
        ((Expired(approval_id="ap-1"),), "expired"),
        ((Redone(approval_id="ap-1", by="ap-2"),), "redone"),
        ((YES, REFUSED, Redone(approval_id="ap-1", by="ap-2")), "redone"),
        ((YES, DONE, Undone(approval_id="ap-1", through="cli")), "undone"),
        # What comes twice, too late, or out of order changes nothing.
        ((HELD, YES), "approved"),
        ((NO, YES, DONE), "rejected"),
        ((YES, NO, DONE), "executed"),
        ((DONE,), "pending"),
        ((YES, DONE, REFUSED), "executed"),
        ((YES, REFUSED, DONE), "refused"),
        ((YES, Expired(approval_id="ap-1")), "approved"),
        ((Expired(approval_id="ap-1"), YES, DONE), "expired"),
        ((YES, DONE, Redone(approval_id="ap-1", by="ap-2")), "executed"),
        ((Redone(approval_id="ap-1", by="ap-1"),), "pending"),
        ((Undone(approval_id="ap-1", through="cli"),), "pending"),
        ((YES, FAILED, Undone(approval_id="ap-1", through="cli")), "failed"),
        ((Reminded(approval_id="ap-9"),), "pending"),
    ],
)
def test_a_status_follows_from_the_lines(bodies: tuple[Body, ...], said: str) -> None:
    assert status(HELD, *bodies) == said


def test_its_time_is_over_also_where_nobody_wrote_so() -> None:
    assert status(HELD, later=LIFE - 1) == "pending"
    assert status(HELD, later=LIFE) == "expired"
    assert status(HELD, YES, later=LIFE) == "approved", "the word came in time"
    with pytest.raises(ConflictError, match="Its time was over"):
        fold(HELD).check(YES, Millis(NOW + LIFE))


def test_a_decision_that_may_be_said_is_about_a_pending_one() -> None:
    assert fold(HELD).check(ALWAYS, NOW).approval_id == "ap-1"
    with pytest.raises(UsageError, match="no held action 'ap-1'"):
        fold().check(YES, NOW)


@pytest.mark.parametrize("action", [a for a in get_args(HeldKind) if a not in
                                    ("file.write", "tool.call")])  # fmt: skip
def test_no_word_stands_for_what_is_looked_at_each_time(action: HeldKind) -> None:
    state = fold(held_line(replace(PROPOSAL, action=action), "ap-1", NOW))
    assert state.check(YES, NOW).action == action
    with pytest.raises(UsageError, match="cannot be said of"):
        state.check(ALWAYS, NOW)


@pytest.mark.parametrize(
    ("bodies", "sentence", "step"),
    [
        ((YES, DONE), "approved already, by you, through the CLI", False),
        ((NO,), "rejected already, by you, on the dashboard", False),
        ((YES, REFUSED), "approved already", True),
        ((YES, FAILED), "approved already", True),
        ((Expired(approval_id="ap-1"),), "time was over", True),
        ((Redone(approval_id="ap-1", by="ap-2"),), "held anew, as ap-2", False),
    ],
)
def test_what_is_settled_says_by_whom_and_when(
    bodies: tuple[Body, ...], sentence: str, step: bool
) -> None:
    with pytest.raises(ConflictError, match=sentence) as caught:
        fold(HELD, *bodies).check(NO, Millis(NOW + 10))
    assert bool(caught.value.next_step) == step
    decided = bodies[0] if isinstance(bodies[0], Decided) else None
    assert (caught.value.facts["decided_at"] is None) == (decided is None)


def test_a_standing_word_decides_in_the_operators_name() -> None:
    said = msgspec.structs.replace(YES, through="always:ap-7")
    assert decider(said) == "your word on ap-7, which stands for each"


def test_a_word_stands_while_what_it_did_stands() -> None:
    wanted = ("file.write", "/data/a.md", "resident")
    word = fold(HELD, ALWAYS, DONE)
    found = word.standing_word(*wanted)  # pyright: ignore[reportArgumentType]
    assert found is not None
    assert word.words_below("/data") == word.words_below("/data/") == (found,)
    assert word.words_below("/dat") == ()
    assert word.standing_word("file.write", "/data/b.md", "resident") is None
    assert word.standing_word("file.write", "/data/a.md", "reviewer") is None
    for ended in (
        (HELD, YES, DONE),
        (HELD, ALWAYS),
        (HELD, ALWAYS, REFUSED),
        (HELD, ALWAYS, FAILED),
        (HELD, ALWAYS, DONE, Undone(approval_id="ap-1", through="cli")),
        (HELD, ALWAYS, DONE, Forgotten(approval_id="ap-1", through="cli")),
    ):
        state = fold(*ended)
        assert state.standing_word(*wanted) is None  # pyright: ignore[reportArgumentType]
        assert state.words_below("/data") == ()


SECOND = (
    held_line(PROPOSAL, "ap-2", NOW),
    msgspec.structs.replace(ALWAYS, approval_id="ap-2"),
    msgspec.structs.replace(DONE, approval_id="ap-2"),
)


def standing(*bodies: Body) -> tuple[str | None, list[str]]:
    """The id of the word that stands, and of all those that are shown as one."""
    state = fold(HELD, ALWAYS, DONE, *SECOND, *bodies)
    word = state.standing_word("file.write", "/data/a.md", "resident")
    shown = [each.approval_id for each in state.all() if each.stands_for_later]
    assert [each.approval_id for each in state.words_below("/data")] == shown
    return None if word is None else word.approval_id, shown


def test_a_later_word_takes_the_place_of_the_one_before() -> None:
    assert standing() == ("ap-2", ["ap-2"])
    assert standing(DONE) == ("ap-2", ["ap-2"]), "a line about the older one changes nothing"
    other = msgspec.structs.replace(HELD, approval_id="ap-3", target="/data/b.md")
    says = [msgspec.structs.replace(line, approval_id="ap-3") for line in (ALWAYS, DONE)]
    assert standing(other, *says) == ("ap-2", ["ap-2", "ap-3"])


@pytest.mark.parametrize("name", ["ap-1", "ap-2"])
def test_whichever_word_is_forgotten_none_stands(name: str) -> None:
    assert standing(Forgotten(approval_id=name, through="cli")) == (None, [])


def test_none_stands_when_the_last_one_said_is_undone() -> None:
    assert standing(Undone(approval_id="ap-2", through="cli")) == (None, [])


def test_what_was_forgotten_before_a_word_does_not_end_it_again() -> None:
    gone = Forgotten(approval_id="ap-1", through="cli")
    state = fold(HELD, ALWAYS, DONE, gone, *SECOND, gone)
    assert state.known("ap-2").stands_for_later


def test_time_brings_one_reminder_and_one_end() -> None:
    reminded, expired = Reminded(approval_id="ap-1"), Expired(approval_id="ap-1")
    assert fold(HELD).due(Millis(NOW + REMIND_AFTER)) == ()
    assert fold(HELD).due(Millis(NOW + REMIND_AFTER + 1)) == (reminded,)
    assert fold(HELD, reminded).due(Millis(NOW + REMIND_AFTER + 1)) == ()
    assert fold(HELD, reminded).due(Millis(NOW + LIFE)) == (expired,)
    assert fold(HELD).due(Millis(NOW + LIFE)) == (expired,)
    for settled_ in ((YES,), (NO,), (YES, DONE), (expired,)):
        assert fold(HELD, *settled_).due(Millis(NOW + LIFE)) == ()


def test_what_a_crash_left_is_what_was_approved_and_has_no_end() -> None:
    assert [each.approval_id for each in fold(HELD, YES).unfinished()] == ["ap-1"]
    for bodies in ((HELD,), (HELD, NO), (HELD, YES, DONE), (HELD, YES, REFUSED)):
        assert fold(*bodies).unfinished() == ()


def test_the_same_action_with_the_same_content_waits_once() -> None:
    state = fold(HELD)
    assert state.same_pending(PROPOSAL, NOW) is not None
    assert state.same_pending(replace(PROPOSAL, payload={"content": "y"}), NOW) is None
    assert state.same_pending(PROPOSAL, Millis(NOW + LIFE)) is None
    assert state.same_pending(replace(PROPOSAL, target_sha256=OTHER), NOW) is None
    assert state.same_pending(PROPOSAL, NOW, but="ap-1") is None


def test_a_row_shows_what_its_line_says_and_needs_no_line() -> None:
    origin = HeldOrigin(role="resident", session="s-1", untrusted=("a page",))
    held = held_line(replace(PROPOSAL, origin=origin, change_id="ch-1"), "ap-1", NOW)
    row = approval_view(fold(held).known("ap-1"), NOW)
    same = {
        name: getattr(held, name)
        for name in ("change_id", "action", "target", "payload_sha256", "target_sha256",
                     "expires_at", "why")
    }  # fmt: skip
    assert {name: getattr(row, name) for name in same} == same
    assert (row.session, row.untrusted, row.summary) == ("s-1", ("a page",), summary(held))


def test_what_waits_is_listed_first_by_its_end() -> None:
    second, third = (held_line(PROPOSAL, name, Millis(NOW - 5)) for name in ("ap-2", "ap-3"))
    state = fold(HELD, second, third, Decided(
        approval_id="ap-3", decision="rejected", through="cli"))  # fmt: skip
    listed = in_order(state.all(), NOW, 10)
    assert [each.approval_id for each in listed] == ["ap-2", "ap-1", "ap-3"]
    assert len(in_order(state.all(), NOW, 1)) == 1


@pytest.mark.parametrize(
    ("bodies", "changed", "can"),
    [
        ((), False, False),
        ((), True, True),
        ((YES,), True, False),
        ((NO,), True, False),
        ((YES, DONE), True, False),
        ((YES, REFUSED), False, True),
        ((YES, FAILED), False, True),
        ((Expired(approval_id="ap-1"),), False, True),
        ((Redone(approval_id="ap-1", by="ap-2"),), True, False),
    ],
)
def test_it_is_held_anew_where_it_was_not_done(
    bodies: tuple[Body, ...], changed: bool, can: bool
) -> None:
    assert can_be_redone(fold(HELD, *bodies).known("ap-1"), NOW, changed=changed) == can


@pytest.mark.parametrize(
    ("bodies", "changed", "can"),
    [
        ((), False, True),
        ((), True, False),
        ((YES,), False, False),
        ((NO,), False, False),
        ((YES, REFUSED), False, False),
        ((Expired(approval_id="ap-1"),), False, False),
        ((Redone(approval_id="ap-1", by="ap-2"),), False, False),
    ],
)
def test_its_text_is_edited_while_it_could_be_done(
    bodies: tuple[Body, ...], changed: bool, can: bool
) -> None:
    assert can_be_edited(fold(HELD, *bodies).known("ap-1"), NOW, changed=changed) == can


def test_what_is_more_than_a_text_is_not_edited() -> None:
    act = held_line(replace(PROPOSAL, action="tool.call"), "ap-1", NOW)
    assert not can_be_edited(fold(act).known("ap-1"), NOW, changed=False)


# --- before anything is done -------------------------------------------------------------------


def rule(
    held: Held = HELD,
    found: str | None = WAS,
    *,
    fault: str | None = None,
    not_granted: str | None = None,
    later: int = 0,
) -> Executed | Refused | None:
    return ruling(held, Found(found, fault), WANTED, not_granted, Millis(NOW + later))


def reason(said: Executed | Refused | None) -> str:
    assert isinstance(said, Refused)
    return said.reason


def test_as_it_was_held_it_is_done() -> None:
    assert rule() is None
    assert rule(msgspec.structs.replace(HELD, target_sha256=None), None) is None


def test_each_thing_that_is_another_than_when_it_was_held_refuses_it() -> None:
    tampered = msgspec.structs.replace(HELD, payload={"content": "evil"})
    assert reason(rule(tampered)) == "Its content is not what was held."
    assert "Its time was over" in reason(rule(later=LIFE))
    assert reason(rule(not_granted="the tool was taken back.")).endswith("taken back.")
    assert "changed since: it held aaaaaaaa, and holds cccccccc now" in reason(rule(found=OTHER))
    assert "is gone" in reason(rule(found=None))
    fresh = msgspec.structs.replace(HELD, target_sha256=None)
    assert "was made since" in reason(rule(fresh, OTHER))
    assert "is no regular file" in reason(rule(found=None, fault="is no regular file"))
    assert rule(found=OTHER).found_sha256 == OTHER  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]


def test_what_holds_already_what_was_wanted_is_done() -> None:
    said = rule(found=WANTED)
    assert isinstance(said, Executed)
    assert (said.error, said.backup) == (None, None)
    assert isinstance(rule(found=WANTED, not_granted="no."), Refused)


def after_crash(
    found: str | None,
    wanted: str | None = WANTED,
    *,
    begun: bool,
    target: str | None = WAS,
) -> Executed | Refused | None:
    held = msgspec.structs.replace(HELD, target_sha256=target)
    return ruling_after_crash(held, Found(found), wanted, None, NOW, begun=begun)


def test_what_was_not_begun_is_done_after_a_crash() -> None:
    assert after_crash(WAS, begun=False) is None
    assert isinstance(after_crash(OTHER, begun=False), Refused)


def test_what_was_begun_is_never_begun_again() -> None:
    done = after_crash(WANTED, begun=True)
    assert isinstance(done, Executed)
    assert done.backup == "ap-1"
    new = after_crash(WANTED, begun=True, target=None)
    assert isinstance(new, Executed)
    assert new.backup is None
    assert reason(after_crash(WAS, begun=True)).endswith("its target is as it was.")
    assert "changed since" in reason(after_crash(OTHER, begun=True))
    assert reason(after_crash(WAS, None, begun=True)).endswith("cannot be told.")


def test_what_cannot_be_looked_at_is_not_taken_for_done() -> None:
    held = msgspec.structs.replace(HELD, target_sha256=None)
    fault = Found(None, "cannot be looked at: permission denied")
    assert what_changed(held, fault) == "/data/a.md cannot be looked at: permission denied."


# --- shown -------------------------------------------------------------------------------------


def test_a_sentence_says_what_it_wants() -> None:
    assert summary(HELD) == "write /data/a.md (+1 -1 lines)"
    new = msgspec.structs.replace(HELD, target_sha256=None)
    assert summary(new) == "write /data/a.md (a new file, 1 line)"
    two = msgspec.structs.replace(new, diff="--- a\n+++ a\n@@ -0,0 +1,2 @@\n+x\n+y\n")
    assert summary(two) == "write /data/a.md (a new file, 2 lines)"
    skill = msgspec.structs.replace(HELD, action="skill.create", target="release")
    assert summary(skill) == "skill.create release"


@pytest.mark.parametrize(
    ("bodies", "result", "can_undo"),
    [
        ((), None, False),
        ((Expired(approval_id="ap-1"),), None, False),
        ((YES, DONE), "Replaced it.", True),
        ((YES, FAILED), "It could not be done: the disk is full", False),
        ((YES, REFUSED), "It was not done: It changed.", False),
        ((YES, DONE, Undone(approval_id="ap-1", through="cli")), "Replaced it.", False),
    ],
)
def test_all_of_one_is_shown(bodies: tuple[Body, ...], result: str | None, can_undo: bool) -> None:
    found = fold(HELD, *bodies).known("ap-1")
    shown = approval_shown(found, HELD, NOW, text="x", changed="It changed.", is_kept=True)
    assert (shown.result, shown.can_undo) == (result, can_undo)
    assert (shown.changed is None) == (shown.approval.status == "executed" or can_undo
                                       or shown.approval.status == "undone")  # fmt: skip
    assert shown.decided_at is None or shown.decided_at.startswith("2026-05-28T20:26:40")


def test_words_of_an_end_and_of_a_settled_one() -> None:
    assert told(DONE) == "Replaced it."
    found = fold(HELD, NO).known("ap-1")
    assert settled(found, NOW).facts["status"] == "rejected"
