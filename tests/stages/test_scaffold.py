"""The scaffold on a real disk: seed 1, phase 1, and what else may befall the folder."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gnomon.disk import SYSTEM_DISK, Disk, SystemDisk
from gnomon.domain.errors import ScaffoldError
from gnomon.domain.instants import Millis
from gnomon.scaffold.contents import MAX_FILE_BYTES, MAX_FILES, MAX_PATH_BYTES
from gnomon.scaffold.defaults import packaged_defaults
from gnomon.scaffold.versions import Scaffold

PROMPT = "inner-loop-prompt.md"
DATA = Path(__file__).parents[2] / "src" / "gnomon" / "data" / "scaffold"
NOW = Millis(1_780_000_000_000)


class Bench:
    """A scaffold on disk, and fresh `Scaffold` objects on it (a restart each)."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "scaffold"
        self.versions = self.folder / ".versions"
        self.seen = root / "state" / "scaffold.json"

    def start(self, disk: Disk = SYSTEM_DISK) -> Scaffold:
        return Scaffold(self.folder, self.versions, self.seen, packaged_defaults(), disk)

    def kept(self) -> dict[str, bytes]:
        if not self.versions.exists():
            return {}
        return {p.name: p.read_bytes() for p in self.versions.iterdir() if p.name[0] != "."}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


# --- seed 1, phase 1: (a), (b), (c) ---------------------------------------------------------


def test_phase_1_a_missing_files_are_written_at_the_first_look(bench: Bench) -> None:
    assert not bench.folder.exists()
    state = bench.start().observe(NOW)
    assert {p.name for p in bench.folder.iterdir()} == set(packaged_defaults())
    assert state.changed
    assert state.version.startswith("000001-")
    assert state.problems == ()
    assert bench.kept() == {}


def test_phase_1_b_what_is_in_force_equals_what_is_on_the_disk(bench: Bench) -> None:
    state = bench.start().observe(NOW)
    on_disk = {p.name: p.read_text() for p in bench.folder.iterdir()}
    assert state.files == on_disk
    assert bench.start().observe(NOW).files == on_disk


def test_phase_1_c_the_prompt_equals_the_packaged_default_byte_for_byte(bench: Bench) -> None:
    bench.start().observe(NOW)
    for name in packaged_defaults():
        assert (bench.folder / name).read_bytes() == (DATA / name).read_bytes()


def test_the_readme_says_how_to_edit_by_hand(bench: Bench) -> None:
    bench.start().observe(NOW)
    readme = (bench.folder / "README.md").read_text()
    assert "`vi` a file, save it, and the next tick picks it up" in readme
    assert ".versions/" in readme
    assert "written anew from the default" in readme


# --- versions ----------------------------------------------------------------------------


class WatchingDisk(SystemDisk):
    """Tells `look` of each rename before it happens: that is when a file appears."""

    def __init__(self, look: Callable[[Path], None]) -> None:
        self._look = look

    def replace(self, source: Path, target: Path) -> None:
        self._look(target)
        super().replace(source, target)


def test_a_hand_edit_keeps_the_prior_content_before_it_takes_force(bench: Bench) -> None:
    appeared: list[tuple[str, bool]] = []

    def look(target: Path) -> None:
        appeared.append((target.parent.name, prior in bench.kept().values()))

    prior = b"nothing yet"
    scaffold = bench.start(WatchingDisk(look))
    first = scaffold.observe(NOW)
    prior = (bench.folder / PROMPT).read_bytes()
    appeared.clear()
    (bench.folder / PROMPT).write_text("typed by a hand")
    second = scaffold.observe(NOW)
    assert appeared == [(".versions", False), ("state", True)]
    assert second.changed
    assert second.files[PROMPT] == "typed by a hand"
    assert second.version.startswith("000002-")
    assert second.version > first.version
    (name,) = bench.kept()
    assert name.startswith("inner-loop-prompt.000001-0001-")
    assert name.endswith(".md")


def test_an_edit_made_while_stopped_is_noticed_at_start(bench: Bench) -> None:
    bench.start().observe(NOW)
    prior = (bench.folder / PROMPT).read_bytes()
    (bench.folder / PROMPT).write_text("edited offline")
    state = bench.start().observe(NOW)
    assert state.changed
    assert state.files[PROMPT] == "edited offline"
    assert prior in bench.kept().values()


