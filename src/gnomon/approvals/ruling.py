"""Whether what was approved may be done as it was held: everything is looked at again. Pure."""

from dataclasses import dataclass

from gnomon.approvals.queue import payload_sha256
from gnomon.domain.instants import Millis, parse_iso
from gnomon.domain.records import Sha256
from gnomon.domain.records_change import Executed, Held, Refused


@dataclass(frozen=True)
class Found:
    """What the target is now. `fault` says, as the rest of a sentence, why it cannot be told."""

    sha256: Sha256 | None
    fault: str | None = None


def what_changed(held: Held, found: Found) -> str | None:
    """What is no longer with its target as it was held, in words; null: nothing."""
    then, now = held.target_sha256, found.sha256
    if found.fault is not None:
        return f"{held.target} {found.fault}."
    if then == now:
        return None
    if then is None:
        return f"{held.target} was made since; it was not there."
    if now is None:
        return f"{held.target} is gone."
    return f"{held.target} changed since: it held {then[:8]}, and holds {now[:8]} now."


def ruling(
    held: Held, found: Found, wanted: Sha256 | None, not_granted: str | None, now: Millis
) -> Executed | Refused | None:
    """What is to be said instead of doing an approved action; null: do it.

    `wanted` is the hash that the target has once it is done, null where that tells nothing.
    `not_granted` says why it may no longer be done. A target that somebody brought there
    themselves meanwhile holds what was wanted: that is done, and nothing is written.
    """
    reason = _hindrance(held, not_granted, now)
    if reason is not None:
        return _refused(held, reason, found)
    if wanted is not None and found.fault is None and found.sha256 == wanted:
        return Executed(approval_id=held.approval_id, result=f"{held.target} holds it already.")
    changed = what_changed(held, found)
    return None if changed is None else _refused(held, changed, found)


def ruling_after_crash(
    held: Held,
    found: Found,
    wanted: Sha256 | None,
    not_granted: str | None,
    now: Millis,
    *,
    begun: bool,
) -> Executed | Refused | None:
    """The same for what was approved in a life that ended before it was done or refused.

    What had begun is never begun again: it was done where the target shows it, and otherwise it
    is refused, so that the operator looks.
    """
    if not begun:
        return ruling(held, found, wanted, not_granted, now)
    if wanted is not None and found.fault is None and found.sha256 == wanted:
        kept = held.approval_id if held.target_sha256 is not None else None
        said = f"{held.target} held it when Gnomon came back."
        return Executed(approval_id=held.approval_id, result=said, backup=kept)
    cut_off = "It was cut off in the middle"
    if wanted is None:
        return _refused(held, f"{cut_off}; whether it was done cannot be told.", found)
    changed = what_changed(held, found)
    return _refused(held, f"{cut_off}: {changed or 'its target is as it was.'}", found)


def _hindrance(held: Held, not_granted: str | None, now: Millis) -> str | None:
    if payload_sha256(held.payload) != held.payload_sha256:
        return "Its content is not what was held."
    if now >= parse_iso(held.expires_at):
        return f"Its time was over at {held.expires_at}."
    return None if not_granted is None else f"It may no longer be done: {not_granted}"


def _refused(held: Held, reason: str, found: Found) -> Refused:
    return Refused(approval_id=held.approval_id, reason=reason, found_sha256=found.sha256)
