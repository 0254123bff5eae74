"""A difference in one line. Pure."""

from gnomon.domain.diff_body import diff_body

SUMMARY_LIMIT = 100
"""Characters of a one-line summary."""


def summary(diff: str) -> str:
    """One line: how many lines came and went, and the first that came (or went)."""
    body = list(diff_body(diff))
    added = [line[1:].strip() for line in body if line.startswith("+")]
    removed = [line[1:].strip() for line in body if line.startswith("-")]
    sign, shown = ("+", added) if any(added) else ("-", removed)
    first = next((line for line in shown if line), "")
    return f"+{len(added)} -{len(removed)}: {sign} {first}"[:SUMMARY_LIMIT]
