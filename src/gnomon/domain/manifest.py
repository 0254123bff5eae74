"""The manifest: the record that makes one kernel into one agent (page 4, AK-1)."""

import msgspec


class ModelChoice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`name` null means the operator's current model. `context_budget` is in tokens."""

    name: str | None = None
    temperature: float = 0.2
    max_tokens: int = 1024
    context_budget: int = 8192


class Stop(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`max_loops` is only a circuit-breaker; a run that ends on it says so."""

    max_loops: int = 24
    max_identical_calls: int = 3
    """The same tool call with the same arguments this often in a row ends the run."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`prompts` maps a slot (`system`) to `name@label`; `tools` names what exists for it."""

    id: str
    title: str
    model: ModelChoice = ModelChoice()
    prompts: dict[str, str] = {}
    tools: tuple[str, ...] = ()
    stop: Stop = Stop()
