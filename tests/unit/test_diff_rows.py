"""A difference as a page shows it: the words that differ are marked, and nothing is lost."""

import difflib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.domain.unified_diff import unified
from gnomon.gateway.dashboard.diff_rows import (
    LONGEST,
    SHOWN,
    SHOWN_AT_ONCE,
    WORK,
    DiffRow,
    Piece,
    diff_rows,
)


def text(row: DiffRow) -> str:
    return "".join(piece.text for piece in row.pieces)


def marked(row: DiffRow) -> list[str]:
    return [piece.text for piece in row.pieces if piece.differs]


def test_the_words_that_differ_are_marked_on_both_sides():
    old = "Head.\nSay at most three sentences of what you saw.\n"
    new = "Head.\nSay at most two sentences of what you saw.\n"
    same, removed, added = diff_rows(unified(old, new, "p.md"))
    assert (same.kind, removed.kind, added.kind) == ("same", "removed", "added")
    assert marked(removed) == ["three"]
    assert marked(added) == ["two"]
    assert text(removed) == "Say at most three sentences of what you saw."


def test_small_words_between_two_that_differ_are_marked_with_them():
    old, new = "Keep the old and tired phrase here.\n", "Keep the new and fresh phrase here.\n"
    [removed, added] = diff_rows(unified(old, new, "p.md"))
    assert marked(removed) == ["old and tired"]
    assert marked(added) == ["new and fresh"]


def test_lines_that_have_nothing_in_common_are_not_compared():
    removed, added = diff_rows(unified("Alpha beta gamma.\n", "Nothing like it!\n", "p.md"))
    assert removed.pieces == (Piece("Alpha beta gamma."),)
    assert added.pieces == (Piece("Nothing like it!"),)


def test_a_very_long_line_is_shown_and_not_compared():
    long = "word " * (LONGEST + 1)
    removed, added = diff_rows(unified(f"{long}a\n", f"{long}b\n", "p.md"))
    assert marked(removed) == marked(added) == []


def test_lines_that_only_came_or_went_stand_alone():
    rows = diff_rows(unified("a\nb\n", "a\nb\nnew\n\n", "p.md"))
    assert [(row.kind, text(row)) for row in rows if row.kind == "added"] == [
        ("added", "new"),
        ("added", ""),
    ]
    rows = diff_rows(unified("a\nb\nlast\n", "a\nb\n", "p.md"))
    assert [(row.kind, text(row)) for row in rows][-1] == ("removed", "last")


def test_what_is_left_out_between_is_one_row():
    middle = "same\n" * 20
    rows = diff_rows(unified(f"a\n{middle}b\n", f"A\n{middle}B\n", "p.md"))
    assert [row.kind for row in rows].count("skip") == 1


def test_lines_that_look_like_a_head_are_lines():
    rows = diff_rows(unified("x\n-- a\n++ b\n", "x\n", "p.md"))
    assert [text(row) for row in rows if row.kind == "removed"] == ["-- a", "++ b"]


def test_nothing_makes_no_rows():
    assert diff_rows("") == []
    assert diff_rows("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n") == [
        DiffRow("removed", (Piece("a"),)),
        DiffRow("added", (Piece("b"),)),
    ]


def test_what_cannot_be_seen_is_shown_and_marked():
    diff = unified('pay("alice")\n', 'pay("\u202ealice\u2066\u200b")\n', "p.py")
    removed, added = diff_rows(diff)
    assert text(removed) == 'pay("alice")'
    assert text(added) == 'pay("⟨U+202E⟩alice⟨U+2066⟩⟨U+200B⟩")'
    assert marked(added)


def of_lines(removed: list[str], added: list[str]) -> str:
    return "\n".join(
        ["@@ -1 +1 @@", *(f"-{line}" for line in removed), *(f"+{line}" for line in added)]
    )


def test_a_long_block_is_cut_and_says_how_much_is_left():
    rows = diff_rows(of_lines(["x"] * 60_000, ["y"] * 60_000))
    assert [(row.kind, row.lines) for row in rows if row.kind == "more"] == [
        ("more", 60_000 - SHOWN_AT_ONCE)
    ] * 2
    assert [row.kind for row in rows].count("added") == SHOWN_AT_ONCE
    rows = diff_rows("@@ -1 +1 @@\n x\n" + "-a\n+b\n" * 10_000)
    assert len(rows) == SHOWN
    assert rows[-1] == DiffRow("more", lines=20_001 - (SHOWN - 1))


def counted(removed: list[str], added: list[str], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps that each search between two lines may take."""
    steps: list[int] = []
    search = difflib.SequenceMatcher.find_longest_match

    def find(self: Any, alo: int, ahi: int, blo: int, bhi: int) -> Any:
        steps.append((ahi - alo) + sum(len(self.b2j.get(word, ())) for word in self.a[alo:ahi]))
        return search(self, alo, ahi, blo, bhi)

    monkeypatch.setattr(difflib.SequenceMatcher, "find_longest_match", find)
    rows = diff_rows(of_lines(removed, added))
    assert [row.kind for row in rows].count("added") == len(added)
    return steps


def test_however_alike_lines_are_the_work_of_comparing_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
):
    table = [",".join(f"v{row * column % 97}" for column in range(180)) for row in range(150)]
    for removed, added in (
        (table, [line.replace("v3", "w4") for line in table]),
        (["a " * 390] * 150, ["a " * 380 + "b " * 9] * 150),
        (["a b " * 190] * 150, ["a a b b " * 90] * 150),
    ):
        assert sum(counted(removed, added, monkeypatch)) <= 2 * WORK


def test_signs_that_are_no_lines_are_passed_over():
    assert diff_rows("no diff") == []
    rows = diff_rows("@@ -1 +1 @@\n-a\n\n?\n+a")
    assert [(row.kind, text(row)) for row in rows] == [("removed", "a"), ("added", "a")]


LINES = st.lists(st.text(st.sampled_from("ab -+@.\\é"), max_size=12), max_size=8)


@given(LINES, LINES)
def test_the_rows_hold_every_line_of_both_sides_that_the_diff_has(old: list[str], new: list[str]):
    before, after = "".join(f"{each}\n" for each in old), "".join(f"{each}\n" for each in new)
    diff = unified(before, after, "p.md")
    body = diff.split("\n")[2:]
    rows = diff_rows(diff)
    for kind, mark in (("removed", "-"), ("added", "+"), ("same", " ")):
        wanted = [line[1:] for line in body if line[:1] == mark]
        assert [text(row) for row in rows if row.kind == kind] == wanted
