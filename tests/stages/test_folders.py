"""`folders add|list|remove` on a real disk, with a made-up home."""

import os
from pathlib import Path

import pytest

from gnomon.brokers.folder_rules import Machine
from gnomon.brokers.folders import LOOK_ENTRIES, Folders, this_machine
from gnomon.domain.errors import StateError, UsageError
from gnomon.domain.views import Folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("home/ann/.ssh", "home/ann/project/src", "home/ann/.gnomon/agents", "other"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


@pytest.fixture
def kept(root: Path) -> Path:
    return root / "home/ann/.gnomon/state/folders.json"


@pytest.fixture
def folders(root: Path, kept: Path) -> Folders:
    home = root / "home/ann"
    machine = Machine(gnomon_home=home / ".gnomon", homes=(home,), keys=(home / ".ssh",))
    return Folders(kept, lambda: machine)


def test_a_grant_is_for_reading_unless_said_otherwise(folders: Folders, root: Path):
    project = str(root / "home/ann/project")
    assert folders.add(project) == Folder(path=project, writable=False)
    assert folders.list() == (Folder(path=project, writable=False),)
    folders.add(project + "/", writable=True)
    assert folders.list() == (Folder(path=project, writable=True),)
    assert folders.in_force() == folders.list()


def test_a_grant_outlives_the_process(folders: Folders, root: Path, kept: Path):
    folders.add(str(root / "other"))
    again = Folders(kept, lambda: this_machine(root / "elsewhere"))
    assert again.list() == folders.list()


def test_grants_are_listed_in_the_order_of_their_paths(folders: Folders, root: Path):
    folders.add(str(root / "other"))
    folders.add(str(root / "home/ann/project"))
    assert [f.path for f in folders.list()] == sorted(f.path for f in folders.list())


def test_a_grant_is_taken_back_by_any_of_its_names(folders: Folders, root: Path):
    (root / "link").symlink_to(root / "other")
    folders.add(str(root / "other"))
    assert folders.remove(str(root / "link")).path == str(root / "other")
    assert folders.list() == ()
    with pytest.raises(UsageError, match="is not granted"):
        folders.remove(str(root / "other"))


def test_a_folder_that_is_gone_can_still_be_taken_back(folders: Folders, root: Path):
    folders.add(str(root / "other"))
    (root / "other").rmdir()
    assert folders.in_force() == ()
    folders.remove(str(root / "other"))
    assert folders.list() == ()


@pytest.mark.parametrize("path", ["home/ann", "home", "home/ann/.ssh", "home/ann/.gnomon"])
def test_home_keys_and_gnomons_own_home_are_refused(folders: Folders, root: Path, path: str):
    with pytest.raises(UsageError, match="cannot be granted"):
        folders.add(str(root / path))
    assert folders.list() == ()


def test_a_link_to_what_is_refused_is_refused_under_its_real_name(folders: Folders, root: Path):
    (root / "innocent").symlink_to(root / "home/ann/.ssh")
    with pytest.raises(UsageError, match=r"innocent \(.*/\.ssh\)"):
        folders.add(str(root / "innocent"))


def test_keys_inside_a_folder_are_met_and_refused(folders: Folders, root: Path):
    (root / "other/backup/.gnupg").mkdir(parents=True)
    with pytest.raises(UsageError, match="holds keys"):
        folders.add(str(root / "other"))


def test_a_huge_folder_is_looked_through_in_bounded_time(folders: Folders, root: Path):
    for number in range(LOOK_ENTRIES + 10):
        (root / f"other/{number:05}").touch()
    (root / "other/zz/.ssh").mkdir(parents=True)
    assert folders.add(str(root / "other"))


def test_a_folder_replaced_by_a_link_since_grants_nothing(folders: Folders, root: Path):
    folders.add(str(root / "other"))
    (root / "other").rmdir()
    (root / "other").symlink_to(root / "home/ann/.ssh")
    assert folders.in_force() == ()
    assert folders.list()


@pytest.mark.parametrize("path", ["relative", "", "a\0b", "/a\0b"])
def test_a_path_must_be_whole(folders: Folders, path: str):
    with pytest.raises(UsageError, match="whole path"):
        folders.add(path)


def test_a_file_or_nothing_is_no_folder(folders: Folders, root: Path):
    (root / "file").touch()
    for name in ("file", "nothing"):
        with pytest.raises(UsageError, match="is not a folder") as refused:
            folders.add(str(root / name))
        assert refused.value.next_step == "Name one that is there, or make it first."


def test_the_root_is_named_once(folders: Folders):
    with pytest.raises(UsageError, match=r"^/ cannot be granted"):
        folders.add("/")


@pytest.mark.parametrize("data", [b"{", b"\xff", b'{"folders":[{"path":1}]}', b'{"more":1}'])
def test_a_damaged_list_grants_nothing_and_is_said(folders: Folders, kept: Path, data: bytes):
    kept.parent.mkdir()
    kept.write_bytes(data)
    assert folders.in_force() == ()
    with pytest.raises(StateError, match=r"folders\.json"):
        folders.list()


def test_this_machine_knows_its_users_home_and_resolves_links(
    root: Path, monkeypatch: pytest.MonkeyPatch
):
    home = root / "home/ann"
    (root / "moved").symlink_to(home)
    monkeypatch.setenv("HOME", str(root / "moved"))
    machine = this_machine(root / "moved/.gnomon")
    assert machine.gnomon_home == home / ".gnomon"
    assert home in machine.homes
    assert home / ".ssh" in machine.keys
    assert Path("/") not in machine.homes or os.path.expanduser("~root") == "/"
