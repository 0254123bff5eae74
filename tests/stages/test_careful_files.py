"""One file in somebody else's folder: read, replaced and taken away without following a link, and
not when it is another than was looked at.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gnomon.approvals import careful_files
from gnomon.approvals.careful_files import ChangedError, UnfitTargetError, look, remove, replace
from gnomon.approvals.file_payload import MOST_BYTES, digest
from gnomon.disk import SYSTEM_DISK, SystemDisk

OLD, NEW = b"old\n", b"new\n"


class Meddling(SystemDisk):
    """Somebody does something at the first sync: when the new content is written, and before it
    is put in its place.
    """

    def __init__(self, meddle: Callable[[], object]) -> None:
        self._meddle: Callable[[], object] | None = meddle

    def sync(self, fd: int) -> None:
        meddle, self._meddle = self._meddle, None
        if meddle is not None:
            meddle()
        super().sync(fd)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_read_whole_and_none_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(OLD)
    assert look(tmp_path / "a") == OLD
    assert look(tmp_path / "b") is None
    assert look(tmp_path / "no" / "such" / "folder") is None


def test_what_is_no_regular_file_of_a_bearable_size_is_not_looked_at(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(OLD)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "linked").symlink_to(tmp_path / "folder")
    (tmp_path / "big").write_bytes(b"x" * (MOST_BYTES + 1))
    for name, reason in {
        "pipe": "no regular file",
        "folder": "no regular file",
        "link": "no regular file",
        "linked/a": "behind a link",
        "file/a": "no folder",
        "big": "larger than anybody looks through",
        "x" * 300: "cannot be looked at: file name too long",
    }.items():
        with pytest.raises(UnfitTargetError, match=reason):
            look(tmp_path / name)


def test_a_file_is_replaced_at_once_and_stays_what_it_was_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(OLD)
    path.chmod(0o4751)
    replace(path, NEW, digest(OLD), "m", SYSTEM_DISK)
    assert (path.read_bytes(), path.stat().st_mode & 0o7777) == (NEW, 0o751)
    assert names(tmp_path) == ["a"]


@pytest.mark.root
def test_it_stays_its_owners(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(OLD)
    os.chown(path, 65_533, 65_532)
    replace(path, NEW, digest(OLD), "m", SYSTEM_DISK)
    assert (path.stat().st_uid, path.stat().st_gid) == (65_533, 65_532)


def test_an_owner_that_cannot_be_kept_keeps_nothing_from_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(OLD)

    def not_ours(*_: object) -> None:
        raise PermissionError(errno.EPERM, "not ours")

    monkeypatch.setattr(os, "fchown", not_ours)
    seen = careful_files.Seen(OLD, 0o600, 12_345, 12_345)
    monkeypatch.setattr(careful_files, "_seen", lambda *_: seen)
    replace(path, NEW, digest(OLD), "m", SYSTEM_DISK)
    assert path.read_bytes() == NEW


def test_a_new_file_is_made_with_the_folders_that_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "x" / "y" / "a"
    replace(path, NEW, None, "m", SYSTEM_DISK)
    assert path.read_bytes() == NEW
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    assert names(path.parent) == ["a"]


@pytest.mark.parametrize("code", [errno.EPERM, errno.EIO])
def test_a_disk_without_hard_links_takes_a_new_file_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise OSError(code, "no")

    monkeypatch.setattr(os, "link", no_links)
    if code == errno.EPERM:
        replace(tmp_path / "a", NEW, None, "m", SYSTEM_DISK)
        assert names(tmp_path) == ["a"]
    else:
        with pytest.raises(OSError, match="no"):
            replace(tmp_path / "a", NEW, None, "m", SYSTEM_DISK)
        assert names(tmp_path) == []


def test_another_file_than_was_looked_at_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(OLD)
    for expected in (None, digest(NEW)):
        with pytest.raises(ChangedError) as caught:
            replace(path, NEW, expected, "m", SYSTEM_DISK)
        assert caught.value.found == digest(OLD)
    with pytest.raises(ChangedError):
        remove(path, digest(NEW), SYSTEM_DISK)
    with pytest.raises(ChangedError):
        remove(tmp_path / "gone", digest(OLD), SYSTEM_DISK)
    with pytest.raises(ChangedError):
        remove(tmp_path / "no" / "folder", digest(OLD), SYSTEM_DISK)
    with pytest.raises(FileNotFoundError):
        replace(tmp_path / "no" / "folder", NEW, digest(OLD), "m", SYSTEM_DISK)
    assert (path.read_bytes(), names(tmp_path)) == (OLD, ["a"])


def test_an_edit_at_the_last_moment_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(OLD)
    with pytest.raises(ChangedError):
        replace(path, NEW, digest(OLD), "m", Meddling(lambda: path.write_text("mine")))
    assert (path.read_text(), names(tmp_path)) == ("mine", ["a"])


def test_a_file_that_was_made_at_the_last_moment_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, link = tmp_path / "a", os.link
    with pytest.raises(ChangedError):
        replace(path, NEW, None, "m", Meddling(lambda: path.write_text("mine")))

    def later(*given: str, **more: int) -> None:
        path.write_text("mine")
        link(*given, **more)

    path.unlink()
    monkeypatch.setattr(os, "link", later)
    with pytest.raises(ChangedError) as caught:
        replace(path, NEW, None, "m", SYSTEM_DISK)
    assert caught.value.found == digest(b"mine")
    assert (path.read_text(), names(tmp_path)) == ("mine", ["a"])


def test_a_folder_that_is_moved_away_meanwhile_takes_the_write_with_it(tmp_path: Path) -> None:
    """What was opened is written, and not what now has its name."""
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "a").write_bytes(OLD)
    (outside / "a").write_bytes(OLD)

    def swap() -> None:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(outside)

    replace(folder / "a", NEW, digest(OLD), "m", Meddling(swap))
    assert (outside / "a").read_bytes() == OLD
    assert (tmp_path / "moved" / "a").read_bytes() == NEW


def test_a_file_is_taken_away_when_it_is_the_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(OLD)
    remove(path, digest(OLD), SYSTEM_DISK)
    assert names(tmp_path) == []


def test_what_a_crash_left_is_taken_away_and_never_in_the_way(tmp_path: Path) -> None:
    path, left = tmp_path / "a", tmp_path / ".a.m.tmp"
    left.write_text("half")
    replace(path, NEW, None, "m", SYSTEM_DISK)
    assert names(tmp_path) == ["a"]
    left.write_text("half")
    careful_files.clear(path, "other")
    assert names(tmp_path) == [".a.m.tmp", "a"]
    careful_files.clear(path, "m")
    careful_files.clear(tmp_path / "no" / "folder", "m")
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("code", [errno.EINVAL, errno.EIO])
def test_a_folder_that_cannot_be_synced_is_a_fault_unless_none_can(
    tmp_path: Path, code: int
) -> None:
    class NoFolders(SystemDisk):
        def sync(self, fd: int) -> None:
            if os.path.isdir(f"/proc/self/fd/{fd}"):
                raise OSError(code, "no")

    def write() -> None:
        replace(tmp_path / "a", NEW, None, "m", NoFolders())

    if code == errno.EINVAL:
        write()
    else:
        with pytest.raises(OSError, match="no"):
            write()
    assert (tmp_path / "a").read_bytes() == NEW
