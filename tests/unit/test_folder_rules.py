"""Which folders are never granted."""

from pathlib import Path

import pytest

from gnomon.brokers.folder_rules import SHARED_ROOTS, SYSTEM_TREES, Machine, refusal

MACHINE = Machine(
    gnomon_home=Path("/home/ann/.local/share/gnomon"),
    homes=(Path("/home/ann"), Path("/data/bob"), Path("/root")),
    keys=(
        Path("/home/ann/.ssh"),
        Path("/home/ann/.config/gcloud"),
        Path("/vault/ann-gnupg"),
    ),
)


@pytest.mark.parametrize(
    "path",
    [
        "/home/ann/projects",
        "/home/ann/.config/nvim",
        "/data/site",
        "/opt/tool",
        "/tmp/x",
        "/srv/www",
    ],
)
def test_an_ordinary_folder_can_be_granted(path: str):
    assert refusal(Path(path), MACHINE) is None


@pytest.mark.parametrize("path", [*SHARED_ROOTS, *SYSTEM_TREES])
def test_system_roots_are_refused(path: Path):
    assert refusal(path, MACHINE) is not None


@pytest.mark.parametrize("path", ["/etc/ssl", "/usr/local/share", "/proc/self", "/var/lib/x"])
def test_what_lies_in_the_systems_own_folders_is_refused(path: str):
    assert refusal(Path(path), MACHINE) == "belongs to the system"


@pytest.mark.parametrize("path", ["/home/ann", "/data/bob", "/data", "/root"])
def test_a_whole_home_and_what_holds_one_are_refused(path: str):
    reason = refusal(Path(path), MACHINE)
    assert reason is not None
    assert "home" in reason or "shared" in reason


@pytest.mark.parametrize(
    "path",
    [
        "/home/ann/.local/share/gnomon",
        "/home/ann/.local/share/gnomon/agents/a/workspace",
        "/home/ann/.local/share",
        "/home/ann/.local",
    ],
)
def test_gnomons_own_home_and_its_parents_are_refused(path: str):
    assert "Gnomon's own home" in str(refusal(Path(path), MACHINE))


@pytest.mark.parametrize(
    "path",
    [
        "/home/ann/.ssh",
        "/home/ann/.ssh/old",
        "/home/ann/.config",
        "/home/ann/.config/gcloud/x",
        "/vault",
        "/vault/ann-gnupg",
        "/backup/.ssh",
        "/backup/.gnupg/x",
    ],
)
def test_keys_and_what_holds_them_are_refused(path: str):
    assert "keys" in str(refusal(Path(path), MACHINE))


def test_a_folder_in_which_keys_were_met_is_refused():
    found = (Path("/backup/ann/.ssh"),)
    assert refusal(Path("/backup"), MACHINE, found) == "holds keys (.ssh)"
    assert refusal(Path("/backup/site"), MACHINE, found) is None
