"""One held action and what became of it: each line about it, in turn. Pure."""

from dataclasses import dataclass, replace

from gnomon.domain.instants import Millis, parse_iso
from gnomon.domain.ledgers import Line
from gnomon.domain.records import Sha256
from gnomon.domain.records_change import (
    Decided,
    Executed,
    Expired,
    Forgotten,
    Held,
    HeldKind,
    Redone,
    Refused,
    Reminded,
    Undone,
)
from gnomon.domain.unified_diff import counted
from gnomon.domain.views_change import ApprovalStatus


@dataclass(frozen=True)
class Approval:
    """One held action and what became of it: all that a row of a list shows, so that nobody
    reads a line for one. Its payload and its diff, which may be large, stand on line `seq` alone.
    """

    approval_id: str
    seq: int
    held_at: Millis
    expires_at: Millis
    action: HeldKind
    target: str
    role: str
    session: str | None
    payload_sha256: Sha256
    target_sha256: Sha256 | None
    change_id: str | None
    why: str
    summary: str
    untrusted: tuple[str, ...]
    reminded: bool = False
    decided: Decided | None = None
    decided_at: Millis | None = None
    end: Executed | Refused | Expired | None = None
    redone_as: str | None = None
    undone: bool = False
    forgotten: bool = False
    replaced: bool = False
    """A later `always` of the same action, target and role took the place of the one said here."""

    def status(self, now: Millis) -> ApprovalStatus:
        """One whose time is over is expired, whether or not that was written down yet."""
        if self.redone_as is not None:
            return "redone"
        if self.undone:
            return "undone"
        if self.end is not None:
            return _ended(self.end)
        if self.decided is not None:
            return "rejected" if self.decided.decision == "rejected" else "approved"
        return "pending" if now < self.expires_at else "expired"

    @property
    def was_done(self) -> bool:
        return isinstance(self.end, Executed) and self.end.error is None

    @property
    def bears_a_word(self) -> bool:
        """Whether the operator said `always` on it, and took nothing of it back."""
        said = self.decided is not None and self.decided.always
        return said and self.was_done and not self.undone and not self.forgotten

    @property
    def stands_for_later(self) -> bool:
        """Whether the operator's word on it holds for later ones of its action and target."""
        return self.bears_a_word and not self.replaced


def _ended(end: Executed | Refused | Expired) -> ApprovalStatus:
    match end:
        case Executed():
            return "executed" if end.error is None else "failed"
        case Refused():
            return "refused"
        case Expired():
            return "expired"


def begun(held: Held, line: Line) -> Approval:
    """As it is once the line that parks it stands. O(its diff)."""
    return Approval(
        approval_id=held.approval_id,
        seq=line.seq,
        held_at=line.at,
        expires_at=parse_iso(held.expires_at),
        action=held.action,
        target=held.target,
        role=held.origin.role,
        session=held.origin.session,
        payload_sha256=held.payload_sha256,
        target_sha256=held.target_sha256,
        change_id=held.change_id,
        why=held.why,
        summary=summary(held),
        untrusted=held.origin.untrusted,
    )


def summary(held: Held) -> str:
    """What it wants, in one line: `write /data/notes.md (+3 -1 lines)`."""
    put_in, taken_out = counted(held.diff)
    if held.action != "file.write":
        return f"{held.action} {held.target}"
    if held.target_sha256 is None:
        lines = "1 line" if put_in == 1 else f"{put_in} lines"
        return f"write {held.target} (a new file, {lines})"
    return f"write {held.target} (+{put_in} -{taken_out} lines)"


def followed(known: Approval, line: Line) -> Approval:
    """The approval after a line about it."""
    is_open = known.end is None and known.redone_as is None
    match line.body:
        case Reminded():
            return replace(known, reminded=True)
        case Decided() as said if is_open and known.decided is None:
            return replace(known, decided=said, decided_at=line.at)
        case Expired() as end if is_open and known.decided is None:
            return replace(known, end=end)
        case (Executed() | Refused()) as end if is_open and _is_approved(known):
            return replace(known, end=end)
        case Redone() as redone if _is_replaced(known, redone):
            return replace(known, redone_as=redone.by)
        case Undone() if known.was_done:
            return replace(known, undone=True)
        case Forgotten():
            return replace(known, forgotten=True)
        case _:
            return known


def _is_replaced(known: Approval, redone: Redone) -> bool:
    """Nothing takes its own place: older ledgers have a line that says so, and it waits on."""
    return known.redone_as is None and not known.was_done and redone.by != known.approval_id


def _is_approved(known: Approval) -> bool:
    return known.decided is not None and known.decided.decision == "approved"
