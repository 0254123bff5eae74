"""The inbox in words. Pure."""

from collections.abc import Sequence

from gnomon.cli.line import Line, Words
from gnomon.cli.render import moment, one_line, table
from gnomon.domain.views import InboxItem, InboxShown

OUTCOMES = {
    "acted": "used",
    "acked": "dismissed",
    "ignored": "let pass",
    "system_unavailable": "missed (Gnomon was off)",
}
ORIGINS = {"model": "", "rule": "by rule"}


def outcome_words(item: InboxItem) -> str:
    """What became of it, in the page's words."""
    said = "open" if item.outcome is None else OUTCOMES[item.outcome]
    return f"{said} until {moment(item.open_until)}" if item.outcome is None else said


def inbox_lines(items: Sequence[InboxItem]) -> list[Line]:
    """One line an item."""
    if not items:
        return [Line("Nothing was brought to you yet.")]
    rows = (
        (each.surface_id, each.kind, moment(each.emitted_at), outcome_words(each), _title(each))
        for each in items
    )
    return [Line(row) for row in table(rows)]


def item_lines(item: InboxItem) -> list[Line]:
    """One item's standing outcome."""
    return [Line(f"{one_line(item.title)}: {outcome_words(item)}.")]


def dismissed_lines(item: InboxItem) -> list[Line]:
    """What a dismissal came to: one of a used item changes nothing."""
    if item.outcome != "acted":
        return item_lines(item)
    told = "it was used already, and that stands: to use says more than to dismiss."
    return [Line(f"{one_line(item.title)}: {told}")]


def shown_lines(shown: InboxShown) -> list[Line]:
    """One item with its text."""
    item = shown.item
    head = [
        Line(one_line(item.title), "heading"),
        Line(f"{item.kind}, {moment(item.emitted_at)}, {outcome_words(item)}", "faint"),
    ]
    if shown.fault:
        return [*head, Line(shown.fault, "bad")]
    text = shown.edited if shown.edited is not None else item.body or ""
    ours = shown.edited is None and item.origin == "rule"
    words: Words = "ours" if ours else "quoted"
    lines = [*head, *(Line(line, words=words) for line in text.splitlines())]
    if item.artifact:
        lines.append(Line(f"Document: {item.artifact}", "faint"))
    return lines


def _title(item: InboxItem) -> str:
    marks = [ORIGINS[item.origin]] if ORIGINS[item.origin] else []
    marks = ["your test"] if item.synthetic else marks
    said = f" ({', '.join(marks)})" if marks else ""
    return one_line(item.title) + said