def test_nothing_is_written_when_nothing_changed(bench: Bench) -> None:
    scaffold = bench.start()
    first = scaffold.observe(NOW)
    stamp = bench.seen.stat().st_mtime_ns
    second = scaffold.observe(NOW)
    again = bench.start().observe(NOW)
    assert (second.changed, again.changed) == (False, False)
    assert second.version == again.version == first.version
    assert bench.seen.stat().st_mtime_ns == stamp
    assert bench.kept() == {}


def test_of_hand_edits_between_two_ticks_the_last_counts(bench: Bench) -> None:
    scaffold = bench.start()
    scaffold.observe(NOW)
    for text in ("one", "two", "three"):
        (bench.folder / PROMPT).write_text(text)
    state = scaffold.observe(NOW)
    assert state.files[PROMPT] == "three"
    assert state.version.startswith("000002-")
    assert len(bench.kept()) == 1


def test_each_edit_through_gnomon_leaves_a_version(bench: Bench) -> None:
    scaffold = bench.start()
    scaffold.observe(NOW)
    default = (bench.folder / PROMPT).read_bytes()
    left = [scaffold.write(PROMPT, text) for text in ("one", "two", "one", "one")]
    assert left[-1] is None
    contents = [bench.kept()[name] for name in left if name]
    assert contents == [default, b"one", b"two"]
    assert sorted(n for n in left if n) == [n for n in left if n]
    state = scaffold.observe(NOW)
    assert state.files[PROMPT] == "one"
    assert state.version.startswith("000002-")
    assert (bench.folder / PROMPT).read_bytes() == b"one"


def test_a_write_takes_force_at_the_next_look_only(bench: Bench) -> None:
    scaffold = bench.start()
    before = scaffold.observe(NOW)
    scaffold.write(PROMPT, "new words")
    assert bench.seen.read_bytes().find(b"new words") == -1
    after = scaffold.observe(NOW)
    assert before.files[PROMPT] != "new words" == after.files[PROMPT]


def test_going_back_to_an_earlier_text_is_a_new_version(bench: Bench) -> None:
    scaffold = bench.start()
    first = scaffold.observe(NOW)
    original = (bench.folder / PROMPT).read_text()
    (bench.folder / PROMPT).write_text("other")
    scaffold.observe(NOW)
    (bench.folder / PROMPT).write_text(original)
    third = scaffold.observe(NOW)
    assert third.version.startswith("000003-")
    assert third.version.split("-")[1] == first.version.split("-")[1]


def test_a_file_that_vanished_is_rewritten_and_its_content_kept(bench: Bench) -> None:
    scaffold = bench.start()
    scaffold.observe(NOW)
    (bench.folder / PROMPT).write_text("mine")
    scaffold.observe(NOW)
    (bench.folder / PROMPT).unlink()
    state = scaffold.observe(NOW)
    assert state.files == packaged_defaults()
    assert (bench.folder / PROMPT).read_bytes() == (DATA / PROMPT).read_bytes()
    assert b"mine" in bench.kept().values()


def test_another_file_in_the_folder_counts_and_is_kept_when_it_vanishes(bench: Bench) -> None:
    scaffold = bench.start()
    first = scaffold.observe(NOW)
    (bench.folder / "sub").mkdir()
    (bench.folder / "sub" / "notes.md").write_text("note")
    second = scaffold.observe(NOW)
    assert second.changed
    assert second.version.split("-")[1] != first.version.split("-")[1]
    (bench.folder / "sub" / "notes.md").unlink()
    third = scaffold.observe(NOW)
    assert "sub/notes.md" not in third.files
    assert any(
        name.startswith("sub__notes.000002") and content == b"note"
        for name, content in bench.kept().items()
    )


def test_editors_files_change_nothing(bench: Bench) -> None:
    scaffold = bench.start()
    first = scaffold.observe(NOW)
    (bench.folder / f".{PROMPT}.swp").write_bytes(b"\0\xff")
    (bench.folder / f"{PROMPT}~").write_text("backup")
    second = scaffold.observe(NOW)
    assert not second.changed
    assert second.version == first.version


