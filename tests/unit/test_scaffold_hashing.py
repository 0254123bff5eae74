"""Names of versions: they sort, hold no colon, cannot collide."""

import pytest

from gnomon.domain.errors import ScaffoldError
from gnomon.scaffold.contents import (
    MAX_FILE_BYTES,
    MAX_PATH_BYTES,
    ScaffoldProblem,
    Unreadable,
    accept,
    belongs,
    check_name,
    settle,
)
from gnomon.scaffold.flags import FLAGS_FILE
from gnomon.scaffold.hashing import (
    folder_sha256,
    last_activation,
    snapshot_count,
    snapshot_name,
    snapshots,
    snapshots_of,
    version_name,
)

FLAGS = '{"sharpened_next_step": "Name it: {subject}"}'


def test_the_hash_covers_every_path_and_every_byte() -> None:
    whole = folder_sha256({"a.md": "one", "b.md": "two"})
    assert whole != folder_sha256({"a.md": "one"})
    assert whole != folder_sha256({"a.md": "one", "b.md": "two "})
    assert whole != folder_sha256({"a.md": "one", "c.md": "two"})
    assert whole == folder_sha256({"b.md": "two", "a.md": "one"})


def test_version_names_sort_by_activation() -> None:
    names = [version_name(number, {"a.md": str(number)}) for number in range(1, 1200)]
    assert names == sorted(names)
    assert len(set(names)) == len(names)


def test_a_stray_name_is_no_snapshot() -> None:
    assert snapshot_count("README.md") == 0
    assert last_activation([]) == 0
    assert snapshots(["README.md"], ["README.md"]) == []


def test_what_editors_leave_is_not_part_of_the_scaffold() -> None:
    assert belongs("inner-loop-prompt.md")
    assert belongs("sub/notes.md")
    for leftover in (".versions/x.md", ".a.md.swp", "a.md~", "#a.md#", "sub/.hidden", ""):
        assert not belongs(leftover)


def test_a_file_that_cannot_be_used_is_named_with_its_line() -> None:
    assert accept("notes.md", b"one\ntwo\n\xff") == ScaffoldProblem("notes.md", 3, "not UTF-8")
    assert accept("inner-loop-prompt.md", b" \n") == ScaffoldProblem(
        "inner-loop-prompt.md", 1, "an empty prompt"
    )
    huge = accept("notes.md", b"x" * (MAX_FILE_BYTES + 1))
    assert isinstance(huge, ScaffoldProblem)
    assert "larger" in huge.reason
    assert accept("README.md", b"") == ""


def test_corrupt_flags_are_named_with_their_line() -> None:
    lines = {
        '{\n  "hold_at_repeats": 3,\n  oops\n}': 3,
        '{\n  "sharpened_next_step": "x",\n  "hold_at_repeats": 0\n}': 3,
        '{\n  "sharpened_next_step": "x",\n\n  "unknown": 0\n}': 4,
        "{}": 1,
        "[]": 1,
    }
    for text, line in lines.items():
        verdict = accept(FLAGS_FILE, text.encode())
        assert isinstance(verdict, ScaffoldProblem), text
        assert verdict.line == line, (text, verdict)
    assert accept(FLAGS_FILE, FLAGS.encode()) == FLAGS


def test_the_last_good_content_stays_in_force_and_else_the_default() -> None:
    found = {"inner-loop-prompt.md": b"\xff", "README.md": b"new", "stray.bin": b"\xff"}
    in_force = {"README.md": "old"}
    defaults = {"inner-loop-prompt.md": "default"}
    settled = settle(found, in_force, defaults)
    assert settled.files == {"inner-loop-prompt.md": "default", "README.md": "new"}
    assert [problem.file for problem in settled.problems] == ["inner-loop-prompt.md", "stray.bin"]
    again = settle(found, {"inner-loop-prompt.md": "mine"}, defaults)
    assert again.files["inner-loop-prompt.md"] == "mine"


def test_snapshots_of_one_file_under_one_activation_are_found_in_their_order() -> None:
    names = [snapshot_name("a.md", 7, count, b"x") for count in (10, 2, 1)]
    others = [snapshot_name("b.md", 7, 1, b"x"), snapshot_name("a.md", 8, 1, b"x"), "a.md"]
    assert snapshots_of("a.md", 7, names + others) == names[::-1]
    assert snapshot_count(names[0]) == 10
    assert last_activation(names + others) == 8
    assert snapshot_name("sub/c.md", 1, 1, b"") == "sub__c.000001-0001-e3b0c44298fc.md"


@pytest.mark.parametrize(
    "path", ["../a.md", "/a.md", "a/../b.md", "a//b.md", "./a.md", "a\\b", "a\0b", "", ".", "x~"]
)
def test_a_path_that_leaves_the_scaffold_is_refused(path: str) -> None:
    with pytest.raises(ScaffoldError):
        check_name(path)


def test_a_path_is_as_long_as_its_versions_names_allow() -> None:
    longest = "ß" * (MAX_PATH_BYTES // 2)
    check_name(longest)
    with pytest.raises(ScaffoldError, match="longer than 160 bytes"):
        check_name(longest + "x")


def test_a_plain_path_is_taken() -> None:
    check_name("inner-loop-prompt.md")
    check_name("sub/größe.md")


def test_what_cannot_be_read_leaves_the_last_good_content_in_force() -> None:
    settled = settle(
        {"a.md": Unreadable("a link"), "b.md": Unreadable("a link")}, {"a.md": "x"}, {}
    )
    assert settled.files == {"a.md": "x"}
    assert [problem.reason for problem in settled.problems] == ["a link", "a link"]
