"""What the pages say of self-change and of what waits for approval. Pure; the words are in the
language file.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gnomon.domain.instants import DAY, HOUR, Millis, parse_iso
from gnomon.domain.records_change import HeldKind, Prediction
from gnomon.domain.verdict_codes import VerdictCode, verdict_code
from gnomon.domain.views_change import (
    ApprovalShown,
    ApprovalStatus,
    ApprovalView,
    ChangeStepView,
    ChangeView,
    Health,
    Readiness,
    VersionView,
)
from gnomon.gateway.dashboard.wording import Sentence, number

MINUS = "\N{MINUS SIGN}"
SUMMARY = re.compile(r"\+(?P<added>\d+) -(?P<removed>\d+): (?P<sign>[+-]) (?P<text>.*)")
"""As `gnomon.change.diff.summary` writes it."""
TEXTS: frozenset[HeldKind] = frozenset(
    {"skill.create", "skill.patch", "rule.add", "file.write", "memory.add"}
)
"""Kinds whose payload is a text that is written as it stands."""

WORDS = frozenset({"not-enabled", "failed-twice"})
"""What `refine.enable` mends."""
LOOKS: Mapping[VerdictCode, str] = {
    "kept": "level-ok",
    "kept-unknown": "level-warning",
    "undone": "level-error",
    "undone-by-you": "level-error",
    "tested": "kind-artifact",
    "held": "kind-artifact",
}
"""Classes of the stylesheet; the others are plain."""


# --- changes ---------------------------------------------------------------------------------


def verdict(change: ChangeView) -> Sentence:
    """What became of a change, in page 8's words."""
    return Sentence(f"verdict.{verdict_code(change)}")


def verdict_class(change: ChangeView) -> str:
    """How its pill looks."""
    return LOOKS.get(verdict_code(change), "")


@dataclass(frozen=True)
class Gist:
    """A change in one line: `counts` of lines (`+1 -1`), the words that came (or, where none
    did, that went).
    """

    counts: str
    text: str
    went: bool


def gist(change: ChangeView) -> Gist:
    """Of its one-line summary; one of another form is shown as it is."""
    match = SUMMARY.fullmatch(change.summary)
    if match is None:
        return Gist("", change.summary, went=False)
    counts = f"+{match['added']} {MINUS}{match['removed']}"
    return Gist(counts, match["text"], went=match["sign"] == "-")


def usefulness_moved(change: ChangeView) -> str | None:
    """`+8`: percentage points of the share used; null: not known."""
    return signed_points(change.delta.engagement)


def circles_moved(change: ChangeView) -> str | None:
    """`-0.06`: of the stall composite, where less is better."""
    value = change.delta.stall
    return None if value is None else _signed(value, f"{_half_up(abs(value) * 100) / 100:.2f}")


def signed_points(value: float | None) -> str | None:
    return None if value is None else _signed(value, f"{_half_up(abs(value) * 100)}")


def _signed(value: float, shown: str) -> str:
    if not any(digit in shown for digit in "123456789"):
        return shown
    return f"{'+' if value > 0 else MINUS}{shown}"


def _half_up(value: float) -> int:
    return math.floor(value + 0.5)


GOOD: Mapping[str, str] = {"stall": "down", "engagement": "up"}
"""The way in which a signal gets better."""


def expected(
    prediction: Prediction | None, held: bool | None, reasons: Sequence[str] = ()
) -> Sequence[Sentence]:
    """`It said that usefulness would go up.` `It did.` `reasons` are the judge's codes: a move in
    the right way that did not count is told as such, so that it does not contradict the verdict.
    """
    if prediction is None:
        return (Sentence("change.predicted-nothing"),)
    said = Sentence(f"change.predicted-{prediction.signal}-{prediction.direction}")
    better = prediction.direction == GOOD[prediction.signal]
    match held:
        case True if better and f"{prediction.signal}-not-better" in reasons:
            return (said, Sentence("change.prediction-too-little"))
        case True:
            return (said, Sentence("change.prediction-held"))
        case False:
            return (said, Sentence("change.prediction-failed"))
        case None:
            return (said, Sentence("change.prediction-open"))


def step(told: ChangeStepView) -> Sentence:
    """A step of its life in words; the judge's lines are told as verdicts."""
    judged = "judged-" if told.ledger == "judgment-ledger" else ""
    return Sentence(f"change-step.{judged}{told.status}")


