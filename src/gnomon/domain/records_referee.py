"""What the referee's ledgers hold: engagement, fitness, refinement, judgment (pages 2, 3)."""

from typing import Literal

import msgspec

from gnomon.domain.records import AnchoredHead, Body, Origin, Sha256, SurfaceKind

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
    """The gateway is up from `at` on. `cause` says what ended: a life (`orderly`, `crash`),
    the machine's `sleep`, or a `pause`; null at the very first start. `gap_seconds` is how
    long it was away.
    """

    boot_id: str
    gap_seconds: int | None = None
    asleep_seconds: int | None = None
    cause: str | None = None


class GatewayStopped(Body, frozen=True, tag="gateway_stopped"):
    """The gateway was up until `gap_seconds` before `at` (null: until `at`).

    `cause`: `orderly`; `crash` when the next start found no orderly stop; `sleep` when a beat
    found that the machine had slept (written on waking, with `asleep_seconds`); `pause`.
    """

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


# --- fitness-ledger ----------------------------------------------------------------------

StallReason = Literal["missing_data", "clock_step", "ledger_changed"]
"""Why a composite is null: fewer reflections than the config asks for; the clock was set in
or across the window; or the lines it would rest on are not those that were acknowledged."""
EngagementReason = Literal["low_sample", "clock_step", "ledger_changed"]


class Components(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The three rates of the stall composite, each 0 to 1; null where the composite is."""

    reflection_repeat_rate: float | None = None
    executive_cooldown_rate: float | None = None
    concern_persistence_rate: float | None = None


class EngagementCounts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Surfaces by the outcome that stands, of the three that make the rate."""

    acted: int = 0
    acked: int = 0
    ignored: int = 0

    @property
    def total(self) -> int:
        return self.acted + self.acked + self.ignored


class WindowMeasured(Body, frozen=True):
    """One window (seed 1, section 4.3; page 2). Rates have 6 decimals and may be null.

    Engagement is of the surfaces *emitted* in the window by the model; those of rules and the
    operator's tests are counted apart. `pending` of the model's have no outcome yet;
    `mature` once each surface is acted on or past its horizon: until then the engagement is
    provisional. `scaffold_version` is the one in force at the window's end, null when no line
    names one. `inputs` says, by ledger, the last line that was used.
    """

    window_start: str
    window_end: str
    window_seconds: int
    stall_composite: float | None
    stall_reason: StallReason | None
    components: Components
    engagement_rate: float | None
    engagement_reason: EngagementReason | None
    engagement_counts: EngagementCounts
    system_unavailable_count: int
    system_unavailable_seconds: int
    pending: int
    mature: bool
    rule_counts: EngagementCounts
    synthetic_counts: EngagementCounts
    tick_count: int
    reflection_count: int
    executive_attempt_count: int
    scaffold_version: str | None
    mixed_scaffold: bool
    config_sha256: Sha256
    inputs: dict[str, AnchoredHead]


class Window(WindowMeasured, frozen=True, tag="window"):
    """A window's first line."""


class Amendment(WindowMeasured, frozen=True, tag="amendment"):
    """The same window later: the last line for a `window_start` stands."""


class Gap(Body, frozen=True, tag="gap"):
    """A span of whole windows without any decision line, ticks included."""

    window_start: str
    window_end: str
    window_seconds: int
    config_sha256: Sha256
    inputs: dict[str, AnchoredHead]


FitnessBody = Window | Amendment | Gap
