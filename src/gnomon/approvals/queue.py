"""Held actions as a fold of their ledger, and every decision about them. Pure (page 7).

A held action is decided once and done at most once: by whoever asks first, at whatever moment
the power goes. What the fold meets a second time it lets lie.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from gnomon.approvals.approval import Approval, begun, followed
from gnomon.domain.canonical import canonical
from gnomon.domain.errors import ConflictError, UsageError
from gnomon.domain.instants import DAY, Millis, iso
from gnomon.domain.json_value import Fields
from gnomon.domain.ledgers import Line
from gnomon.domain.records import Sha256
from gnomon.domain.records_change import (
    Decided,
    Executed,
    Expired,
    Held,
    HeldKind,
    HeldOrigin,
    Refused,
    Reminded,
)

LIFE = 7 * DAY
"""How long an action waits (page 7)."""
REMIND_AFTER = 3 * DAY
"""Then the operator is reminded, once: there are as many days left to decide in."""
MOST_PENDING = 50
"""At more, further ones are refused at the door: nobody could look at them."""
ALWAYS_FOR: frozenset[HeldKind] = frozenset({"file.write", "tool.call"})
"""Where a word may stand for later ones: an action that comes again, on one target."""
TEXT_IS_ALL: frozenset[HeldKind] = frozenset({"file.write"})
"""Where the operator may put a text of their own in the place of the one that is held."""
BY_ALWAYS = "always:"
"""How `through` begins where an earlier word decided; the id of that approval follows."""


@dataclass(frozen=True)
class Proposal:
    """An action to hold. `target_sha256` is of what the target holds now; null: there is none."""

    action: HeldKind
    target: str
    payload: Fields
    target_sha256: Sha256 | None
    origin: HeldOrigin
    why: str
    diff: str
    change_id: str | None = None


class Approvals:
    """The fold: every held action by its id, in the order in which they were held."""

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self.seq = 0
        """Of the last line that was taken."""
        self._all: dict[str, Approval] = {}
        self._open: dict[str, None] = {}
        self._words: dict[tuple[HeldKind, str, str], str] = {}
        for line in lines:
            self.take(line)

    def take(self, line: Line) -> None:
        """Take the next line. What comes a second time, or after an end, changes nothing."""
        self.seq = line.seq
        body = line.body
        if isinstance(body, Held):
            self._hold(body, line)
            return
        approval_id = getattr(body, "approval_id", None)
        known = self._all.get(approval_id) if isinstance(approval_id, str) else None
        if known is None:
            return
        now = self._all[known.approval_id] = followed(known, line)
        if now.end is not None or now.status(now.held_at) not in ("pending", "approved"):
            self._open.pop(now.approval_id, None)
        self._take_word(known, now)

    def _take_word(self, known: Approval, now: Approval) -> None:
        """One word stands for an action on a target: the last one said. It ends with whichever
        of them is forgotten.
        """
        key = _key(now)
        last = self._all.get(self._words.get(key, ""))
        if now.stands_for_later:
            if last is not None and last.approval_id != now.approval_id:
                self._all[last.approval_id] = replace(last, replaced=True)
            self._words[key] = now.approval_id
        elif known.bears_a_word and now.forgotten and last is not None:
            self._all[last.approval_id] = replace(last, forgotten=True)

    def _hold(self, held: Held, line: Line) -> None:
        if held.approval_id in self._all:
            return
        self._all[held.approval_id] = begun(held, line)
        self._open[held.approval_id] = None

    # --- asking ------------------------------------------------------------------------------

    def all(self) -> tuple[Approval, ...]:
        return tuple(self._all.values())

    def known(self, approval_id: str) -> Approval:
        """Raises UsageError when there is none of that id."""
        found = self._all.get(approval_id)
        if found is None:
            raise UsageError(
                f"There is no held action {approval_id!r}.",
                next_step="`gnomon approvals list` shows those that there are.",
                approval_id=approval_id,
                reason="unknown",
            )
        return found

    def pending(self, now: Millis) -> tuple[Approval, ...]:
        """Those that wait for a decision, the oldest first. O(those that have no end)."""
        waiting = (self._all[each] for each in self._open)
        return tuple(each for each in waiting if each.status(now) == "pending")

    def unfinished(self) -> tuple[Approval, ...]:
        """Approved, and neither done nor refused: what a crash left."""
        return tuple(
            each
            for each in (self._all[name] for name in self._open)
            if each.decided is not None and each.decided.decision == "approved"
        )

    def same_pending(
        self, proposal: Proposal, now: Millis, *, but: str | None = None
    ) -> Approval | None:
        """One that waits already and would do exactly this to the target as it is; never `but`,
        which is to be replaced. One on a target that changed since can do nothing any more.
        """
        wanted = (
            proposal.action,
            proposal.target,
            payload_sha256(proposal.payload),
            proposal.target_sha256,
        )
        for each in self.pending(now):
            would = each.action, each.target, each.payload_sha256, each.target_sha256
            if would == wanted and each.approval_id != but:
                return each
        return None

    def standing_word(self, action: HeldKind, target: str, role: str) -> Approval | None:
        """The approval on which the operator said `always` for this action and target."""
        found = self._all.get(self._words.get((action, target, role), ""))
        return found if found is not None and found.stands_for_later else None

    def words_below(self, folder: str) -> tuple[Approval, ...]:
        """All standing words for targets in a folder."""
        inside = folder.rstrip("/") + "/"
        return tuple(
            found
            for found in (self._all[name] for name in self._words.values())
            if found.stands_for_later and found.target.startswith(inside)
        )

    # --- deciding ----------------------------------------------------------------------------

    def has_room(self, now: Millis) -> bool:
        return len(self.pending(now)) < MOST_PENDING

    def check(self, decided: Decided, now: Millis) -> Approval:
        """The one that the operator's word is about, where it may be said now.

        Raises UsageError for an unknown one and for an `always` that cannot stand,
        ConflictError for one that is settled: it says by whom, and when.
        """
        found = self.known(decided.approval_id)
        if found.status(now) != "pending":
            raise settled(found, now)
        if decided.always and found.action not in ALWAYS_FOR:
            raise UsageError(
                f"`always` cannot be said of {found.action}: each of them is looked at.",
                next_step="Approve this one alone.",
                approval_id=found.approval_id,
            )
        return found

    def due(self, now: Millis) -> tuple[Expired | Reminded, ...]:
        """What time alone brings: the end of those that waited too long, a reminder of those
        that wait for half of it.
        """
        lines: list[Expired | Reminded] = []
        for name in self._open:
            each = self._all[name]
            if each.decided is None and now >= each.expires_at:
                lines.append(Expired(approval_id=name))
            elif each.status(now) == "pending" and _is_to_be_reminded(each, now):
                lines.append(Reminded(approval_id=name))
        return tuple(lines)


def _is_to_be_reminded(each: Approval, now: Millis) -> bool:
    return not each.reminded and now - each.held_at >= REMIND_AFTER


def _key(approval: Approval) -> tuple[HeldKind, str, str]:
    return approval.action, approval.target, approval.role


# --- the words of what is settled --------------------------------------------------------------


def decider(decided: Decided) -> str:
    """Who decided, as a page says it."""
    if decided.through.startswith(BY_ALWAYS):
        return f"your word on {decided.through.removeprefix(BY_ALWAYS)}, which stands for each"
    return "you, through the CLI" if decided.through == "cli" else "you, on the dashboard"


def told(end: Executed | Refused) -> str:
    """What came of an approved one, in a sentence."""
    if isinstance(end, Refused):
        return f"It was not done: {end.reason}"
    return end.result if end.error is None else f"It could not be done: {end.error}"


def settled(found: Approval, now: Millis) -> ConflictError:
    """Why there is nothing to decide any more: who decided, and when."""
    status = found.status(now)
    by, at = None, None
    if found.decided is not None and found.decided_at is not None:
        by, at = decider(found.decided), iso(found.decided_at)
        sentence = f"It was {found.decided.decision} already, by {by}, at {at}."
    elif found.redone_as is not None:
        sentence = f"It was held anew, as {found.redone_as}."
    else:
        sentence = f"Its time was over at {iso(found.expires_at)}; nothing was done."
    step = ""
    if status in ("expired", "refused", "failed"):
        step = f"`gnomon approvals redo {found.approval_id}` holds it anew."
    return ConflictError(
        sentence,
        next_step=step,
        approval_id=found.approval_id,
        status=status,
        decided_by=by,
        decided_at=at,
    )


def can_be_edited(found: Approval, now: Millis, *, changed: bool) -> bool:
    """Whether the operator's own text may be done in its place: while it could be done itself."""
    return found.action in TEXT_IS_ALL and found.status(now) == "pending" and not changed


