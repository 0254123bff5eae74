"""Roles, autonomy, and the one function that decides whether an action may happen.

`policy` is total and fails closed: what it does not know is denied.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Role = Literal[
    "gateway",
    "resident",
    "tool-host",
    "fitness-writer",
    "judge",
    "refiner",
    "reviewer",
    "proposer",
    "summarizer",
    "distiller",
    "consolidator",
    "compactor",
    "importer",
    "recall",
    "probe",
    "model-host",
    "mcp-server",
    "operator",
    "client",
]
"""Whoever may act or ask. What each may do is `gnomon.trust.roles`."""
ROLES: tuple[Role, ...] = get_args(Role)

Autonomy = Literal["off", "memory", "skills", "full"]
AUTONOMIES: tuple[Autonomy, ...] = get_args(Autonomy)
"""From the lowest to the highest; a higher one never forbids what a lower one allows."""
Decision = Literal["allow", "hold", "deny"]

WORKSPACE_TOOLS = ("read", "write", "edit", "list", "search", "shell")
"""Run in the tool host, inside the workspace and the granted folders."""


WRITES = ("write", "edit")
"""The workspace tools of which it can be said beforehand what a file will hold."""
WRITE_WHERE_READ = "file.write:read-only"
"""To write a file in a folder that the operator granted for reading."""


@dataclass(frozen=True)
class Rule:
    """What a role may do from an autonomy on. Rules only add to one another."""

    role: Role
    action: str
    decision: Decision
    least: Autonomy = "off"


RULES: tuple[Rule, ...] = (
    # At every autonomy: they are what the operator asked for when they opened a turn.
    *(Rule("resident", f"tool:{name}", "allow") for name in (*WORKSPACE_TOOLS, "recall")),
    # Whatever the autonomy, nobody but the operator decides it: so it is held at each.
    Rule("resident", WRITE_WHERE_READ, "hold"),
)
"""All that is not denied."""

_WIDTH: Mapping[Decision, int] = {"deny": 0, "hold": 1, "allow": 2}


def lower(one: Autonomy, other: Autonomy) -> Autonomy:
    """The lower of two autonomies."""
    return one if AUTONOMIES.index(one) <= AUTONOMIES.index(other) else other


def policy(role: Role, action: str, autonomy: Autonomy) -> Decision:
    """Decide an action of a role at an autonomy: the widest rule that reaches it.

    Everything unknown is denied. A higher autonomy reaches every rule that a lower one does, so
    that no lower one can be wider.
    """
    if autonomy not in AUTONOMIES:
        return "deny"
    height = AUTONOMIES.index(autonomy)
    reached: list[Decision] = [
        rule.decision
        for rule in RULES
        if rule.role == role and rule.action == action and AUTONOMIES.index(rule.least) <= height
    ]
    return max(["deny", *reached], key=_WIDTH.__getitem__)
