"""What the agent's own ledgers hold (page 2). Observations: `records_observe`."""

from typing import Literal

import msgspec

from gnomon.domain.body import Body
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.records_observe import Failure

Sha256 = str
"""64 lower-case hex digits."""

Mode = Literal["off", "shadow", "soft", "full"]
SkipReason = Literal[
    "idle",
    "duty-cycle",
    "budget",
    "power",
    "mode",
    "no-model",
    "model-error",
    "invalid-output",
    "unchanged",
    "paused",
]
Pressure = Literal["none", "rotated", "sharpened", "hold"]
DesiredAction = Literal[
    "rest", "observe", "reflect", "consolidate", "research", "plan", "create", "hold"
]
ItemSource = Literal["operator", "background", "concern", "interest", "continuity"]
AttemptOutcome = Literal["produced", "cooldown", "no-progress", "error"]
SurfaceKind = Literal["notification", "pending", "artifact"]
SurfaceMode = Literal["hold", "interrupt", "queue"]
Origin = Literal["model", "rule"]


# --- decision-ledger ---------------------------------------------------------------------


class Started(Body, frozen=True, tag="started"):
    """The resident began a life."""

    version: str
    mode: Mode
    model: str | None
    scaffold_version: str


class Stopped(Body, frozen=True, tag="stopped"):
    reason: str


class Tick(Body, frozen=True, tag="tick"):
    """One tick. `skip_reason` is null when it reflected."""

    scaffold_version: str
    skip_reason: SkipReason | None = None


class ActiveItem(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    source: ItemSource
    rationale: str


class Reflection(Body, frozen=True, tag="reflection"):
    """One reflection. Repeats are counted before pressure; a held one has `repeated` true.

    `seconds` is inference time; token counts are null where the model did not say.
    """

    reflection_no: int
    focus: str
    desired_action: DesiredAction
    summary: str
    concerns: tuple[str, ...]
    active_item: ActiveItem | None
    raw_signature: str
    repeated: bool
    repeat_count: int
    pressure: Pressure
    model: str
    seconds: float
    tokens_in: int | None
    tokens_out: int | None
    scaffold_version: str


class ExecutiveAttempt(Body, frozen=True, tag="executive-attempt"):
    """Every attempt is a line; a desired action that maps to nothing is no attempt."""

    action_kind: str
    title: str
    query: str
    outcome: AttemptOutcome
    artifact: str | None = None


class SurfaceDecided(Body, frozen=True, tag="surface"):
    """The resident handed a surface to the notifier."""

    surface_kind: SurfaceKind
    title: str
    origin: Origin
    suppressed: bool = False


class ModeChanged(Body, frozen=True, tag="mode"):
    mode: Mode
    effective: Mode
    reason: str


class ErrorNoted(Body, frozen=True, tag="error"):
    code: str
    where: str
    facts: Fields = msgspec.field(default_factory=dict[str, Json])


DecisionBody = (
    Started
    | Stopped
    | Tick
    | Reflection
    | ExecutiveAttempt
    | SurfaceDecided
    | ModeChanged
    | ErrorNoted
)


# --- artifact-ledger ---------------------------------------------------------------------


class ArtifactMade(Body, frozen=True, tag="artifact"):
    artifact_id: str
    path: str
    sha256: Sha256
    work_title: str
    action_kind: str
    artifact_type: str
    surface_mode: SurfaceMode
    summary: str
    query: str
    progressed: bool


# --- sessions and run-logs ---------------------------------------------------------------


class SessionOpened(Body, frozen=True, tag="session"):
    title: str


class SessionMessage(Body, frozen=True, tag="message"):
    """Derived from a turn's commit line; `turn` counts from 1."""

    turn: int
    role: Literal["user", "assistant"]
    text: str
    run: str
    reply_to: str | None = None


class TurnUndone(Body, frozen=True, tag="undone"):
    """`/undo`: the turn no longer counts as context; its lines stay."""

    turn: int


class RunOpened(Body, frozen=True, tag="run"):
    agent: str
    manifest_sha256: Sha256
    objective: str
    session: str | None = None
    parent_run: str | None = None


class RunStep(Body, frozen=True, tag="step"):
    """A model reply or a tool's result, written without waiting for a sync."""

    step: int
    entry: Fields


class Turn(Body, frozen=True, tag="turn"):
    """A turn's commit point: one line that carries all of it (page 2).

    Session, observation and spend lines are derived from it and rebuilt after a crash.
    """

    session: str
    turn: int
    user: str
    reply: str
    stop_reason: str
    steps: int
    tools: dict[str, int]
    failures: tuple[Failure, ...]
    corrected: bool
    sources: tuple[str, ...]
    seconds: float
    tokens_in: int | None
    tokens_out: int | None
    model: str | None
    reply_to: str | None = None
    spend: tuple[Fields, ...] = ()


class RunClosed(Body, frozen=True, tag="closed"):
    reason: str


# --- spend and anchors -------------------------------------------------------------------


class Spend(Body, frozen=True, tag="spend"):
    """One model call. `prompt` is `name@label#sha`; cost and joules are null if unknown."""

    role: str
    purpose: str
    agent: str
    model: str
    prompt: str
    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int | None
    seconds: float
    cost_usd: float | None
    joules: float | None
    change_id: str | None = None
    error: str | None = None
    run: str | None = None
    off_machine: bool = False
    """Whether the call left this machine (a remote model)."""


class Anchor(Body, frozen=True, tag="anchor"):
    """The heads of the ledgers that changed since the last one. Keys are ledger names."""

    heads: dict[str, "AnchoredHead"]


class AnchoredHead(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    sha256: Sha256
