"""A held action as it is shown to people and programs. Pure."""

from gnomon.approvals.approval import Approval
from gnomon.approvals.queue import (
    ALWAYS_FOR,
    can_be_edited,
    can_be_redone,
    decider,
    told,
)
from gnomon.domain.instants import Millis, iso
from gnomon.domain.records_change import Expired, Held
from gnomon.domain.views_change import ApprovalShown, ApprovalView


def approval_view(found: Approval, now: Millis) -> ApprovalView:
    """One row of the list, from what the fold keeps: nobody reads a payload for it."""
    return ApprovalView(
        id=found.approval_id,
        change_id=found.change_id,
        action=found.action,
        target=found.target,
        payload_sha256=found.payload_sha256,
        target_sha256=found.target_sha256,
        created_at=iso(found.held_at),
        expires_at=iso(found.expires_at),
        status=found.status(now),
        why=found.why,
        summary=found.summary,
        session=found.session,
        untrusted=found.untrusted,
        always=found.stands_for_later,
    )


def approval_shown(
    found: Approval,
    held: Held,
    now: Millis,
    *,
    text: str,
    changed: str | None,
    is_kept: bool,
) -> ApprovalShown:
    """All of one. `changed` counts for what is not done; `is_kept`: whether what its target
    held before is there to be put back.
    """
    pending = found.status(now) == "pending"
    open_change = changed if can_be_redone(found, now, changed=changed is not None) else None
    return ApprovalShown(
        approval=approval_view(found, now),
        payload=held.payload,
        text=text,
        diff=held.diff,
        changed=open_change,
        decided_by=None if found.decided is None else decider(found.decided),
        decided_at=None if found.decided_at is None else iso(found.decided_at),
        result=None if found.end is None or isinstance(found.end, Expired) else told(found.end),
        redone_as=found.redone_as,
        can_undo=found.was_done and not found.undone and is_kept,
        can_redo=can_be_redone(found, now, changed=changed is not None),
        can_always=pending and found.action in ALWAYS_FOR,
        can_edit=can_be_edited(found, now, changed=changed is not None),
    )
