"""Other agents' histories are watched without polling, and read on a few minutes apart."""

import asyncio
import errno
import os
import shutil
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from gnomon.daemon.watch import watching as module
from gnomon.daemon.watch.inotify import Change, Inotify, events
from gnomon.daemon.watch.watched import MOST_DIRTY, Dirty, folders
from gnomon.daemon.watch.watching import APART, FRESH, Watching
from gnomon.domain.errors import PipeError, UsageError
from gnomon.domain.instants import MINUTE, Millis, iso
from gnomon.domain.views_history import ImportRow
from gnomon.testing.facts import an_import_row

NOW = Millis(1_780_000_000_000)
BOUND = 5.0


@dataclass
class Watched(Watching):
    """One that says when it heard of something."""

    heard: asyncio.Event = field(default_factory=asyncio.Event)

    def _changed(self, change: Change) -> None:
        super()._changed(change)
        self.heard.set()

    async def hears(self) -> None:
        async with asyncio.timeout(BOUND):
            await self.heard.wait()
        self.heard.clear()


@dataclass
class World:
    """A user's home with both histories, and what was done about them."""

    root: Path
    now: Millis = NOW
    asked: list[list[str]] = field(default_factory=list[list[str]])
    rows: list[ImportRow] = field(default_factory=list[ImportRow])
    said: list[str] = field(default_factory=list[str])
    signs: int = 0

    def __post_init__(self) -> None:
        self.project = self.root / ".claude" / "projects" / "-home-me"
        self.day = self.root / ".codex" / "sessions" / "2026" / "05" / "24"
        self.project.mkdir(parents=True)
        self.day.mkdir(parents=True)
        self.watching = Watched(
            environ={},
            user_home=self.root,
            read=self.read,
            now=lambda: self.now,
            seen=self.see,
            say=self.said.append,
        )

    async def read(self, paths: list[str]) -> list[ImportRow]:
        self.asked.append(paths)
        return self.rows

    def see(self) -> None:
        self.signs += 1

    async def settled(self) -> None:
        """What was there at the start is read, and time has gone by."""
        self.watching.start()
        await self.watching.read_changed()
        self.asked.clear()
        self.now = Millis(self.now + APART)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    made.watching.stop()


def row(ago: int, new: int = 1) -> ImportRow:
    said = iso(Millis(NOW - ago))
    return replace(an_import_row("a.jsonl"), last_at=said, new_observations=new)


async def test_one_watch_a_folder_and_all_is_read_once_at_the_start(world: World) -> None:
    world.watching.start()
    world.watching.start()
    view = world.watching.view()
    assert (view.on, view.folders, view.fault) == (True, 6, None)
    assert world.watching.is_due()
    await world.watching.read_changed()
    assert [sorted(paths) for paths in world.asked] == [
        sorted(str(world.root / each) for each in (".claude/projects", ".codex/sessions"))
    ]
    assert not world.watching.is_due()
    await world.watching.read_changed()
    assert len(world.asked) == 1


async def test_a_session_that_grows_is_read_with_its_sub_agents(world: World) -> None:
    session = world.project / "one.jsonl"
    session.write_text("{}\n")
    (world.project / "one").mkdir()
    (world.project / "notes.txt").write_text("x")
    await world.settled()
    with session.open("a") as file:
        file.write("{}\n")
    await world.watching.hears()
    (world.project / "notes.txt").write_text("y")
    assert world.watching.is_due()
    await world.watching.read_changed()
    assert world.asked == [[str(session), str(world.project / "one")]]


async def test_readings_are_minutes_apart_however_much_is_written(world: World) -> None:
    await world.settled()
    rollout = world.day / "rollout-1.jsonl"
    rollout.write_text("{}\n")
    await world.watching.hears()
    await world.watching.read_changed()
    rollout.write_text("{}\n{}\n")
    await world.watching.hears()
    assert not world.watching.is_due()
    world.now = Millis(world.now + APART)
    assert world.watching.is_due()
    world.now = Millis(world.now - 2 * APART)
    assert world.watching.is_due(), "a clock that was set back holds nothing up"


async def test_a_folder_that_comes_later_is_watched_too(world: World) -> None:
    await world.settled()
    later = world.day.parent / "25"
    later.mkdir()
    await world.watching.hears()
    assert world.watching.view().folders == 7
    (later / "rollout-2.jsonl").write_text("{}\n")
    await world.watching.hears()
    await world.watching.read_changed()
    assert str(later) in world.asked[0]
    deep = world.project / "session" / "subagents"
    deep.mkdir(parents=True)
    await world.watching.hears()
    assert world.watching.view().folders == 7, "below a project nothing is watched"


@pytest.mark.parametrize(
    ("rows", "signs"),
    [
        ([row(MINUTE)], 1),
        ([row(MINUTE, new=0)], 0),
        ([row(FRESH + MINUTE)], 0),
        ([row(-MINUTE)], 0),
        ([], 0),
    ],
)
async def test_a_fresh_turn_of_the_users_means_that_somebody_is_here(
    world: World, rows: list[ImportRow], signs: int
) -> None:
    world.watching.start()
    world.rows = rows
    await world.watching.read_changed()
    assert world.signs == signs


async def test_a_row_without_a_time_says_nothing_of_anybody(world: World) -> None:
    world.watching.start()
    world.rows = [replace(an_import_row("a.jsonl"), last_at=None)]
    await world.watching.read_changed()
    assert world.signs == 0


