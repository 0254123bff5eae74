"""What a turn, a start and a look cost does not grow with what was said before."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.daemon.talk import conversations
from gnomon.daemon.talk.conversations import HISTORY_CHARACTERS, Conversation
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import Line
from gnomon.domain.records import SessionMessage, SessionOpened, TurnUndone
from gnomon.ledger.segments import LOOK_AHEAD, segment_path, strays
from tests.world_kit import World, in_virtual_time

Said = tuple[str, int]


def lines_of(story: list[Said]) -> list[Line]:
    """A session's lines: turns of so many characters, and some taken back."""
    bodies: list[Any] = [SessionOpened(title="t")]
    turn = 0
    for what, size in story:
        if what == "undo" and turn:
            bodies.append(TurnUndone(turn=1 + size % turn))
        else:
            turn += 1
            bodies += [
                SessionMessage(turn=turn, role="user", text="u" * size, run="r"),
                SessionMessage(turn=turn, role="assistant", text=f"a{turn}", run="r"),
            ]
    return [
        Line(seq=n, at=Millis(n), schema=1, prev="", sha256="", body=body)
        for n, body in enumerate(bodies, 1)
    ]


STORIES = st.lists(
    st.tuples(st.sampled_from(["say", "say", "say", "undo"]), st.integers(0, HISTORY_CHARACTERS)),
    max_size=12,
)


@given(STORIES, st.integers(0, 30))
def test_an_end_that_grew_is_the_end_of_the_whole(story: list[Said], at: int) -> None:
    lines = lines_of(story)
    whole = conversations.conversation("s", lines)
    end = conversations.ending(conversations.conversation("s", lines[:at]))
    grew = conversations.grown(end, lines[at:])
    if grew is None:
        assert any(isinstance(line.body, TurnUndone) for line in lines[at:])
        return
    assert conversations.history(grew) == conversations.history(whole)
    assert (grew.last_turn, grew.last_at, grew.title) == (
        whole.last_turn,
        whole.last_at,
        whole.title if at or lines else "",
    )


def test_an_end_is_no_longer_than_what_a_turn_is_given() -> None:
    end = conversations.ending(conversations.conversation("s", lines_of([("say", 1_000)] * 500)))
    assert sum(len(m.text) for m in end.messages) <= HISTORY_CHARACTERS + 1_001


def test_a_turn_reads_only_what_was_said_since_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folded: list[int] = []
    fold = conversations.conversation

    def counted(session: str, lines: Iterable[Line]) -> Conversation:
        found = list(lines)
        folded.append(len(found))
        return fold(session, found)

    monkeypatch.setattr(conversations, "conversation", counted)

    async def story() -> None:
        world = World(tmp_path / "home")
        async with world.up() as gateway:
            session = (await gateway.ask("chat.turn", text="one")).session
            for number in range(2, 40):
                reply = await gateway.ask("chat.turn", text=f"turn {number}", session=session)
                assert reply.turn == number
            # The opening and two messages, and then two messages a turn.
            assert max(folded) <= 3
            await gateway.ask("chat.undo", session=session)
            assert (await gateway.ask("chat.turn", text="again", session=session)).turn == 40
            kept = gateway.core.turns._end_of(session)
            assert [m.turn for m in kept.messages[-2:]] == [40, 40]
            assert 39 not in {m.turn for m in kept.messages}

    in_virtual_time(story)


def test_opening_a_ledger_does_not_list_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may hold 100,000 others; `verify` opens every one of them."""
    first = tmp_path / "s-1.jsonl"
    first.touch()

    def listed(*_: Any) -> Any:
        raise AssertionError("the folder was listed")

    monkeypatch.setattr(os, "scandir", listed)
    monkeypatch.setattr(os, "listdir", listed)
    assert strays(first) == ()


@pytest.mark.parametrize("number", [3, 4, 2 + LOOK_AHEAD])
def test_a_segment_behind_a_gap_is_a_stray(tmp_path: Path, number: int) -> None:
    first = tmp_path / "s-1.jsonl"
    first.touch()
    segment_path(first, number).touch()
    assert strays(first) == (segment_path(first, number),)


def test_a_later_segment_without_a_first_is_a_stray(tmp_path: Path) -> None:
    first = tmp_path / "s-1.jsonl"
    segment_path(first, 2).touch()
    assert strays(first) == (segment_path(first, 2),)