def can_be_redone(found: Approval, now: Millis, *, changed: bool) -> bool:
    """Whether it may be held anew on its target as it is now: not what was done or rejected,
    and of what waits only what could not be done any more.
    """
    status = found.status(now)
    return status in ("expired", "refused", "failed") or (status == "pending" and changed)


# --- before anything is done -------------------------------------------------------------------


def payload_sha256(payload: Fields) -> Sha256:
    """Of its canonical form. Raises RecordError when it has none."""
    return sha256(canonical(payload)).hexdigest()


def held_line(proposal: Proposal, approval_id: str, now: Millis) -> Held:
    """The line that parks it. Raises RecordError when its payload has no canonical form."""
    return Held(
        approval_id=approval_id,
        change_id=proposal.change_id,
        action=proposal.action,
        target=proposal.target,
        payload=proposal.payload,
        payload_sha256=payload_sha256(proposal.payload),
        target_sha256=proposal.target_sha256,
        origin=proposal.origin,
        why=proposal.why,
        diff=proposal.diff,
        expires_at=iso(Millis(now + LIFE)),
    )


def in_order(approvals: Sequence[Approval], now: Millis, limit: int) -> tuple[Approval, ...]:
    """As a list shows them: what waits first, by its expiry; then the rest, the newest first."""
    waiting = [each for each in approvals if each.status(now) == "pending"]
    others = [each for each in reversed(approvals) if each.status(now) != "pending"]
    waiting.sort(key=lambda each: each.expires_at)
    return tuple([*waiting, *others][:limit])
