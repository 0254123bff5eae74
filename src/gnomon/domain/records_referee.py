"""What the referee's ledgers hold: engagement, fitness, refinement, judgment (pages 2, 3)."""

from typing import Literal

from gnomon.domain.records import Body, Origin, Sha256, SurfaceKind

OutcomeKind = Literal["acted", "acked", "ignored", "system_unavailable"]
OutcomeSource = Literal[
    "dashboard_click",
    "cli",
    "artifact_file_open",
    "reply_in_conversation",
    "agenda_resolved",
    "text_edited",
    "timeout",
    "gateway_shutdown",
]


class SurfaceEmitted(Body, frozen=True, tag="surface_emitted"):
    """`surface_id` is a hash of agent, time, seq and payload."""

    surface_id: str
    surface_kind: SurfaceKind
    title: str
    payload_sha256: Sha256
    artifact: str | None
    scaffold_version: str
    origin: Origin
    delivered_to: tuple[str, ...]
    synthetic: bool = False


class Outcome(Body, frozen=True, tag="outcome"):
    surface_id: str
    outcome: OutcomeKind
    source: OutcomeSource
    alive_seconds: int | None = None
    downtime_seconds: int | None = None


class GatewayStarted(Body, frozen=True, tag="gateway_started"):
    boot_id: str
    gap_seconds: int | None = None
    asleep_seconds: int | None = None
    cause: str | None = None


class GatewayStopped(Body, frozen=True, tag="gateway_stopped"):
    """`cause`: `orderly`, or `crash` when the next start found no orderly stop."""

    cause: str
    boot_id: str
    gap_seconds: int | None = None
    asleep_seconds: int | None = None


class ClockStepped(Body, frozen=True, tag="clock-stepped"):
    """Wall and boot time disagreed by more than 300 s. Positive: the wall went forward."""

    step_seconds: int
    wall_before: str
    wall_after: str


EngagementBody = SurfaceEmitted | Outcome | GatewayStarted | GatewayStopped | ClockStepped
