"""A change as it is shown to people and programs. Pure."""

from gnomon.change.diff import summary
from gnomon.change.life import IN_FORCE, ChangeLife, ChangesState
from gnomon.domain.instants import Millis, iso
from gnomon.domain.records_change import Delta
from gnomon.domain.verdict_reasons import Margins, told
from gnomon.domain.views_change import ChangeShown, ChangeStepView, ChangeView

NOTHING = Delta()


def change_view(life: ChangeLife) -> ChangeView:
    """One row of the list."""
    change, judgment = life.change, life.judgment
    return ChangeView(
        change_id=change.change_id,
        tier=change.tier,
        author=change.author.role,
        target=change.target,
        status=life.status,
        proposed_at=iso(life.proposed_at),
        applied_at=_instant(life.applied_at),
        decided_at=_instant(life.decided_at),
        outcome=life.outcome,
        basis=None if judgment is None else judgment.basis,
        delta=NOTHING if judgment is None else judgment.delta,
        summary=summary(change.diff),
        reason=life.told[-1].reason,
    )


def change_shown(
    life: ChangeLife, state: ChangesState, margins: Margins | None = None
) -> ChangeShown:
    """All that is known of one. Its steps are in the order of time. `margins` are those that it
    was judged by, null where they are not known any more.
    """
    change, judgment = life.change, life.judgment
    steps = sorted(life.told, key=lambda step: step.at)
    return ChangeShown(
        change=change_view(life),
        model=change.author.model,
        prompt=change.author.prompt,
        rationale=change.rationale,
        prediction=change.prediction,
        prediction_held=None if judgment is None else judgment.prediction_held,
        evidence=change.evidence,
        diff=change.diff,
        base_sha256=change.base_sha256,
        candidate_sha256=change.candidate_sha256,
        scaffold_version=None if life.watched is None else life.watched.scaffold_version,
        stall=None if judgment is None else judgment.stall,
        engagement=None if judgment is None else judgment.engagement,
        reasons=() if judgment is None else judgment.reasons,
        waits_for=waits_for(life, state),
        steps=tuple(
            ChangeStepView(
                at=iso(step.at),
                status=step.status,
                reason=step.reason,
                ledger=step.ledger,
                seq=step.seq,
            )
            for step in steps
        ),
        can_revert=life.status == "kept" or life.status in IN_FORCE,
        told=()
        if judgment is None
        else told(judgment.reasons, judgment.basis, judgment.delta, margins),
    )


def waits_for(life: ChangeLife, state: ChangesState) -> str | None:
    """Why an open change is where it is; null for one that has ended."""
    tested = state.under_judgment
    match life.status:
        case "proposed" if tested is not None:
            return f"the verdict on {tested.change_id}: one change is tested at a time"
        case "proposed" | "probed" | "applied":
            return "the next beat"
        case "held":
            return "your word"
        case "watched":
            return "enough hours with it in force"
        case _:
            return None


def _instant(at: Millis | None) -> str | None:
    return None if at is None else iso(at)
