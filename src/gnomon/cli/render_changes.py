"""Changes in words. Pure."""

from collections.abc import Mapping, Sequence

from gnomon.cli.line import Line, Style
from gnomon.cli.render import moment, one_line, table
from gnomon.domain.records_change import Means
from gnomon.domain.verdict_codes import VerdictCode, verdict_code
from gnomon.domain.views_change import ChangeShown, ChangeView

WORDS: Mapping[VerdictCode, str] = {
    "waits": "waits its turn",
    "held": "waits for you",
    "tested": "being tested",
    "kept": "kept",
    "kept-unknown": "kept (usefulness unknown)",
    "undone": "undone (not better)",
    "undone-unknown": "undone (not enough evidence)",
    "undone-by-you": "undone (by you)",
    "stopped": "stopped (you edited it)",
    "never-tried": "never tried",
    "refused": "refused",
    "rejected": "you said no",
    "expired": "expired",
}
"""The dashboard's words, in lower case."""


def verdict_words(change: ChangeView) -> str:
    """What became of it."""
    return WORDS[verdict_code(change)]


def changes_lines(changes: Sequence[ChangeView]) -> list[Line]:
    """One line a change."""
    if not changes:
        return [Line("It has changed nothing about itself.")]
    rows = (
        (
            each.change_id,
            moment(each.proposed_at),
            each.target,
            verdict_words(each),
            one_line(each.summary),
        )
        for each in changes
    )
    return [Line(row) for row in table(rows)]


def change_lines(shown: ChangeShown) -> list[Line]:
    """One change whole."""
    change = shown.change
    by = change.author if shown.model is None else f"{change.author}, with {shown.model}"
    lines = [
        Line(f"{change.change_id}: {change.target}, {verdict_words(change)}", "heading"),
        Line(f"Proposed {moment(change.proposed_at)} by the {by}.", "faint"),
    ]
    if shown.waits_for is not None:
        lines.append(Line(f"It waits for {shown.waits_for}."))
    lines.extend(Line(line) for line in shown.rationale.splitlines())
    if shown.prediction is not None:
        held = {True: "and it did", False: "and it did not", None: "not known yet"}
        said = f"{shown.prediction.signal} should go {shown.prediction.direction}"
        lines.append(Line(f"Predicted: {said}; {held[shown.prediction_held]}."))
    lines.extend(_means("Engagement", shown.engagement))
    lines.extend(_means("Going in circles", shown.stall))
    lines.extend(Line(each) for each in shown.told)
    lines.append(Line(""))
    lines.extend(diff_lines(shown.diff))
    lines.append(Line(""))
    lines.extend(
        Line(row, "faint")
        for row in table(
            (moment(step.at), step.status, step.reason or "", f"{step.ledger} line {step.seq}")
            for step in shown.steps
        )
    )
    return lines


def diff_lines(diff: str) -> list[Line]:
    """A unified diff, coloured where that is wanted."""
    return [Line(line, _style(line)) for line in diff.splitlines()]


def _style(line: str) -> Style:
    match line[:1]:
        case "+":
            return "good"
        case "-":
            return "bad"
        case "@":
            return "faint"
        case _:
            return "plain"


def _means(name: str, means: Means | None) -> list[Line]:
    if means is None or means.before is None or means.after is None:
        return []
    windows = f"{len(means.windows_before)} and {len(means.windows_after)} windows"
    return [Line(f"{name}: {means.before:.3f} before, {means.after:.3f} with it ({windows}).")]
