"""What was approved is done once; what was there is kept, and a failure tells the truth."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from gnomon.approvals.execute import BACKUPS_KEPT, Executions, Marks, NotAsHeldError
from gnomon.approvals.file_payload import digest
from gnomon.approvals.file_writes import FileWrites, WriteGrant, covering
from gnomon.approvals.queue import Proposal, held_line
from gnomon.disk import SYSTEM_DISK, Disk
from gnomon.domain.errors import ConflictError, TrustError
from gnomon.domain.instants import Millis
from gnomon.domain.records_change import Executed, Held, HeldOrigin, Refused
from gnomon.domain.views import Folder
from gnomon.testing.approvals import MemoryMarks, MemoryTargets
from gnomon.testing.crash import CrashDisk, Fault

NOW = Millis(1_780_000_000_000)
T = TypeVar("T")


async def inline(work: Callable[[], T]) -> T:
    return work()


class Bench:
    """Executions over real files."""

    def __init__(self, root: Path, disk: Disk = SYSTEM_DISK) -> None:
        self.data = root / "data"
        self.data.mkdir()
        self.grant = WriteGrant(
            frozenset({"write", "edit"}), (Folder(path=str(self.data), writable=False),)
        )
        self.marks = Marks(root / "marks", SYSTEM_DISK)
        writes = FileWrites(lambda: self.grant, lambda role: role == "resident", inline, disk)
        self.executions = Executions({"file.write": writes}, self.marks)

    def held(self, name: str = "ap-1", before: str | None = "old", **payload: object) -> Held:
        path = self.data / "a"
        if before is not None:
            path.write_text(before)
        given = {"tool": "write", "path": str(path), "content": "new", "passage": None} | payload
        proposal = Proposal(
            "file.write",
            str(path),
            given,  # pyright: ignore[reportArgumentType]
            None if before is None else digest(before.encode()),
            HeldOrigin(role="resident"),
            "why",
            "",
        )
        return held_line(proposal, name, NOW)


async def test_what_was_there_before_is_kept_until_many_came_after(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    done = await bench.executions.run(bench.held(), NOW)
    assert (done.backup, done.error) == ("ap-1", None)  # pyright: ignore[reportAttributeAccessIssue]
    mark = bench.marks.of("ap-1")
    assert mark is not None
    assert bench.marks.before(mark) == b"old"
    for number in range(BACKUPS_KEPT):
        bench.marks.begin(bench.held(f"ap-2{number:03d}"), b"x")
    await bench.executions.run(bench.held("ap-3"), NOW)
    assert len(bench.marks.names()) == BACKUPS_KEPT
    assert bench.marks.of("ap-1") is None
    assert len(list(bench.marks.folder.iterdir())) == 2 * BACKUPS_KEPT


async def test_what_was_held_first_and_done_last_is_kept(tmp_path: Path) -> None:
    """The id tells when it was held; what was begun first goes first."""
    bench = Bench(tmp_path)
    for number in reversed(range(BACKUPS_KEPT)):
        bench.marks.begin(bench.held(f"ap-2{number:03d}"), b"x")
    (bench.marks.folder / "ap-0.json").write_text("torn")
    await bench.executions.run(bench.held("ap-1"), NOW)
    assert bench.executions.can_undo("ap-1")
    assert not bench.executions.can_undo(f"ap-2{BACKUPS_KEPT - 1:03d}")
    assert bench.executions.can_undo("ap-2000")
    await bench.executions.undo(bench.held("ap-1", before="new"))
    assert (bench.data / "a").read_text() == "old"


async def test_a_mark_from_before_places_were_counted_is_the_first_to_go(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for number in range(BACKUPS_KEPT):
        bench.marks.begin(bench.held(f"ap-2{number:03d}"), b"x")
    old = bench.marks.of("ap-2050")
    assert old is not None
    plain = msgspec.to_builtins(old)
    del plain["place"]
    (bench.marks.folder / "ap-2050.json").write_bytes(msgspec.json.encode(plain))
    await bench.executions.run(bench.held("ap-3"), NOW)
    assert not bench.executions.can_undo("ap-2050")
    assert len(bench.marks.names()) == BACKUPS_KEPT


async def test_a_disk_that_refuses_the_write_is_a_failure_and_changes_nothing(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, CrashDisk(Fault("write", errno=errno.ENOSPC)))
    failed = await bench.executions.run(bench.held(), NOW)
    assert isinstance(failed, Executed)
    assert "injected" in str(failed.error)
    assert (bench.data / "a").read_text() == "old"


async def test_a_failure_after_the_deed_is_no_failure(tmp_path: Path) -> None:
    bench = Bench(tmp_path, CrashDisk(Fault("sync", errno=errno.EIO, at=1)))
    done = await bench.executions.run(bench.held(), NOW)
    assert isinstance(done, Executed)
    assert (done.error, done.backup) == (None, "ap-1")
    assert "although there was an error" in done.result
    assert (bench.data / "a").read_text() == "new"


async def test_where_no_mark_can_be_made_nothing_is_done(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.marks.folder.write_text("no folder")
    failed = await bench.executions.run(bench.held(), NOW)
    assert isinstance(failed, Executed)
    assert failed.error
    assert (bench.data / "a").read_text() == "old"


async def test_what_changes_between_two_looks_is_left_alone(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    held = bench.held()
    writes = bench.executions.of("file.write")
    (bench.data / "a").write_text("mine")
    for attempt in (writes.before, writes.execute):
        with pytest.raises(NotAsHeldError):
            await attempt(held)
    (bench.data / "a").unlink()
    (bench.data / "a").symlink_to("/etc/passwd")
    for attempt in (writes.before, writes.execute):
        with pytest.raises(NotAsHeldError):
            await attempt(held)


class Racing(MemoryTargets):
    """Somebody is quicker between two looks; `back`: and puts it back."""

    back = False

    async def before(self, held: Held) -> bytes | None:
        before = self.texts[held.target]
        self.texts[held.target] = "mine"
        try:
            return await super().before(held)
        finally:
            if self.back:
                self.texts[held.target] = before


@pytest.mark.parametrize("back", [False, True])
async def test_one_that_was_quicker_is_not_overwritten(back: bool) -> None:
    targets = Racing({"a": "one"})
    targets.back = back
    executions = Executions({"file.write": targets}, MemoryMarks(targets))
    refused = await executions.run(held_line(targets.proposal("a", "two"), "ap-1", NOW), NOW)
    assert isinstance(refused, Refused)
    assert "changed since" in refused.reason
    assert targets.done == []


async def test_what_no_executor_can_read_is_none_that_was_held(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    garbled = bench.held(tool="format")
    refused = await bench.executions.run(garbled, NOW)
    assert isinstance(refused, Refused)
    assert "no FileWrite" in refused.reason
    other = bench.held(path="/etc/passwd")
    refused = await bench.executions.run(other, NOW)
    assert isinstance(refused, Refused)
    assert "its content is for /etc/passwd" in refused.reason
    stranger = msgspec.structs.replace(bench.held(), origin=HeldOrigin(role="probe"))
    refused = await bench.executions.run(stranger, NOW)
    assert isinstance(refused, Refused)
    assert "probe may not write there" in refused.reason
    assert (bench.data / "a").read_text() == "old"


async def test_a_kind_without_an_executor_is_nobodys(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with pytest.raises(TrustError, match="Nothing here can do"):
        await bench.executions.run(msgspec.structs.replace(bench.held(), action="run.ship"), NOW)


def test_the_innermost_granted_folder_counts() -> None:
    folders = (
        Folder(path="/d", writable=False),
        Folder(path="/d/w", writable=True),
        Folder(path="/d/w/r", writable=False),
    )
    assert covering(Path("/d/a"), folders) == folders[0]
    assert covering(Path("/d/w/a"), folders) == folders[1]
    assert covering(Path("/d/w/r/a"), folders) == folders[2]
    assert covering(Path("/dw/a"), folders) is None


async def test_a_folder_that_became_writable_or_was_taken_back_counts_as_it_is(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    bench.grant = WriteGrant(bench.grant.tools, (Folder(path=str(bench.data), writable=True),))
    assert isinstance(await bench.executions.run(bench.held(), NOW), Executed)
    bench.grant = WriteGrant(bench.grant.tools, ())
    assert isinstance(await bench.executions.run(bench.held("ap-2"), NOW), Refused)


async def test_undo_needs_what_was_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with pytest.raises(ConflictError, match="no longer kept"):
        await bench.executions.undo(bench.held())
