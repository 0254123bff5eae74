"""The one event stream of all agents: stable step codes, no prose (page 4).

Two events a step: `complete` false, then true. `id` counts in one sequence a gateway life.
"""

from typing import Literal

import msgspec

from gnomon.domain.json_value import Fields

Step = Literal[
    "recall",
    "plan",
    "dispatch",
    "tool",
    "subagent",
    "model",
    "merge",
    "compact",
    "stop_gate",
    "control_gate",
    "artifact",
    "escalate",
]


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`span` pairs the two events of a step; `facts` are small and typed by `step`."""

    agent: str
    run: str
    step: Step
    span: str
    complete: bool
    parent_run: str | None = None
    change_id: str | None = None
    facts: Fields = {}
