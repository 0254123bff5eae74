"""Held actions in words. Pure."""

from collections.abc import Sequence

from gnomon.cli.line import Line, Style
from gnomon.cli.render import moment, one_line, table
from gnomon.domain.views_change import ApprovalShown, ApprovalStatus, ApprovalView

STATUSES: dict[ApprovalStatus, str] = {
    "pending": "waits for you",
    "approved": "approved, not done yet",
    "executed": "done",
    "failed": "approved, failed",
    "refused": "approved, not done: it changed",
    "rejected": "you said no",
    "redone": "held anew",
    "expired": "expired",
    "undone": "done and undone",
}
NOTHING_WAITS = (
    "Nothing waits. Gnomon asks here before it writes into a folder that you gave it for reading."
)


def status_words(view: ApprovalView) -> str:
    """Where it stands."""
    said = STATUSES[view.status]
    return f"{said} until {moment(view.expires_at)}" if view.status == "pending" else said


def approvals_lines(views: Sequence[ApprovalView]) -> list[Line]:
    """One line each."""
    if not views:
        return [Line(NOTHING_WAITS)]
    rows = (
        (each.id, moment(each.created_at), status_words(each) + _always(each), _wants(each))
        for each in views
    )
    return [Line(row) for row in table(rows)]


def card_lines(shown: ApprovalShown) -> list[Line]:
    """What one looks at before deciding."""
    view = shown.approval
    lines = [
        Line(f"Wants to {_wants(view)}", "heading"),
        Line(f"Why: {one_line(view.why, 300)}", words="quoted"),
    ]
    if view.untrusted:
        names = ", ".join(one_line(name, 40) for name in view.untrusted)
        lines.append(Line(f"Based on: {names} (not your words)"))
    if view.status == "pending":
        undo = "; undo any time" if view.action == "file.write" else ""
        lines.append(Line(f"If you approve: exactly this{undo}."))
        lines.append(Line(f"If you do nothing: it expires {moment(view.expires_at)}."))
    lines += [Line(), *diff_lines(shown.diff)]
    if shown.changed is not None:
        lines += [Line(), Line(f"{shown.changed} Nothing was written.", "warn")]
    return lines


def shown_lines(shown: ApprovalShown) -> list[Line]:
    """All of one: its card, what became of it, and what can be done now."""
    view = shown.approval
    lines = [Line(f"{view.id}: {status_words(view)}{_always(view)}", "faint"), *card_lines(shown)]
    if shown.decided_by is not None:
        lines.append(Line(f"Decided by {shown.decided_by}, {moment(shown.decided_at)}."))
    if shown.result is not None:
        lines.append(Line(shown.result))
    if shown.redone_as is not None:
        lines.append(Line(f"It was held anew as {shown.redone_as}."))
    return lines + [Line(f"  gnomon approvals {verb}", "faint") for verb in _verbs(shown)]


def done_lines(shown: ApprovalShown) -> list[Line]:
    """What came of an act."""
    view = shown.approval
    match view.status:
        case "executed" if view.always:
            later = f"Later ones are done without asking, until `approvals forget {view.id}`."
            return [Line(shown.result or "Done.", "good"), Line(later)]
        case "executed":
            return [Line(shown.result or "Done.", "good"), Line(_undo_with(shown), "faint")]
        case "rejected":
            return [Line("Nothing was done, and nothing will be.")]
        case "undone":
            return [Line(f"{one_line(view.target)} holds again what it held before.")]
        case _:
            return [Line(f"{view.id}: {status_words(view)}.")]


def diff_lines(diff: str) -> list[Line]:
    """A unified diff. Its lines end at line feeds alone: no other sign may begin one."""
    return (
        [Line(row, _style(row), "exact") for row in diff.removesuffix("\n").split("\n")]
        if diff
        else []
    )


def _style(row: str) -> Style:
    if row.startswith(("+++", "---")):
        return "faint"
    return _STYLES.get(row[:1], "plain")


_STYLES: dict[str, Style] = {"+": "good", "-": "bad", "@": "faint", "\\": "faint"}


def _wants(view: ApprovalView) -> str:
    return one_line(view.summary)


def _always(view: ApprovalView) -> str:
    return ", and always" if view.always else ""


def _undo_with(shown: ApprovalShown) -> str:
    return f"gnomon approvals undo {shown.approval.id}" if shown.can_undo else ""


def _verbs(shown: ApprovalShown) -> list[str]:
    """What may be asked of it now, as one types it."""
    view = shown.approval
    waits = view.status == "pending"
    return [
        *([f"approve {view.id}"] if waits and shown.changed is None else []),
        *([f"approve {view.id} --always"] if shown.can_always and shown.changed is None else []),
        *([f"edit {view.id}"] if shown.can_edit else []),
        *([f"reject {view.id}"] if waits else []),
        *([f"redo {view.id}"] if shown.can_redo else []),
        *([f"undo {view.id}"] if shown.can_undo else []),
        *([f"forget {view.id}"] if view.always else []),
    ]