def step_link(told: ChangeStepView) -> str:
    """Where its line is shown."""
    return f"/lines?name={told.ledger}&after={told.seq - 1}&limit=1"


def light_sentence(health: Health) -> Sentence:
    return Sentence(f"health.{health.code}", health.figures)


def why_light(health: Health) -> Sentence | None:
    """What the fixed sentence leaves unsaid."""
    if health.code != "mostly-undone":
        return None
    return Sentence("health.mostly-undone-why", health.figures)


def tally(health: Health) -> Sequence[Sentence]:
    """What the verdicts were so far; what there is none of is not mentioned."""
    figures = health.figures
    counts = (
        ("learn.kept", "kept"),
        ("learn.kept-unknown", "kept_usefulness_unknown"),
        ("learn.undone", "undone"),
        ("learn.no-evidence", "not_enough_evidence"),
        ("learn.stopped", "stopped"),
    )
    return [Sentence(key, {"n": n}) for key, name in counts if (n := figures[name])]


def waits_for_you(readiness: Readiness) -> bool:
    """Whether the operator's word is all that is missing."""
    return bool(readiness.codes) and set(readiness.codes) <= WORDS


# --- versions of the instructions ------------------------------------------------------------


@dataclass(frozen=True)
class VersionRow:
    """One content of a scaffold file. `before` names the one that it followed, null for the
    first; `again` the number of an earlier one with the same text.
    """

    version: VersionView
    before: str | None
    again: int | None


def files_of(versions: Sequence[VersionView]) -> Sequence[str]:
    """The files that have a past first, then by name."""
    counts: dict[str, int] = {}
    for each in versions:
        counts[each.file] = counts.get(each.file, 0) + 1
    return sorted(counts, key=lambda file: (counts[file] == 1, file))


def version_rows(versions: Sequence[VersionView], file: str) -> Sequence[VersionRow]:
    """Of one file, newest first, as the operation answers them."""
    mine = [each for each in versions if each.file == file]
    rows: list[VersionRow] = []
    for at, each in enumerate(mine):
        older = mine[at + 1 :]
        same = next((one.activation for one in older if one.sha256 == each.sha256), None)
        rows.append(VersionRow(each, older[0].name if older else None, same))
    return rows


def chosen(rows: Sequence[VersionRow], before: str, after: str) -> tuple[str, str] | None:
    """The two that are compared: as asked, else the newest with the one before it."""
    names = {row.version.name for row in rows}
    if before in names and after in names:
        return before, after
    if len(rows) < 2 or before or after:
        return None
    return rows[1].version.name, rows[0].version.name


# --- approvals -------------------------------------------------------------------------------


def wants(shown: ApprovalShown) -> Sentence:
    """`write skill 'release' (41 lines).`"""
    held = shown.approval
    lines = len(shown.text.splitlines())
    return Sentence(
        f"approval.wants-{held.action.replace('.', '-')}", {"target": held.target, "n": lines}
    )


def is_text(approval: ApprovalView) -> bool:
    """Whether what is approved is a text, which is written as it stands."""
    return approval.action in TEXTS


def if_approved(approval: ApprovalView) -> Sentence:
    """What a yes does, and whether it can be taken back."""
    if is_text(approval):
        return Sentence("approval.exactly-text")
    return Sentence("approval.exactly-act")


def if_nothing(approval: ApprovalView, now: Millis) -> Sentence:
    """`expires in 6 days`."""
    left = max(0, parse_iso(approval.expires_at) - now)
    if left >= DAY:
        return Sentence("approval.expires-days", {"n": number(left // DAY)})
    return Sentence("approval.expires-hours", {"n": number(max(1, left // HOUR))})


def is_stale(shown: ApprovalShown) -> bool:
    """It can no longer be done as it was held."""
    status = shown.approval.status
    return status == "refused" or (status == "pending" and shown.changed is not None)


WAITS: frozenset[ApprovalStatus] = frozenset({"pending", "refused", "failed"})
"""What asks for a decision, or to be redone."""


def waiting(approvals: Sequence[ApprovalView]) -> Sequence[ApprovalView]:
    return [each for each in approvals if each.status in WAITS]


def settled(approvals: Sequence[ApprovalView], limit: int) -> Sequence[ApprovalView]:
    return [each for each in approvals if each.status not in WAITS][:limit]
