"""Chat sessions as they stand in their files. Pure folds over session lines.

A session's file is the record; what is held in memory is only its end.
"""

from collections.abc import Iterable

import msgspec

from gnomon.domain.instants import iso
from gnomon.domain.ledgers import Line
from gnomon.domain.messages import Message
from gnomon.domain.records import SessionMessage, SessionOpened, TurnUndone
from gnomon.domain.views import MessageView, SessionView

HISTORY_CHARACTERS = 24_000
"""How much earlier talk a turn is given; the rest stays in the session and in recall."""


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """One session. `last_turn` counts undone ones too: a turn's number is never reused."""

    session: str
    title: str
    messages: tuple[MessageView, ...]
    last_turn: int
    last_at: str | None


def conversation(session: str, lines: Iterable[Line]) -> Conversation:
    """Fold a session's lines in order."""
    title, last_turn, last_at = "", 0, None
    messages: list[MessageView] = []
    undone: set[int] = set()
    for line in lines:
        last_at = iso(line.at)
        match line.body:
            case SessionOpened(title=text):
                title = text
            case SessionMessage(turn=turn, role=role, text=text):
                last_turn = max(last_turn, turn)
                messages.append(MessageView(turn=turn, role=role, text=text, at=last_at))
            case TurnUndone(turn=turn):
                undone.add(turn)
            case _:
                pass
    marked = tuple(
        msgspec.structs.replace(message, undone=message.turn in undone) for message in messages
    )
    return Conversation(
        session=session, title=title, messages=marked, last_turn=last_turn, last_at=last_at
    )


def history(talk: Conversation) -> tuple[Message, ...]:
    """What the model is given of it: the newest whole turns that fit, undone ones left out."""
    kept: list[Message] = []
    room = HISTORY_CHARACTERS
    for message in reversed([m for m in talk.messages if not m.undone]):
        room -= len(message.text)
        if room < 0:
            break
        kept.append(Message(role=message.role, content=message.text))
    kept.reverse()
    while kept and kept[0].role != "user":
        kept.pop(0)
    return tuple(kept)


def ending(talk: Conversation) -> Conversation:
    """Only as much of its end as `history` looks at: what the next turn needs, however long
    the talk is.
    """
    kept: list[MessageView] = []
    room = HISTORY_CHARACTERS
    for message in reversed([m for m in talk.messages if not m.undone]):
        kept.append(message)
        room -= len(message.text)
        if room < 0:
            break
    return msgspec.structs.replace(talk, messages=tuple(reversed(kept)))


def grown(end: Conversation, lines: Iterable[Line]) -> Conversation | None:
    """An ending, some lines later; null when one of them takes a turn back, for then what
    stands before this end counts again.
    """
    news = list(lines)
    if any(isinstance(line.body, TurnUndone) for line in news):
        return None
    more = conversation(end.session, news)
    return ending(
        Conversation(
            session=end.session,
            title=more.title or end.title,
            messages=end.messages + more.messages,
            last_turn=max(end.last_turn, more.last_turn),
            last_at=more.last_at or end.last_at,
        )
    )


def last_standing_turn(talk: Conversation) -> int | None:
    """The turn that `/undo` takes back: the newest that is not undone."""
    standing = [message.turn for message in talk.messages if not message.undone]
    return max(standing) if standing else None


def view(talk: Conversation) -> SessionView:
    return SessionView(
        session=talk.session,
        title=talk.title,
        turns=len({m.turn for m in talk.messages if not m.undone}),
        last_at=talk.last_at,
    )
