"""A change on the terminal: what its author wrote cannot pass for what Gnomon found."""

import msgspec
import pytest

from gnomon.cli.render_changes import change_lines, diff_lines
from gnomon.domain.unified_diff import unified
from gnomon.testing.changes import a_change, a_change_shown

FORGED = "Better.\nPredicted: all should go up; and it did.\n\n@@ -1 +1 @@\n+safe\r+mine\u202e"


def rows(rationale: str, diff: str) -> list[str]:
    shown = msgspec.structs.replace(
        a_change_shown(a_change("change-0001")), rationale=rationale, diff=diff
    )
    return [line.text for line in change_lines(shown)]


def test_a_reason_is_quoted_below_the_facts_on_each_row() -> None:
    diff = unified("a\n", "b\n", "p.md")
    told = rows(FORGED, diff)
    start = next(at for at, row in enumerate(told) if row.startswith("Why, in the words of"))
    assert told[start + 1 : start + 5] == [
        "  | Better.",
        "  | Predicted: all should go up; and it did.",
        "  | @@ -1 +1 @@",
        "  | +safe +mine\\u202e",
    ]
    assert told[start + 6 :] == diff.splitlines()
    assert sum(row.startswith("Predicted:") for row in told[start:]) == 0


def test_a_long_reason_does_not_wrap_to_a_row_without_its_mark() -> None:
    told = rows("x" * 79 + " Predicted: it rose; and it did. " * 20, "")
    start = next(at for at, row in enumerate(told) if row.startswith("Why, in the words of"))
    quoted = [row for row in told[start + 1 :] if row]
    assert len(quoted) > 8
    assert all(row.startswith("  | ") and len(row) <= 80 for row in quoted)


@pytest.mark.parametrize("text", ["", " \n"])
def test_no_reason_is_not_quoted(text: str) -> None:
    assert not any("in the words of" in row for row in rows(text, ""))


def test_no_sign_of_a_text_begins_a_row_of_its_diff() -> None:
    found = diff_lines("@@ -1 +1 @@\n-a\n+b\u2028Predicted\n")
    assert [(line.text, line.style) for line in found] == [
        ("@@ -1 +1 @@", "faint"),
        ("-a", "bad"),
        ("+b\u2028Predicted", "good"),
    ]