# --- what cannot come into force ------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        (PROMPT, b"good line\n\xff\xfe", 2),
        (PROMPT, b"", 1),
        (PROMPT, b"x" * (MAX_FILE_BYTES + 1), 0),
        ("antipattern-flags.json", b'{\n"hold_at_repeats": "three"\n}', 2),
        ("antipattern-flags.json", b"{", 1),
    ],
)
def test_a_bad_file_leaves_the_last_good_one_in_force(
    bench: Bench, name: str, content: bytes, line: int
) -> None:
    scaffold = bench.start()
    first = scaffold.observe(NOW)
    (bench.folder / name).write_bytes(content)
    second = scaffold.observe(NOW)
    assert not second.changed
    assert second.version == first.version
    assert second.files == first.files
    (problem,) = second.new_problems
    assert (problem.file, problem.line) == (name, line)
    third = scaffold.observe(NOW)
    assert third.problems == second.problems
    assert third.new_problems == ()
    assert (bench.folder / name).read_bytes() == content, "a human's file is not touched"
    (bench.folder / name).unlink()
    assert scaffold.observe(NOW).problems == ()


def test_a_bad_file_at_the_very_first_look_puts_the_default_in_force(bench: Bench) -> None:
    bench.folder.mkdir(parents=True)
    (bench.folder / PROMPT).write_bytes(b"\xff")
    state = bench.start().observe(NOW)
    assert state.files[PROMPT] == packaged_defaults()[PROMPT]
    assert [problem.file for problem in state.problems] == [PROMPT]


def test_a_name_may_be_in_any_script_but_must_be_printable(bench: Bench) -> None:
    scaffold = bench.start()
    scaffold.observe(NOW)
    (bench.folder / "größe.md").write_text("x")
    (bench.folder / "bad\udcff.md").write_text("x")
    (bench.folder / "bell\a.md").write_text("x")
    state = scaffold.observe(NOW)
    assert state.files["größe.md"] == "x"
    assert bench.start().observe(NOW).files == state.files
    assert [problem.file for problem in state.problems] == ["bad\\udcff.md", "bell\\x07.md"]
    (bench.folder / "größe.md").write_text("y")
    scaffold.observe(NOW)
    assert any(name.startswith("größe.000002") for name in bench.kept())


def test_a_name_too_long_for_its_versions_holds_up_no_other_file(bench: Bench) -> None:
    scaffold = bench.start()
    scaffold.observe(NOW)
    longest = "x" * (MAX_PATH_BYTES - 3) + ".md"
    (bench.folder / longest).write_text("a")
    (bench.folder / f"x{longest}").write_text("a")
    (bench.folder / PROMPT).write_text("Think.")
    state = scaffold.observe(NOW)
    assert state.files[PROMPT] == "Think."
    assert [problem.file for problem in state.problems] == [f"x{longest}"]
    (bench.folder / longest).write_text("b")
    assert scaffold.observe(NOW).files[longest] == "b"
    assert any(name.startswith(longest[:-3]) for name in bench.kept())


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_plain_file_is_refused_without_waiting(bench: Bench, kind: str) -> None:
    scaffold = bench.start()
    first = scaffold.observe(NOW)
    secret = bench.folder.parent / "secret"
    secret.write_text("outside")
    target = bench.folder / PROMPT
    target.unlink()
    match kind:
        case "link":
            target.symlink_to(secret)
        case "pipe":
            os.mkfifo(target)
        case _:
            target.mkdir()
    state = scaffold.observe(NOW)
    assert state.files == first.files
    assert not state.changed
    assert [problem.file for problem in state.problems] == [PROMPT]
    assert secret.read_text() == "outside"


def test_more_files_than_a_scaffold_may_hold_never_crowd_out_the_prompts(bench: Bench) -> None:
    scaffold = bench.start()
    scaffold.observe(NOW)
    for number in range(MAX_FILES):
        (bench.folder / f"0-{number}.md").write_text("x")
    state = scaffold.observe(NOW)
    assert set(packaged_defaults()) <= set(state.files)
    assert len(state.files) == MAX_FILES
    assert len(state.problems) == 4


