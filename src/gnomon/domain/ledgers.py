"""Which ledgers there are, what each may hold, and what a line, a head and an ack are."""

from typing import Literal

import msgspec

from gnomon.domain.instants import Millis
from gnomon.domain.records import (
    Anchor,
    ArtifactMade,
    Body,
    DecisionBody,
    RunClosed,
    RunOpened,
    RunStep,
    SessionMessage,
    SessionOpened,
    Sha256,
    Spend,
    Turn,
    TurnUndone,
)
from gnomon.domain.records_change import ApprovalBody, Judgment, RefinementBody
from gnomon.domain.records_observe import ImportedSession, Observation
from gnomon.domain.records_referee import EngagementBody, FitnessBody

GENESIS: Sha256 = "0" * 64
"""`prev` of a ledger's first line."""

LedgerName = Literal[
    "decision-ledger",
    "artifact-ledger",
    "engagement-ledger",
    "fitness-ledger",
    "refinement-ledger",
    "judgment-ledger",
    "approvals",
    "spend-ledger",
    "observations",
    "observations-imported",
    "session",
    "run",
    "anchors",
]
"""`session` and `run` name families: one file each, `session/<id>`, `run/<id>`."""

BODIES: dict[LedgerName, object] = {
    "decision-ledger": DecisionBody,
    "artifact-ledger": ArtifactMade,
    "engagement-ledger": EngagementBody,
    "fitness-ledger": FitnessBody,
    "refinement-ledger": RefinementBody,
    "judgment-ledger": Judgment,
    "approvals": ApprovalBody,
    "spend-ledger": Spend,
    "observations": Observation,
    "observations-imported": Observation | ImportedSession,
    "session": SessionOpened | SessionMessage | TurnUndone,
    "run": RunOpened | RunStep | Turn | RunClosed,
    "anchors": Anchor,
}


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line as read: envelope and typed body."""

    seq: int
    at: Millis
    schema: int
    prev: Sha256
    sha256: Sha256
    """Of this line without its newline: the next line's `prev`."""
    body: Body


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """Where a ledger ends: last `seq` (0 when empty), its hash, and the segment's bytes."""

    seq: int = 0
    sha256: Sha256 = GENESIS
    offset: int = 0
    segment: int = 1


class Ack(msgspec.Struct, frozen=True, kw_only=True):
    """What an author hears once its line is on the disk."""

    seq: int
    at: Millis
    sha256: Sha256
