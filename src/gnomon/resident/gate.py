"""Whether to reflect at this tick: one pure function that answers with its reason.

The gateway calls it at each tick and hands the reason to the resident, which writes it on the
tick's line. Reflection needs an operator nearby; what needs them gone has another gate.
"""

from dataclasses import dataclass
from typing import assert_never

from gnomon.domain.records import Mode, SkipReason
from gnomon.domain.views import ModelKind


@dataclass(frozen=True)
class GateFacts:
    """What the decision rests on, as it stands at the tick.

    `seconds_since_operator` is the time since the operator's last activity (a chat turn, an
    inbox action, a keystroke in an open page, `up` itself, a fresh user turn in a watched
    transcript); null when there was none in this life. `duty_seconds_left` is what the sliding
    hour still allows of inference. `within_budget` covers money and tokens, `power_allows`
    battery and heat. `changed` says whether anything happened since the last reflection; it
    matters with `salience_gate` alone.
    """

    mode: Mode
    model_kind: ModelKind
    paused: bool
    breaker_open: bool
    seconds_since_operator: float | None
    idle_gate_minutes: int
    duty_seconds_left: float
    within_budget: bool
    power_allows: bool
    salience_gate: bool
    changed: bool


def decide(facts: GateFacts) -> SkipReason | None:
    """Why there is no reflection at this tick; null when there is one.

    The order is from what the operator decided to what passes by itself, and the first that
    holds is the one that is told: `paused`, `mode`, `no-model`, `model-error` (the breaker is
    open), `idle`, `duty-cycle`, `budget`, `power`, `unchanged`.
    """
    reasons: tuple[tuple[bool, SkipReason], ...] = (
        (facts.paused, "paused"),
        (facts.mode == "off", "mode"),
        (facts.model_kind == "none", "no-model"),
        (facts.breaker_open, "model-error"),
        (_idle(facts), "idle"),
        (facts.duty_seconds_left <= 0, "duty-cycle"),
        (not facts.within_budget, "budget"),
        (not facts.power_allows, "power"),
        (facts.salience_gate and not facts.changed, "unchanged"),
    )
    return next((reason for holds, reason in reasons if holds), None)


def _idle(facts: GateFacts) -> bool:
    if facts.idle_gate_minutes <= 0:
        return False
    since = facts.seconds_since_operator
    return since is None or since >= facts.idle_gate_minutes * 60


def effective_mode(mode: Mode, model_kind: ModelKind) -> Mode:
    """The mode that holds: with the demo model, or none, nothing that a model wrote leaves
    the inner loop, so `soft` and `full` come down to `shadow` (page 5).
    """
    match model_kind:
        case "demo" | "none":
            return "off" if mode == "off" else "shadow"
        case "local" | "remote":
            return mode
        case _:
            assert_never(model_kind)
