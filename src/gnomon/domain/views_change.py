"""What is answered about self-change: changes, approvals, jobs, refinement. Names and meanings
are promises to other programs, as in `views`.
"""

from typing import Literal

from gnomon.domain.json_value import Fields
from gnomon.domain.records import Sha256
from gnomon.domain.records_change import (
    Basis,
    ChangeStatus,
    Delta,
    HeldKind,
    Means,
    Prediction,
    Tier,
    VerdictOutcome,
)
from gnomon.domain.views import View


class ChangeView(View, frozen=True):
    """One change. `author` is a role; instants are UTC. `summary` is one line of the diff;
    `outcome`, `basis` and `delta` are the verdict's, null until there is one. `reason` is why
    it was refused or stopped, in a sentence, where something was noted.
    """

    change_id: str
    tier: Tier
    author: str
    target: str
    status: ChangeStatus
    proposed_at: str
    applied_at: str | None
    decided_at: str | None
    outcome: VerdictOutcome | None
    basis: Basis | None
    delta: Delta
    summary: str
    reason: str | None = None


class ChangeStepView(View, frozen=True):
    """One line of its life, and where it stands: `ledger` and `seq`."""

    at: str
    status: str
    reason: str | None
    ledger: str
    seq: int


class ChangeShown(View, frozen=True):
    """Everything of one change. `waits_for` says why it is not yet applied or judged."""

    change: ChangeView
    model: str | None
    prompt: str | None
    rationale: str
    prediction: Prediction | None
    prediction_held: bool | None
    evidence: tuple[str, ...]
    diff: str
    base_sha256: Sha256
    candidate_sha256: Sha256
    scaffold_version: str | None
    stall: Means | None
    engagement: Means | None
    reasons: tuple[str, ...]
    waits_for: str | None
    steps: tuple[ChangeStepView, ...]
    can_revert: bool
    told: tuple[str, ...] = ()
    """`reasons` in sentences, with the figures that decided."""


class ChangeDiff(View, frozen=True):
    """A unified diff, for people."""

    change_id: str
    target: str
    diff: str


class VersionView(View, frozen=True):
    """A content that a scaffold file had. `name` is its name in `.versions/`, `current` for what
    is in force. `activation` is the last one under which it stood.
    """

    file: str
    name: str
    activation: int
    sha256: Sha256
    change_id: str | None


class VersionDiff(View, frozen=True):
    """How one content of a scaffold file differs from another."""

    file: str
    before: str
    after: str
    diff: str


Light = Literal["grey", "green", "yellow", "red"]


class Health(View, frozen=True):
    """Is it learning? The light and the sentence that says why (page 8). `code` names the
    sentence; `figures` are its numbers.
    """

    light: Light
    code: str
    sentence: str
    figures: Fields


class Learning(View, frozen=True):
    """What the dashboard's panel says of self-change: the last 20 that came as far as the queue,
    and apart from them the last 20 that were refused, each newest first. `last_diff` is of the
    newest that was in force.
    """

    health: Health
    changes: tuple[ChangeView, ...]
    refused: tuple[ChangeView, ...]
    last_diff: str | None
    dev_mode: bool
    testing: str | None
    """The change that is being judged."""


class Readiness(View, frozen=True):
    """Whether the refiner may run. `reasons` say what is missing, `codes` name them; none:
    ready. `next_at` is when it is next due by the clock; null while not ready.
    """

    ready: bool
    enabled: bool
    dev_mode: bool
    codes: tuple[str, ...]
    reasons: tuple[str, ...]
    next_at: str | None
    refused_calls: int
    """Calls of tools that it does not have, or beyond what its own reach; ever."""


class JobDone(View, frozen=True):
    """What a job did when it was run by hand, or why it did nothing."""

    name: str
    ran: bool
    done: tuple[str, ...]
    why_not: str | None


class JobView(View, frozen=True):
    """A job that the beat runs."""

    name: str
    summary: str
    due: bool
    why_not: str | None
    last_at: str | None


ApprovalStatus = Literal[
    "pending",
    "approved",
    "executed",
    "failed",
    "refused",
    "rejected",
    "redone",
    "expired",
    "undone",
]


class ApprovalView(View, frozen=True):
    """A held action. `status` `approved`: decided and not done yet. `always`: the word that
    stands for later ones of this action and target is the one said here.
    """

    id: str
    change_id: str | None
    action: HeldKind
    target: str
    payload_sha256: Sha256
    target_sha256: Sha256 | None
    created_at: str
    expires_at: str
    status: ApprovalStatus
    why: str
    summary: str
    session: str | None
    untrusted: tuple[str, ...]
    always: bool = False


class ApprovalShown(View, frozen=True):
    """Everything of one. `text` is what its target would hold. `changed` says what is no longer
    as it was held, null: nothing. `decided_by` says who decided. `redone_as` is the one that
    took its place. `can_undo`, `can_redo`, `can_always`, `can_edit`: what may be asked of it now.
    """

    approval: ApprovalView
    payload: Fields
    text: str
    diff: str
    changed: str | None
    decided_by: str | None
    decided_at: str | None
    result: str | None
    redone_as: str | None = None
    can_undo: bool = False
    can_redo: bool = False
    can_always: bool = False
    can_edit: bool = False
