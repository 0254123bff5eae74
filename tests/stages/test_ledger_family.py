"""Sessions and run-logs: many small ledgers, few open files."""

import asyncio
import os
from pathlib import Path

import pytest

from gnomon.domain.errors import UsageError
from gnomon.domain.ledgers import BODIES, Head
from gnomon.domain.records import SessionMessage, SessionOpened
from gnomon.ledger.family import LedgerFamily
from gnomon.testing.clock import FakeClock
from gnomon.testing.crash import CrashDisk


def family(folder: Path, *, max_open: int = 4) -> LedgerFamily:
    return LedgerFamily(folder, "session", BODIES["session"], FakeClock(), print, max_open=max_open)


def message(turn: int) -> SessionMessage:
    return SessionMessage(turn=turn, role="user", text="hello", run="run-1")


async def test_a_file_is_made_by_the_first_append_alone(tmp_path: Path) -> None:
    sessions = family(tmp_path / "sessions")
    one = sessions.get("ses-1")
    assert (one.name, one.head, list(one.read())) == ("session/ses-1", Head(), [])
    assert not (tmp_path / "sessions").exists()
    assert list(sessions.ids()) == []
    await one.append(SessionOpened(title="t"))
    assert list(sessions.ids()) == ["ses-1"]
    await sessions.close()


async def test_many_ledgers_written_at_once_keep_few_descriptors(tmp_path: Path) -> None:
    sessions = family(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    most = 0

    async def write(member: str) -> None:
        nonlocal most
        for turn in range(1, 6):
            await sessions.get(member).append(message(turn), durable=turn % 2 == 0)
            most = max(most, len(os.listdir("/proc/self/fd")) - before)

    await asyncio.gather(*(write(f"ses-{n:02d}") for n in range(30)))
    assert most <= 4 + 1 + 4  # and the folder that is synced, and the two pipes to the threads
    for member in sessions.ids():
        assert [line.seq for line in sessions.get(member).read()] == [1, 2, 3, 4, 5]
    assert len(sessions.heads()) == 30
    assert {head.seq for head in sessions.heads().values()} <= {4, 5}
    await sessions.close()
    assert {head.seq for head in sessions.heads().values()} == {5}
    assert len(os.listdir("/proc/self/fd")) == before


async def test_a_member_is_read_whether_open_or_not(tmp_path: Path) -> None:
    sessions = family(tmp_path, max_open=1)
    await sessions.get("a").append(message(1))
    await sessions.get("b").append(message(1))
    assert sessions.opened("a") is None
    assert [line.seq for line in sessions.get("a").read()] == [1]
    assert sessions.get("a").head.seq == 1
    assert (await sessions.get("a").append(message(2))).seq == 2
    await sessions.close()


@pytest.mark.parametrize(
    "bad",
    [
        "", ".", "..", "../x", "a/b", "/etc/passwd", "a.0002", "a.jsonl", "A", "a b", "a\n", "\0",
        "-a", "é", "a" * 129, "con:x", "a\u2028",
    ],
)  # fmt: skip
def test_an_id_is_a_plain_file_name(tmp_path: Path, bad: str) -> None:
    with pytest.raises(UsageError):
        family(tmp_path).get(bad)


async def test_segments_are_no_ids(tmp_path: Path) -> None:
    sessions = family(tmp_path)
    await sessions.get("a").append(message(1))
    (tmp_path / "a.0002.jsonl").touch()
    (tmp_path / "Not An Id.jsonl").touch()
    assert list(sessions.ids()) == ["a"]
    await sessions.close()


async def test_the_anchored_head_of_a_member_is_asked_for_when_it_is_opened(
    tmp_path: Path,
) -> None:
    asked: list[str] = []
    sessions = LedgerFamily(
        tmp_path,
        "session",
        BODIES["session"],
        FakeClock(),
        print,
        known=asked.append,
        disk=CrashDisk(),
    )
    await sessions.get("a").append(message(1))
    await sessions.get("a").append(message(2))
    assert asked == ["session/a"]
    await sessions.close()
