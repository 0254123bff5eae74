"""Roles, autonomy, and the one function that decides whether an action may happen.

`policy` is total and fails closed: what it does not know is denied.
"""

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


def policy(role: Role, action: str, autonomy: Autonomy) -> Decision:
    """Decide an action `tool:<name>` of a role at an autonomy.

    Workspace tools are allowed at every autonomy (issue text: they are what the operator
    asked for when they opened a turn). Everything unknown is denied.
    """
    if autonomy not in AUTONOMIES:
        return "deny"
    match role, action.split(":", 1):
        case "resident", ["tool", name] if name in WORKSPACE_TOOLS:
            return "allow"
        case "resident", ["tool", "recall"]:
            return "allow"
        case _:
            return "deny"