async def test_a_reading_that_fails_is_said_and_made_again(world: World) -> None:
    async def fails(paths: list[str]) -> list[ImportRow]:
        del paths
        raise PipeError("The importer went away.")

    world.watching.start()
    world.watching.read = fails
    await world.watching.read_changed()
    assert world.said == ["What other agents wrote could not be read: The importer went away."]
    world.now = Millis(world.now + APART)
    assert world.watching.is_due()


async def test_what_is_gone_before_it_is_read_is_left_out(world: World) -> None:
    await world.settled()
    session = world.project / "one.jsonl"
    session.write_text("{}\n")
    await world.watching.hears()
    session.unlink()
    await world.watching.read_changed()
    assert world.asked == []


async def test_where_nothing_is_to_be_watched_that_is_said(tmp_path: Path, world: World) -> None:
    world.watching.user_home = tmp_path / "nobody"
    with pytest.raises(UsageError, match="no history of another agent"):
        world.watching.start()
    assert not world.watching.view().on
    assert not world.watching.is_due()


async def test_a_system_without_inotify_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_: object) -> Inotify:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(module, "Inotify", none)
    with pytest.raises(UsageError, match="cannot tell of changes"):
        world.watching.start()


@pytest.mark.parametrize(("code", "fault"), [(errno.ENOSPC, True), (errno.ENOENT, False)])
async def test_folders_that_cannot_be_watched_are_said_once(
    world: World, monkeypatch: pytest.MonkeyPatch, code: int, fault: bool
) -> None:
    real = Inotify.add

    def add(self: Inotify, folder: Path) -> None:
        if len(self) >= 2:
            raise OSError(code, os.strerror(code))
        real(self, folder)

    monkeypatch.setattr(Inotify, "add", add)
    world.watching.start()
    view = world.watching.view()
    assert (view.folders, view.fault is not None) == (2, fault)
    assert len(world.said) == int(fault)


async def test_there_is_a_bound_on_folders(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FOLDERS", 3)
    world.watching.start()
    assert world.watching.view().folders == 3
    assert world.watching.view().fault == "Not every folder is watched: there are over 3 folders."


async def test_a_folder_that_goes_away_ends_its_watch(world: World) -> None:
    await world.settled()
    world.day.rmdir()
    while world.watching.view().folders > 5:
        async with asyncio.timeout(BOUND):
            await asyncio.sleep(0)
    world.watching.stop()
    world.watching.stop()
    assert world.watching.view().folders == 0


async def test_a_history_that_is_taken_away_and_comes_back_is_watched_again(world: World) -> None:
    world.watching.start()
    await world.watching.read_changed()
    shutil.rmtree(world.root / ".codex" / "sessions")
    await world.watching.hears()
    world.now = Millis(world.now + 2 * APART)
    world.watching.is_due()
    world.day.mkdir(parents=True)
    assert world.watching.is_due(), "all of it is read anew"
    await world.watching.read_changed()
    world.watching.heard.clear()
    (world.day / "rollout-1.jsonl").write_text("{}\n")
    await world.watching.hears()
    world.watching.stop()


async def test_a_folder_whose_coming_was_dropped_is_watched_all_the_same(world: World) -> None:
    world.watching.start()
    watched = world.watching.view().folders
    world.watching._changed(Change(None, "", is_folder=False, lost=True))
    assert world.watching.view().folders == watched
    later = world.project.parent / "-home-other"
    later.mkdir()
    world.watching._changed(Change(None, "", is_folder=False, lost=True))
    assert world.watching.view().folders == watched + 1
    world.watching.stop()


def test_what_the_kernel_dropped_may_have_been_anything(tmp_path: Path) -> None:
    dirty = Dirty((tmp_path,))
    assert not dirty
    dirty.note(Change(tmp_path, "", is_folder=False))
    assert not dirty
    dirty.note(Change(None, "", is_folder=False, lost=True))
    assert dirty.take() == [str(tmp_path)]
    assert not dirty


def test_of_very_many_changes_the_whole_history_is_looked_at(tmp_path: Path) -> None:
    dirty = Dirty((tmp_path,))
    for number in range(MOST_DIRTY + 1):
        dirty.note(Change(tmp_path, f"{number}.jsonl", is_folder=False))
    assert dirty.take() == [str(tmp_path)]


def test_a_folder_that_cannot_be_listed_is_itself_alone(tmp_path: Path) -> None:
    assert list(folders(tmp_path / "none", 2)) == [tmp_path / "none"]


def test_events_are_taken_apart() -> None:
    name = b"a.jsonl".ljust(16, b"\0")
    data = struct.pack("iIII", 1, 2, 0, 16) + name + struct.pack("iIII", 7, 0x8000, 0, 0) + b"cut"
    assert list(events(data)) == [(1, 2, "a.jsonl"), (7, 0x8000, "")]


async def test_an_overflow_of_the_kernels_queue_is_told_as_such() -> None:
    heard: list[Change] = []
    watch = Inotify(heard.append)
    read, write = os.pipe()
    os.write(write, struct.pack("iIII", -1, 0x4000, 0, 0))
    os.close(write)
    own, watch._fd = watch._fd, read
    try:
        watch._read()
    finally:
        watch._fd = own
        os.close(read)
        watch.close()
        watch.close()
    assert heard == [Change(None, "", is_folder=False, lost=True)]
