"""Changes in words. Pure."""

from collections.abc import Mapping, Sequence
from textwrap import wrap

from gnomon.cli.line import Line, Style
from gnomon.cli.render import moment, one_line, table
from gnomon.cli.terminal_text import clean
from gnomon.domain.records_change import Direction, Means, Signal
from gnomon.domain.verdict_codes import VerdictCode, verdict_code
from gnomon.domain.verdict_reasons import plain_reason
from gnomon.domain.views_change import ChangeShown, ChangeStepView, ChangeView

QUOTED_WIDTH = 76
"""Characters of a row of a quote, so that a terminal of 80 does not begin one without its mark."""
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
PREDICTED: Mapping[tuple[Signal, Direction], str] = {
    ("engagement", "up"): "you would use more of what it brings",
    ("engagement", "down"): "you would use less of what it brings",
    ("stall", "down"): "it would go less in circles",
    ("stall", "up"): "it would go more in circles",
}
STEPS: Mapping[str, str] = {
    "proposed": "proposed",
    "probed": "tried out apart",
    "held": "held for you",
    "applied": "put in force",
    "watched": "the test began",
    "kept": "kept",
    "reverted": "undone: the old text stands again",
    "refused": "refused",
    "rejected": "you said no",
    "expired": "expired",
    "voided": "stopped",
}
VERDICTS: Mapping[str, str] = {
    "pending": "no verdict yet: more evidence is needed",
    "kept": "verdict: keep it",
    "rolled_back": "verdict: not better",
    "inconclusive": "verdict: not enough evidence",
    "voided": "verdict: none, it was edited",
}
"""What is on the judgment-ledger."""


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
    """One change whole: the facts first, then what its author says, then the text that it is of."""
    change = shown.change
    by = change.author if shown.model is None else f"{change.author}, with {shown.model}"
    lines = [
        Line(f"{change.change_id}: {change.target}, {verdict_words(change)}", "heading"),
        Line(f"Proposed {moment(change.proposed_at)} by the {by}.", "faint"),
    ]
    if shown.waits_for is not None:
        lines.append(Line(f"It waits for {shown.waits_for}."))
    if shown.prediction is not None:
        held = {True: "and it did", False: "and it did not", None: "not known yet"}
        said = PREDICTED[shown.prediction.signal, shown.prediction.direction]
        lines.append(Line(f"Predicted: {said}; {held[shown.prediction_held]}."))
    lines.extend(_means("Engagement", shown.engagement))
    lines.extend(_means("Going in circles", shown.stall))
    lines.extend(Line(each) for each in shown.told)
    lines.append(Line(""))
    lines.extend(
        Line(row, "faint")
        for row in table(
            (moment(step.at), step_words(step), _reason(step), f"{step.ledger} line {step.seq}")
            for step in shown.steps
        )
    )
    if quoted := _quoted(shown.rationale):
        lines += [Line(""), Line(f"Why, in the words of the {change.author}:"), *quoted]
    lines += [Line(""), *diff_lines(shown.diff)]
    return lines


def step_words(step: ChangeStepView) -> str:
    """A line of its life; the judge's are told as verdicts."""
    judged = step.ledger == "judgment-ledger"
    return (VERDICTS if judged else STEPS).get(step.status, step.status)


def _reason(step: ChangeStepView) -> str:
    """The judge's are codes; they are told above, in sentences."""
    return "" if step.ledger == "judgment-ledger" else one_line(plain_reason(step.reason))


def diff_lines(diff: str) -> list[Line]:
    """A unified diff, coloured where that is wanted. Its lines end at line feeds alone: no other
    sign may begin one.
    """
    return (
        [Line(row, _style(row), "exact") for row in diff.removesuffix("\n").split("\n")]
        if diff
        else []
    )


def _quoted(text: str) -> list[Line]:
    """Marked as such, on each row that a terminal shows: words may be made to read like a fact
    or a diff.
    """
    rows = (clean(" ".join(row.split())) for row in text.split("\n"))
    return [Line(f"  | {part}", words="exact") for row in rows for part in wrap(row, QUOTED_WIDTH)]


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
