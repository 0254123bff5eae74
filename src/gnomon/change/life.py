"""The life of a change: from ledger lines to where each one stands, and what may come next. Pure.

    proposed -> (probed) -> (held) -> applied -> watched -> kept | reverted | voided

`refused`, `rejected`, `expired` and `voided` end it on the way. A change that was kept may
still be reverted, by the operator.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from gnomon.domain.errors import ConflictError
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import Line
from gnomon.domain.records_change import (
    Change,
    ChangeStatus,
    ChangeStep,
    Judgment,
    VerdictOutcome,
)

NEXT: Mapping[ChangeStatus, frozenset[ChangeStatus]] = {
    "proposed": frozenset({"probed", "held", "applied", "refused", "voided"}),
    "probed": frozenset({"held", "applied", "refused", "voided"}),
    "held": frozenset({"applied", "rejected", "expired", "refused", "voided"}),
    "applied": frozenset({"watched", "reverted", "voided"}),
    "watched": frozenset({"kept", "reverted", "voided"}),
    "kept": frozenset({"reverted"}),
    "reverted": frozenset(),
    "refused": frozenset(),
    "rejected": frozenset(),
    "expired": frozenset(),
    "voided": frozenset(),
}
"""What may follow a status; what is not here cannot happen."""
ENDED: frozenset[ChangeStatus] = frozenset(
    {"kept", "reverted", "refused", "rejected", "expired", "voided"}
)
STANDS: Mapping[ChangeStatus, str] = {
    "proposed": "still waits its turn",
    "probed": "still waits its turn",
    "held": "still waits for your word",
    "applied": "is being tested",
    "watched": "is being tested",
    "kept": "was kept",
    "reverted": "was undone already",
    "refused": "was refused and never came into force",
    "rejected": "never came into force: you said no",
    "expired": "never came into force: it expired",
    "voided": "was stopped already",
}
"""Why another step cannot follow, in words."""
IN_FORCE: frozenset[ChangeStatus] = frozenset({"applied", "watched"})
"""Its text stands in the scaffold and its verdict is out."""
END_OF: Mapping[VerdictOutcome, ChangeStatus] = {
    "kept": "kept",
    "rolled_back": "reverted",
    "inconclusive": "reverted",
    "voided": "voided",
}


@dataclass(frozen=True)
class LifeEvent:
    """One line of a change's life: where it stands in which ledger."""

    ledger: str
    seq: int
    at: Millis
    status: str
    reason: str | None


@dataclass(frozen=True)
class ChangeLife:
    """Where one change stands. The candidate's text is let go once it has ended: its diff stays.

    `base_version` and `base_scaffold_version` are those of its `applied` step; `watched` is
    that step whole. `judgment` is the verdict, never a `pending` note.
    """

    change: Change
    proposed_at: Millis
    status: ChangeStatus
    told: tuple[LifeEvent, ...]
    applied_at: Millis | None = None
    decided_at: Millis | None = None
    base_version: str | None = None
    base_scaffold_version: str | None = None
    watched: ChangeStep | None = None
    judgment: Judgment | None = None
    early: VerdictOutcome | None = None

    @property
    def change_id(self) -> str:
        return self.change.change_id

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED

    @property
    def outcome(self) -> VerdictOutcome | None:
        """The verdict on it: the judge's, or the early one of `early.py`."""
        if self.judgment is None or self.judgment.outcome == "pending":
            return self.early
        return self.judgment.outcome

    @property
    def has_failed(self) -> bool:
        """It was tried or offered, and was not good enough: no reason to offer it again."""
        return self.status == "refused" or self.outcome in ("rolled_back", "inconclusive")


