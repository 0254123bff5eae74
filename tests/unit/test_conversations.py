"""Sessions folded from their lines, and what a status counts."""

from gnomon.daemon.store.tally import SpendTally, fold_spend
from gnomon.daemon.talk.conversations import conversation, last_standing_turn, view
from gnomon.domain.canonical import normal
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import GENESIS, Line
from gnomon.domain.records import Body, SessionMessage, SessionOpened, Spend, Tick, TurnUndone


def line(seq: int, body: Body) -> Line:
    return Line(seq=seq, at=Millis(seq), schema=1, prev=GENESIS, sha256=GENESIS, body=body)


def session(*bodies: Body) -> list[Line]:
    return [line(seq, body) for seq, body in enumerate(bodies, start=1)]


def turn(number: int) -> tuple[SessionMessage, SessionMessage]:
    return (
        SessionMessage(turn=number, role="user", text="why?", run="run-1"),
        SessionMessage(turn=number, role="assistant", text="so.", run="run-1"),
    )


def test_a_turn_taken_back_is_marked_and_no_longer_counted() -> None:
    lines = session(SessionOpened(title="why?"), *turn(1), *turn(2), TurnUndone(turn=2))
    talk = conversation("s-1", lines)
    assert [message.undone for message in talk.messages] == [False, False, True, True]
    assert (talk.last_turn, last_standing_turn(talk)) == (2, 1)
    shown = view(talk)
    assert (shown.title, shown.turns) == ("why?", 1)


def test_a_line_of_another_kind_changes_no_conversation() -> None:
    with_it = conversation("s-1", session(*turn(1), Tick(scaffold_version="v")))
    assert with_it.messages == conversation("s-1", session(*turn(1))).messages


def test_a_session_without_turns_has_none_to_take_back() -> None:
    assert last_standing_turn(conversation("s-1", [])) is None


def test_spend_is_counted_once_and_other_lines_never() -> None:
    spend = Spend(
        role="resident",
        purpose="chat",
        agent="main",
        model="m",
        prompt="",
        tokens_in=1,
        tokens_out=1,
        tokens_cached=None,
        seconds=1.0,
        cost_usd=0.25,
        joules=None,
        off_machine=True,
    )
    tally = SpendTally()
    for each in [line(1, spend), line(1, spend), line(2, Tick(scaffold_version="v"))]:
        tally = fold_spend(tally, each)
    assert (tally.calls, tally.remote_calls, tally.usd) == (1, 1, 0.25)


def test_any_sequence_is_a_list() -> None:
    assert normal({"n": range(3)}) == {"n": [0, 1, 2]}
