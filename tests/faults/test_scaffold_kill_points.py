"""Killed at every single disk call of a scaffold's changes, and after each kind of loss."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from gnomon.disk import SYSTEM_DISK, Disk
from gnomon.domain.instants import Millis
from gnomon.scaffold.defaults import packaged_defaults
from gnomon.scaffold.versions import Scaffold
from gnomon.testing.crash import POINTS_WHEN, CrashDisk, Kill, Killed

NOW = Millis(1_780_000_000_000)
PROMPT = "inner-loop-prompt.md"
DEFAULT = packaged_defaults()[PROMPT]


def scaffold(root: Path, disk: Disk = SYSTEM_DISK) -> Scaffold:
    folder = root / "scaffold"
    return Scaffold(folder, folder / ".versions", root / "seen.json", packaged_defaults(), disk)


def first_look(_root: Path, texts: Scaffold) -> None:
    texts.observe(NOW)


def hand_edit(root: Path, texts: Scaffold) -> None:
    (root / "scaffold" / PROMPT).write_text("by hand")
    texts.observe(NOW)


def edit_through_gnomon(_root: Path, texts: Scaffold) -> None:
    texts.write(PROMPT, "by hand")
    texts.observe(NOW)


def deletion(root: Path, texts: Scaffold) -> None:
    (root / "scaffold" / PROMPT).write_text("by hand")
    texts.observe(NOW)
    (root / "scaffold" / PROMPT).unlink()
    texts.observe(NOW)


Step = Callable[[Path, Scaffold], None]


def prepared(root: Path, step: Step) -> None:
    if step is not first_look:
        scaffold(root).observe(NOW)


@pytest.mark.parametrize("step", [first_look, hand_edit, edit_through_gnomon, deletion])
def test_no_content_and_no_number_is_lost_at_any_kill(step: Step, tmp_path: Path) -> None:
    clean = CrashDisk()
    (tmp_path / "clean").mkdir()
    prepared(tmp_path / "clean", step)
    step(tmp_path / "clean", scaffold(tmp_path / "clean", clean))
    assert len(clean.points) >= 8
    for at in range(len(clean.points)):
        for when in POINTS_WHEN:
            root = tmp_path / f"{at}-{when}"
            root.mkdir()
            prepared(root, step)
            disk = CrashDisk(Kill(at, when))
            with contextlib.suppress(Killed):
                step(root, scaffold(root, disk))
            assert disk.dead, (at, when)
            disk.abandon()
            check(root, step, f"{at} {when} {clean.points[at]}")


def check(root: Path, step: Step, where: str) -> None:
    after = scaffold(root).observe(NOW)
    on_disk = {p.name: p.read_text() for p in (root / "scaffold").glob("[!.]*")}
    kept = [p.read_text() for p in (root / "scaffold" / ".versions").glob("[!.]*")]
    assert after.files == on_disk, where
    assert after.problems == (), where
    if after.files[PROMPT] == "by hand":
        assert DEFAULT in kept, where
    if step is deletion and after.version.startswith("000003"):
        assert "by hand" in kept, where
    assert len(kept) == len(set(kept)), f"a version stands twice: {where}"
    again = scaffold(root).observe(NOW)
    assert not again.changed, where
    assert again.version == after.version, where
