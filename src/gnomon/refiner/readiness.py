"""May the refiner run at all? (page 3; seed 1, section 6.) Pure.

It may only chase a number that means something: a week of it, neither near nothing nor near
everything, of a machine that was mostly on, and that the operator has looked at and found to be
what they see.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from gnomon.domain.ledgers import Line
from gnomon.domain.policy import Autonomy
from gnomon.domain.records import Sha256
from gnomon.domain.records_referee import Amendment, Window
from gnomon.domain.tiers import SCAFFOLD, may_apply
from gnomon.domain.version_name import files_of

DAYS = 7
"""Of windows, by UTC date; the engagement is that of the last so many days."""
LOW, HIGH = 0.2, 0.95
"""Seed 1, phase 3: beyond these the surfaces are brought too often, or too seldom."""
NOT_ENABLED = (
    "You have not said that the number fits what you see: `gnomon fitness`, then "
    "`gnomon refine enable`."
)
FAILURES_MOST = 2
"""Page 6: two failures in a row, and it says why and stops."""
OFF_MOST = 0.5
"""Share of the surfaces that came while the machine was off."""

NotReady = Literal[
    "few-days",
    "unmeasured",
    "engagement-unknown",
    "engagement-low",
    "engagement-high",
    "often-off",
    "not-enabled",
    "autonomy",
    "failed-twice",
    "referee-fails",
    "no-model",
    "remote-model",
    "model-config",
]
ModelFault = Literal["no-model", "remote-model", "model-config"]


@dataclass(frozen=True)
class Reason:
    """One thing that is missing: its code, a sentence, and what mends it."""

    code: NotReady
    sentence: str


@dataclass(frozen=True)
class Evidence:
    """What the operator's confirmation and the ledgers say. `engagement` is of the model's
    surfaces of the last 7 days, null where fewer than the least sample were answered; `off`
    of `surfaces` came to nothing because the machine was off. `measured` windows of the present
    instructions count, and a verdict needs so many of them as `needed`.
    """

    days: int
    engagement: float | None
    surfaces: int
    off: int
    enabled: bool
    measured: int
    needed: int


@dataclass(frozen=True)
class Means:
    """What it would run with. `failures` in a row are its own, not its model's; `fault` says why
    there is no model for it, in a code and words.
    """

    autonomy: Autonomy
    failures: int
    referee_fails: bool
    fault: tuple[ModelFault, str] | None


def not_ready(evidence: Evidence, means: Means, *, dev_mode: bool) -> tuple[Reason, ...]:
    """All that is missing; empty: it may run. `dev_mode` waives the evidence and the operator's
    confirmation, never what it is allowed to do, nor what a verdict cannot do without.
    """
    found: list[Reason] = [] if dev_mode else [*_evidence(evidence), *_confirmed(evidence)]
    if evidence.measured < evidence.needed:
        found.append(
            Reason(
                "unmeasured",
                f"The present instructions have {evidence.measured} of the {evidence.needed} "
                "measured windows that a change is compared with.",
            )
        )
    if may_apply("T2", SCAFFOLD, means.autonomy) != "allow":
        found.append(
            Reason(
                "autonomy",
                f"improve.autonomy is {means.autonomy!r}; its instructions change at 'full' alone.",
            )
        )
    if means.referee_fails:
        found.append(
            Reason(
                "referee-fails",
                "What measures it, or what judges it, failed twice in a row; nothing is changed "
                "until that works. `gnomon journal` says why.",
            )
        )
    if means.failures >= FAILURES_MOST:
        found.append(
            Reason(
                "failed-twice",
                f"Its last {means.failures} runs broke off; it rests until `gnomon refine enable`.",
            )
        )
    if means.fault is not None:
        found.append(Reason(*means.fault))
    return tuple(found)


def measured_of(lines: Iterable[Line], version: str, config_sha256: Sha256) -> int:
    """How many windows stand, of lines of the fitness-ledger in their order, that were measured
    under the files of a scaffold version, whichever activation, and by the rules in force: what a
    change of them would be compared with.
    """
    files = files_of(version)
    counts: dict[str, bool] = {}
    for line in lines:
        body = line.body
        if isinstance(body, Window | Amendment):
            under = files_of(body.scaffold_version or "")
            alike = body.config_sha256 == config_sha256 and not body.mixed_scaffold
            valid = body.stall_composite is not None and alike
            counts[body.window_start] = valid and under == files
    return sum(counts.values())


def has_number(lines: Iterable[Line], answered: int) -> bool:
    """Whether there is anything yet that the operator could find to fit what they see: an item
    that was answered, or a window that says something. `lines` are of the fitness-ledger.
    """
    measured = (line.body for line in lines if isinstance(line.body, Window | Amendment))
    return answered > 0 or any(
        body.stall_composite is not None or body.engagement_rate is not None for body in measured
    )


def days_of(window_starts: Iterable[str]) -> int:
    """On how many UTC dates windows began, as far as `DAYS`: the rest is not read."""
    dates = set[str]()
    for start in window_starts:
        dates.add(start[:10])
        if len(dates) == DAYS:
            break
    return len(dates)


def _evidence(evidence: Evidence) -> list[Reason]:
    found: list[Reason] = []
    if evidence.days < DAYS:
        found.append(Reason("few-days", f"It has been measured on {evidence.days} of {DAYS} days."))
    rate = evidence.engagement
    if rate is None:
        found.append(
            Reason("engagement-unknown", f"Too few items of the last {DAYS} days have settled.")
        )
    elif rate < LOW:
        found.append(
            Reason(
                "engagement-low",
                f"You used {rate:.0%} of the last {DAYS} days' items; below {LOW:.0%} it brings "
                "too much, and that is to be mended first.",
            )
        )
    elif rate > HIGH:
        found.append(
            Reason(
                "engagement-high",
                f"You used {rate:.0%} of the last {DAYS} days' items; above {HIGH:.0%} it brings "
                "too little to learn from.",
            )
        )
    if evidence.off > OFF_MOST * evidence.surfaces:
        found.append(
            Reason(
                "often-off",
                f"{evidence.off} of {evidence.surfaces} items came to nothing because it was off.",
            )
        )
    return found


def _confirmed(evidence: Evidence) -> list[Reason]:
    if evidence.enabled:
        return []
    return [Reason("not-enabled", NOT_ENABLED)]
