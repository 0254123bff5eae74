"""What the ledgers of self-change hold: refinements, judgments, approvals (pages 2, 3, 6, 7)."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gnomon.domain.body import Body
from gnomon.domain.json_value import Fields
from gnomon.domain.records import AnchoredHead, Sha256

Tier = Literal["T0", "T1", "T2", "T3"]
Signal = Literal["stall", "engagement"]
"""What a change can be predicted to move: `stall` is better lower, `engagement` higher."""
Direction = Literal["up", "down"]
ChangeStatus = Literal[
    "proposed",
    "probed",
    "held",
    "applied",
    "watched",
    "kept",
    "reverted",
    "refused",
    "rejected",
    "expired",
    "voided",
]
"""Where a change stands in its life (page 6). The last six end it."""


class Prediction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Falsifiable: which signal should move, and which way."""

    signal: Signal
    direction: Direction


class ChangeAuthor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who proposed it. `model` and `prompt` (`name@label#sha`) are null for a person."""

    role: str
    model: str | None = None
    prompt: str | None = None


# --- refinement-ledger -------------------------------------------------------------------


class Change(Body, frozen=True, tag="change"):
    """A proposal, as it was made: its first line. `status` is `proposed` or `refused`.

    `candidate` is the whole text that the target should hold, `candidate_sha256` of its UTF-8
    bytes; `base_sha256` is of what the target held then. `diff` is a unified diff for people.
    """

    change_id: str
    tier: Tier
    author: ChangeAuthor
    target: str
    base_sha256: Sha256
    candidate_sha256: Sha256
    candidate: str
    diff: str
    rationale: Annotated[str, Meta(max_length=4_000)]
    prediction: Prediction | None
    evidence: tuple[str, ...] = ()
    status: Literal["proposed", "refused"] = "proposed"
    reason: str | None = None
    """Why it was refused."""


class ChangeStep(Body, frozen=True, tag="step"):
    """One step further in a change's life. Facts stand where the step has them.

    `base_version` is the name in `.versions/` of what the target held before; on `applied`
    steps. `scaffold_version` is the one in force from this step on; on an `applied`
    step `base_scaffold_version` is the one that was in force before. `config_sha256`, on a
    `watched` step: of the fitness-config by which it will be judged.
    """

    change_id: str
    status: ChangeStatus
    reason: str | None = None
    scaffold_version: str | None = None
    base_version: str | None = None
    base_scaffold_version: str | None = None
    config_sha256: Sha256 | None = None
    outcome: Literal["rolled_back"] | None = None
    """On a `reverted` step that no judgment stands behind: it broke the replies themselves."""


RefinementBody = Change | ChangeStep


# --- judgment-ledger ---------------------------------------------------------------------

VerdictOutcome = Literal["kept", "rolled_back", "inconclusive", "voided"]
Basis = Literal["both", "stall_only"]


class Means(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one metric: mean before and after, and what was counted; null: not enough windows."""

    before: float | None = None
    after: float | None = None
    windows_before: tuple[str, ...] = ()
    windows_after: tuple[str, ...] = ()
    """`window_start` of each window used."""


class Delta(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """After minus before; null where it could not be computed."""

    stall: float | None = None
    engagement: float | None = None


class Judgment(Body, frozen=True, tag="judgment"):
    """A verdict, reached once a change; or `pending`, noted once while it is awaited.

    `basis` says what decided: both metrics, or the stall composite alone; null where neither
    did. `restored_version` is the name in `.versions/` to restore, null where nothing is.
    `prediction_held` is null when nothing was predicted or it could not be told.
    """

    change_id: str
    outcome: Literal["kept", "rolled_back", "inconclusive", "voided", "pending"]
    rule: str
    basis: Basis | None
    stall: Means
    engagement: Means
    delta: Delta
    reasons: tuple[str, ...]
    prediction_held: bool | None
    restored_version: str | None
    config_sha256: Sha256
    fitness_head: AnchoredHead


# --- approvals ---------------------------------------------------------------------------

HeldKind = Literal[
    "skill.create",
    "skill.patch",
    "rule.add",
    "file.write",
    "tool.call",
    "memory.add",
    "run.ship",
]


class HeldOrigin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who asks, in which run and conversation, and what it rests on. `untrusted` names sources
    whose words are not the operator's.
    """

    role: str
    run: str | None = None
    session: str | None = None
    untrusted: tuple[str, ...] = ()


class Held(Body, frozen=True, tag="held"):
    """An action that waits for the operator. `payload` is exactly what would be done;
    `payload_sha256` is of its canonical form. `target_sha256` is of the target's bytes when it
    was held, null where there was no file.
    """

    approval_id: str
    change_id: str | None
    action: HeldKind
    target: str
    payload: Fields
    payload_sha256: Sha256
    target_sha256: Sha256 | None
    origin: HeldOrigin
    why: str
    diff: str
    expires_at: str


class Reminded(Body, frozen=True, tag="reminded"):
    """The operator was reminded of it: once."""

    approval_id: str


class Decided(Body, frozen=True, tag="decided"):
    """The operator's word. `through`: `dashboard`, `cli`, or `always:<approval>` where an earlier
    word of theirs stands for every one of this action and target, which `always` makes it.
    """

    approval_id: str
    decision: Literal["approved", "rejected"]
    through: str
    always: bool = False


class Executed(Body, frozen=True, tag="executed"):
    """It was done, once. `backup` names what was there before, null where nothing was."""

    approval_id: str
    result: str
    error: str | None = None
    backup: str | None = None


class Refused(Body, frozen=True, tag="refused"):
    """Approved and not done, since something is no longer as it was held."""

    approval_id: str
    reason: str
    found_sha256: Sha256 | None = None


class Redone(Body, frozen=True, tag="redone"):
    """It was held anew on the target as it is now, as `by`."""

    approval_id: str
    by: str


class Expired(Body, frozen=True, tag="expired"):
    """Its time is over; nothing was done."""

    approval_id: str


class Undone(Body, frozen=True, tag="undone"):
    """The operator had it undone: its target holds again exactly what it held before."""

    approval_id: str
    through: str


class Forgotten(Body, frozen=True, tag="forgotten"):
    """Its `always` stands no more; what was done by it stays."""

    approval_id: str
    through: str


ApprovalBody = (
    Held | Reminded | Decided | Executed | Refused | Redone | Expired | Undone | Forgotten
)
