"""What a held write shows: all of the file as it would be, and how that differs."""

import random

import pytest

from gnomon.agent.outcome import ToolFaultError
from gnomon.agent.passages import passage_replaced
from gnomon.approvals.file_payload import (
    MOST_BYTES,
    Passage,
    digest,
    drafted,
    payload_of,
    plain_payload,
    redrafted,
    reworded,
)
from gnomon.domain.errors import RecordError
from gnomon.domain.unified_diff import COMPARED, counted, unified


def body(diff: str) -> list[str]:
    return diff.split("\n")[2:-1]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("a\nb\n", "a\nc\n", ["@@ -1,2 +1,2 @@", " a", "-b", "+c"]),
        ("a\n", "a\nb\n", ["@@ -1,1 +1,2 @@", " a", "+b"]),
        ("a\nb\n", "b\n", ["@@ -1,2 +1,1 @@", "-a", " b"]),
        ("a\n", "a", ["@@ -1,1 +1,1 @@", "-a", "+a", "\\ No newline at end of file"]),
        ("a\r\n", "a\n", ["@@ -1,1 +1,1 @@", "-a\r", "+a"]),
        ("a", "", ["@@ -1,1 +0,0 @@", "-a", "\\ No newline at end of file"]),
    ],
)
def test_a_difference_shows_all_that_differs(before: str, after: str, shown: list[str]) -> None:
    diff = unified(before, after, "/d/a.md")
    assert diff.startswith("--- /d/a.md\n+++ /d/a.md\n@@")
    assert body(diff) == shown


def test_equal_texts_have_none_but_a_new_empty_file_is_named() -> None:
    assert unified("a\n", "a\n", "a") == ""
    assert unified("", "", "a", is_new=True) == "--- /dev/null\n+++ a\n"
    assert body(unified("", "x\n", "a", is_new=True)) == ["@@ -0,0 +1,1 @@", "+x"]


def applied(before: str, diff: str) -> str:
    """Apply a diff as a reader would: what is taken out and left is looked for, in order."""
    old, new, at = before.split("\n"), [], 0
    for row in body(diff):
        if row.startswith("@@"):
            start, count = map(int, row.split(" ")[1][1:].split(","))
            first = start - 1 if count else start
            new += old[at:first]
            at = first
        elif row.startswith(("-", " ")):
            assert old[at] == row[1:]
            new += [row[1:]] if row[0] == " " else []
            at += 1
        else:
            new.append(row[1:])
    return "\n".join([*new, *old[at:]])


@pytest.mark.parametrize("seed", range(60))
def test_a_difference_leads_from_the_one_text_to_the_other(seed: int) -> None:
    chance = random.Random(seed)
    lines = [f"{chance.randint(0, 6)}\n" for _ in range(chance.randint(0, 60))]
    changed = list(lines)
    for _ in range(chance.randint(1, 6)):
        at = chance.randint(0, len(changed))
        changed[at : at + chance.randint(0, 3)] = [f"n{chance.randint(0, 9)}\n"] * chance.randint(
            0, 3
        )
    before, after = "".join(lines), "".join(changed)
    diff = unified(before, after, "a")
    assert applied(before, diff) == after if diff else before == after


def test_texts_that_are_hard_to_compare_are_shown_as_one_block() -> None:
    many = int(COMPARED**0.5) + 1
    before = "same\n" + "".join(f"a{n}\n" for n in range(many)) + "end\n"
    after = "same\n" + "".join(f"b{n}\n" for n in range(many)) + "end\n"
    diff = unified(before, after, "a")
    assert counted(diff) == (many, many)
    assert applied(before, diff) == after


def test_a_passage_is_replaced_where_it_stands_once() -> None:
    assert passage_replaced(b"a\nb\nc\n", "b", "B", "f") == (b"a\nB\nc\n", 2)
    assert passage_replaced(b"a\r\nb\r\n", "a\nb", "x\ny", "f") == (b"x\r\ny\r\n", 1)
    with pytest.raises(ToolFaultError, match="does not stand in f"):
        passage_replaced(b"a", "b", "c", "f")
    with pytest.raises(ToolFaultError, match="stands 2 times in f"):
        passage_replaced(b"a a", "a", "c", "f")


def test_a_draft_holds_the_whole_file_as_it_would_be() -> None:
    draft = drafted("/d/a", b"one\ntwo\n", passage=Passage(old="two", new="2"))
    assert (draft.payload.content, draft.payload.tool) == ("one\n2\n", "edit")
    assert draft.before_sha256 == digest(b"one\ntwo\n")
    new = drafted("/d/a", None, content="x\ud800")
    assert (new.payload.content, new.before_sha256, new.payload.data) == ("x?", None, b"x?")
    assert new.diff.startswith("--- /dev/null\n")
    assert drafted("/d/a", b"x", content="x").changes_nothing
    assert not drafted("/d/a", None, content="").changes_nothing
    assert payload_of(plain_payload(draft.payload)) == draft.payload


def test_an_edit_is_made_anew_by_its_passage_and_a_write_by_its_text() -> None:
    edit = drafted("/d/a", b"two\n", passage=Passage(old="two", new="2")).payload
    assert redrafted(edit, b"zero\ntwo\n").payload.content == "zero\n2\n"
    write = drafted("/d/a", b"two\n", content="all\n").payload
    assert redrafted(write, b"zero\n").payload == write


def test_a_text_of_the_operators_is_no_passage_and_keeps_the_tool() -> None:
    edit = drafted("/d/a", b"two\n", passage=Passage(old="two", new="2")).payload
    mine = reworded(edit, b"two\n", "mine\n")
    assert (mine.payload.content, mine.payload.passage, mine.payload.tool) == (
        "mine\n", None, "edit"
    )  # fmt: skip
    assert body(mine.diff) == ["@@ -1,1 +1,1 @@", "-two", "+mine"]
    assert redrafted(mine.payload, b"zero\n").payload == mine.payload


@pytest.mark.parametrize(
    ("before", "content", "code"),
    [
        (b"x" * (MOST_BYTES + 1), "x", "TOO_LARGE"),
        (None, "x" * (MOST_BYTES + 1), "TOO_LARGE"),
        (b"\xff\xfe", "x", "BINARY"),
        (b"a\0b", "x", "BINARY"),
        (None, "a\0b", "BINARY"),
    ],
)
def test_what_nobody_could_look_through_is_refused(
    before: bytes | None, content: str, code: str
) -> None:
    with pytest.raises(ToolFaultError) as caught:
        drafted("/d/a", before, content=content)
    assert caught.value.code == code


@pytest.mark.parametrize("name", ["a\n+++ b", "a\u202eb", "a\x1b[2Jb", "a\udcffb", "a\tb"])
def test_a_name_that_could_pass_for_another_is_refused(name: str) -> None:
    with pytest.raises(ToolFaultError, match="cannot be shown") as caught:
        drafted(f"/d/{name}", None, content="x")
    assert caught.value.code == "DENIED"
    assert caught.value.reason.isprintable()


def test_there_is_nothing_to_edit_in_no_file_and_no_payload_in_other_fields() -> None:
    with pytest.raises(ToolFaultError, match="no such file"):
        drafted("/d/a", None, passage=Passage(old="a", new="b"))
    with pytest.raises(RecordError):
        payload_of({"path": "/d/a"})
