"""Differences as people read them. Pure."""

import difflib

from gnomon.domain.diff_body import diff_body

SUMMARY_LIMIT = 100
"""Characters of a one-line summary."""
CONTEXT_LINES = 3


def unified(before: str, after: str, name: str) -> str:
    """A unified diff; empty where the two are equal. A missing final newline is said."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        fromfile=name,
        tofile=name,
        n=CONTEXT_LINES,
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def summary(diff: str) -> str:
    """One line: how many lines came and went, and the first that came (or went)."""
    body = list(diff_body(diff))
    added = [line[1:].strip() for line in body if line.startswith("+")]
    removed = [line[1:].strip() for line in body if line.startswith("-")]
    sign, shown = ("+", added) if any(added) else ("-", removed)
    first = next((line for line in shown if line), "")
    return f"+{len(added)} -{len(removed)}: {sign} {first}"[:SUMMARY_LIMIT]