def test_a_write_that_could_not_come_into_force_is_refused(bench: Bench) -> None:
    scaffold = bench.start()
    scaffold.observe(NOW)
    before = (bench.folder / PROMPT).read_bytes()
    for name, text in (
        (PROMPT, "  "),
        ("antipattern-flags.json", "{}"),
        ("../self-state.json", "x"),
        ("/etc/motd", "x"),
        (".versions/x.md", "x"),
        ("a/../b.md", "x"),
        ("", "x"),
    ):
        with pytest.raises(ScaffoldError):
            scaffold.write(name, text)
    assert (bench.folder / PROMPT).read_bytes() == before
    assert bench.kept() == {}


def test_a_write_over_what_cannot_be_kept_is_refused(bench: Bench) -> None:
    scaffold = bench.start()
    scaffold.observe(NOW)
    (bench.folder / PROMPT).write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    with pytest.raises(ScaffoldError, match="larger"):
        scaffold.write(PROMPT, "new")
    assert (bench.folder / PROMPT).stat().st_size == MAX_FILE_BYTES + 1


def test_a_write_keeps_a_humans_bad_file_too(bench: Bench) -> None:
    scaffold = bench.start()
    scaffold.observe(NOW)
    (bench.folder / PROMPT).write_bytes(b"\xff not text")
    scaffold.write(PROMPT, "new")
    assert b"\xff not text" in bench.kept().values()


# --- losses and refusals --------------------------------------------------------------------


def test_a_corrupt_seen_file_is_set_aside_and_numbers_go_on(bench: Bench) -> None:
    scaffold = bench.start()
    scaffold.observe(NOW)
    for text in ("one", "two"):
        (bench.folder / PROMPT).write_text(text)
        last = scaffold.observe(NOW)
    assert last.version.startswith("000003-")
    corrupt = bench.seen.read_bytes()[:-9]
    bench.seen.write_bytes(corrupt)
    state = bench.start().observe(NOW)
    assert state.version.startswith("000004-")
    assert state.files[PROMPT] == "two"
    assert [problem.file for problem in state.problems] == ["scaffold.json"]
    assert corrupt in bench.kept().values()


class FullDisk(SystemDisk):
    full = False

    def write(self, fd: int, data: bytes) -> int:
        if self.full:
            raise OSError(28, "No space left on device")
        return super().write(fd, data)


def test_a_disk_that_refuses_leaves_the_old_text_in_force(bench: Bench) -> None:
    disk = FullDisk()
    scaffold = bench.start(disk)
    first = scaffold.observe(NOW)
    (bench.folder / PROMPT).write_text("new")
    disk.full = True
    state = scaffold.observe(NOW)
    assert state.files == first.files
    assert not state.changed
    assert "No space left" in state.problems[-1].reason
    disk.full = False
    state = scaffold.observe(NOW)
    assert state.changed
    assert state.files[PROMPT] == "new"
    assert first.files[PROMPT].encode() in bench.kept().values()


def test_a_first_look_that_fails_is_an_error_with_its_place(bench: Bench) -> None:
    disk = FullDisk()
    disk.full = True
    with pytest.raises(ScaffoldError, match="cannot be set up"):
        bench.start(disk).observe(NOW)


def test_a_version_that_appears_meanwhile_is_never_overwritten(bench: Bench) -> None:
    scaffold = bench.start()
    first = scaffold.observe(NOW)
    (bench.folder / PROMPT).write_text("two")
    scaffold.observe(NOW)
    (name,) = bench.kept()
    rival = bench.versions / name.replace("000001-0001", "000002-0001")
    rival.write_text("someone else's")
    (bench.folder / PROMPT).write_text("three")
    scaffold.observe(NOW)
    assert rival.read_text() == "someone else's"
    assert b"two" in bench.kept().values()
    assert first.files[PROMPT].encode() in bench.kept().values()


def test_versions_cannot_be_written_by_accident(bench: Bench) -> None:
    scaffold = bench.start()
    scaffold.observe(NOW)
    scaffold.write(PROMPT, "two")
    (path,) = (p for p in bench.versions.iterdir() if not p.name.startswith("."))
    assert path.stat().st_mode & 0o222 == 0
