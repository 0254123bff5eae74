"""What became of a change, as one of a few codes: each surface has one word for each. Pure."""

from typing import Literal, assert_never

from gnomon.domain.views_change import ChangeView

VerdictCode = Literal[
    "waits",
    "held",
    "tested",
    "kept",
    "kept-unknown",
    "undone",
    "undone-unknown",
    "undone-by-you",
    "stopped",
    "never-tried",
    "refused",
    "rejected",
    "expired",
]
"""`kept-unknown`: kept, and whether it is useful is not known. `undone` was not better, of
`undone-unknown` there was not enough evidence. `stopped`: the operator edited what was tested.
"""


def verdict_code(change: ChangeView) -> VerdictCode:
    """Where a change stands."""
    match change.status:
        case "proposed" | "probed":
            return "waits"
        case "applied" | "watched":
            return "tested"
        case "kept":
            return "kept" if change.basis == "both" else "kept-unknown"
        case "reverted":
            return _undone(change)
        case "voided":
            return "never-tried" if change.applied_at is None else "stopped"
        case "held" | "refused" | "rejected" | "expired":
            return change.status
        case _:
            assert_never(change.status)


def _undone(change: ChangeView) -> VerdictCode:
    """By the verdict on it; after any other, or none, by the operator."""
    match change.outcome:
        case "rolled_back":
            return "undone"
        case "inconclusive":
            return "undone-unknown"
        case "kept" | "voided" | None:
            return "undone-by-you"
        case _:
            assert_never(change.outcome)