@dataclass
class ChangesState:
    """The fold of the refinement- and the judgment-ledger. O(1) a line."""

    _lives: dict[str, ChangeLife] = field(default_factory=dict[str, ChangeLife])
    _open: dict[str, None] = field(default_factory=dict[str, None])
    """Those that have not ended, in order: few, however long the past is."""

    def take(self, ledger: str, line: Line) -> None:
        """Fold a line; of each ledger in its order. The two may come in any order but for a
        judgment, which follows its change's first line.
        """
        match line.body:
            case Change() as change:
                self._put(_proposed(ledger, line, change))
            case ChangeStep() as step if step.change_id in self._lives:
                self._step(ledger, line, step)
            case Judgment() as judgment if judgment.change_id in self._lives:
                self._judged(ledger, line, judgment)
            case _:
                pass

    def of(self, change_id: str) -> ChangeLife | None:
        return self._lives.get(change_id)

    def in_order(self) -> Iterator[ChangeLife]:
        """All, in the order in which they were proposed."""
        return iter(self._lives.values())

    def open(self) -> Iterator[ChangeLife]:
        """Those that have not ended, oldest first."""
        return (self._lives[change_id] for change_id in self._open)

    def newest_first(self) -> Iterator[ChangeLife]:
        return reversed(self._lives.values())

    @property
    def under_judgment(self) -> ChangeLife | None:
        """The one whose text is in force and whose verdict is out: at most one (invariant 6)."""
        return next((life for life in self.open() if life.status in IN_FORCE), None)

    @property
    def next_in_line(self) -> ChangeLife | None:
        """The first that waits to be applied; null while one is under judgment."""
        if self.under_judgment is not None:
            return None
        return next((life for life in self.open() if life.status == "proposed"), None)

    @property
    def unfinished(self) -> ChangeLife | None:
        """One that has its verdict and not yet its end: a crash came between."""
        return next((life for life in self.open() if life.outcome is not None), None)

    def failed(self) -> tuple[ChangeLife, ...]:
        """Those that were not good enough, oldest first."""
        return tuple(life for life in self.in_order() if life.has_failed)

    def _step(self, ledger: str, line: Line, step: ChangeStep) -> None:
        life = self._lives[step.change_id]
        told = LifeEvent(ledger, line.seq, line.at, step.status, step.reason)
        life = replace(life, status=step.status, told=(*life.told, told))
        match step.status:
            case "applied":
                life = replace(
                    life,
                    applied_at=line.at,
                    base_version=step.base_version,
                    base_scaffold_version=step.base_scaffold_version,
                )
            case "watched":
                life = replace(life, watched=step)
            case _ if life.has_ended:
                life = replace(
                    life,
                    early=step.outcome,
                    decided_at=line.at if life.decided_at is None else life.decided_at,
                    change=msgspec.structs.replace(life.change, candidate=""),
                )
            case _:
                pass
        self._put(life)

    def _judged(self, ledger: str, line: Line, judgment: Judgment) -> None:
        life = self._lives[judgment.change_id]
        reason = ", ".join(judgment.reasons) or None
        told = LifeEvent(ledger, line.seq, line.at, judgment.outcome, reason)
        life = replace(life, told=(*life.told, told))
        if judgment.outcome != "pending" and life.judgment is None:
            life = replace(life, judgment=judgment, decided_at=line.at)
        self._put(life)

    def _put(self, life: ChangeLife) -> None:
        self._lives[life.change_id] = life
        if life.has_ended:
            self._open.pop(life.change_id, None)
        else:
            self._open.setdefault(life.change_id)


def _proposed(ledger: str, line: Line, change: Change) -> ChangeLife:
    told = (LifeEvent(ledger, line.seq, line.at, change.status, change.reason),)
    refused = change.status == "refused"
    return ChangeLife(
        change=msgspec.structs.replace(change, candidate="") if refused else change,
        proposed_at=line.at,
        status=change.status,
        told=told,
        decided_at=line.at if refused else None,
    )


def check_step(life: ChangeLife, status: ChangeStatus) -> None:
    """Raise ConflictError where a change cannot go on to a status from where it stands."""
    if status not in NEXT[life.status]:
        raise ConflictError(
            f"Change {life.change_id} {STANDS[life.status]}.",
            next_step=f"See `gnomon changes show {life.change_id}`.",
            change_id=life.change_id,
            status=life.status,
        )
