"""The tiers of change, as data, and which changes may be applied without asking (page 6). Pure.

A change may narrow what the agent may do, never widen it: tools, scopes, autonomy, budgets and
this table are reachable by no change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gnomon.domain.policy import AUTONOMIES, Autonomy, Decision
from gnomon.domain.records_change import Tier

Gate = Literal["none", "check", "probe"]
Approval = Literal["no", "unless-clean", "always"]
"""`unless-clean`: held, but for what is distilled from clean repetitions where the operator
said `skills.auto`."""


@dataclass(frozen=True)
class TierRow:
    """One tier as people read it. `autonomy`: the least at which it may happen unasked."""

    tier: Tier
    name: str
    what: str
    gate: Gate
    approval: Approval
    watched_by: str
    undone_by: str
    autonomy: Autonomy


SCAFFOLD = "scaffold"
COMPOSED = "composed"

TIERS: Mapping[tuple[Tier, str], TierRow] = {
    ("T0", ""): TierRow(
        "T0",
        "Memory",
        "observations, digests, notes",
        "none",
        "no",
        "nothing",
        "removing the record",
        "memory",
    ),
    ("T1", ""): TierRow(
        "T1",
        "Skills",
        "skills, rules copied to other agents",
        "none",
        "unless-clean",
        "uses and corrections",
        "its backup",
        "skills",
    ),
    ("T2", COMPOSED): TierRow(
        "T2",
        "Instructions, composed",
        "prompt sections, skill folders, tool toggles",
        "probe",
        "no",
        "the watch window, then the judge",
        "the prior version",
        "full",
    ),
    ("T2", SCAFFOLD): TierRow(
        "T2",
        "Instructions",
        "the scaffold's prompt files",
        "check",
        "no",
        "early revert on unusable replies, then the judge",
        "the prior version",
        "full",
    ),
    ("T3", ""): TierRow(
        "T3",
        "Code",
        "a skill with scripts, or an MCP server",
        "probe",
        "always",
        "nothing",
        "removing the bundle",
        "full",
    ),
}
"""By tier and part: `scaffold` files and what is `composed` are both T2."""


def may_apply(tier: Tier, part: str, autonomy: Autonomy) -> Decision:
    """Whether a change that passed its gate is applied, held for the operator, or dropped.

    What the table does not know is denied; so is what asks for more autonomy than there is.
    """
    row = TIERS.get((tier, part))
    if row is None or autonomy not in AUTONOMIES:
        return "deny"
    if row.approval != "no":
        return "hold"
    enough = AUTONOMIES.index(autonomy) >= AUTONOMIES.index(row.autonomy)
    return "allow" if enough else "deny"
