"""`config.toml`: what the operator may set. Unknown keys are errors, each with its line."""

import msgspec

from gnomon.domain.policy import Autonomy
from gnomon.domain.records import Mode


class KernelConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The resident: `tick_ms` 120000 by default (seed 1, phase 1), floor 1000."""

    tick_ms: int = 120_000
    mode: Mode = "soft"
    salience_gate: bool = False
    idle_activity_gate_minutes: int = 30
    max_duty_cycle: float = 0.10


class ModelConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`name` is `embedded`, `none`, or a model of the server at `url` (ends in `/v1`).

    `key_env` names the environment variable that holds the key, `key_file` a 0600 file.
    """

    name: str = "embedded"
    url: str = ""
    key_env: str = ""
    key_file: str = ""
    timeout_seconds: float = 120.0
    idle_seconds: int = 300
    usd_per_million_in: float = 0.0
    usd_per_million_out: float = 0.0


class BudgetConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    usd_per_day: float = 1.00
    tokens_per_day: int = 2_000_000


class ImproveConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    autonomy: Autonomy = "full"


class GatewayConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    port: int = 4666
    allow_unjailed: bool = False


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kernel: KernelConfig = KernelConfig()
    model: ModelConfig = ModelConfig()
    budget: BudgetConfig = BudgetConfig()
    improve: ImproveConfig = ImproveConfig()
    gateway: GatewayConfig = GatewayConfig()
