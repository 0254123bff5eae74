"""The list of conversations is read beside the event loop, and only where something changed."""

from pathlib import Path

from gnomon.clock import SystemClock
from gnomon.daemon.talk.session_list import MOST_SHOWN, SessionList
from gnomon.domain.ledgers import BODIES
from gnomon.domain.records import SessionMessage, SessionOpened
from gnomon.ledger.family import LedgerFamily
from gnomon.ledger.reading import LedgerReader


async def talk(family: LedgerFamily, session: str, *texts: str) -> None:
    await family.append(session, SessionOpened(title=texts[0]), durable=False)
    for turn, text in enumerate(texts, 1):
        said = SessionMessage(turn=turn, role="user", text=text, run="r", reply_to=None)
        await family.append(session, said, durable=False)


async def test_a_session_is_read_again_only_when_it_has_changed(tmp_path: Path) -> None:
    family = LedgerFamily(tmp_path, "session", BODIES["session"], SystemClock(), print)
    read: list[str] = []

    def reader(name: str) -> LedgerReader:
        read.append(name)
        return family.reader(name)

    shown = SessionList(tmp_path, reader)
    assert shown.newest() == []
    await talk(family, "s-1", "first")
    await talk(family, "s-2", "second", "more")
    assert {(each.session, each.title, each.turns) for each in shown.newest()} == {
        ("s-1", "first", 1),
        ("s-2", "second", 2),
    }
    assert sorted(read) == ["s-1", "s-2"]
    assert len(shown.newest()) == 2
    assert len(read) == 2
    said = SessionMessage(turn=2, role="user", text="again", run="r", reply_to=None)
    await family.append("s-1", said, durable=False)
    (newest, _) = shown.newest()
    assert (newest.session, newest.turns) == ("s-1", 2)
    assert read[2:] == ["s-1"]
    await family.close()


async def test_the_list_has_a_bound(tmp_path: Path) -> None:
    family = LedgerFamily(tmp_path, "session", BODIES["session"], SystemClock(), print)
    for number in range(MOST_SHOWN + 3):
        await talk(family, f"s-{number}", "hello")
    assert len(SessionList(tmp_path, family.reader).newest()) == MOST_SHOWN
    await family.close()
