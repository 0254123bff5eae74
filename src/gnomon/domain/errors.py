"""One tree of errors. Each carries a stable code, facts for programs, and what to do next.

`str(error)` is a sentence for people: what happened, then the next step. `code` crosses
process borders (`err{code, facts}` on the pipe, `{"error": code}` over HTTP) and is never
localised.
"""

from collections.abc import Mapping
from typing import ClassVar

from gnomon.domain.json_value import Json


class GnomonError(Exception):
    """The root. `facts` say where and what; `next_step` says what the reader can do."""

    code: ClassVar[str] = "gnomon"

    def __init__(self, message: str, *, next_step: str = "", **facts: Json) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step
        self.facts: Mapping[str, Json] = facts

    def __str__(self) -> str:
        return f"{self.message} {self.next_step}".strip()


class UsageError(GnomonError):
    """The caller's words are off (CLI exit code 2)."""

    code = "usage"


class NeedsOperatorError(GnomonError):
    """Only the operator can go on from here (CLI exit code 3)."""

    code = "needs-operator"


class ConfigError(UsageError):
    """A config file is wrong. Facts: `file`, `line`."""

    code = "config"


class HomeError(GnomonError):
    """The home cannot be used: newer format, foreign files, no permission."""

    code = "home"


class HomeLockedError(HomeError):
    """Another Gnomon runs this home. Facts: `pid`, `url`."""

    code = "home-locked"


class DiskError(GnomonError):
    """The disk takes nothing: full, read-only or failing. Facts: `errno`, `path`."""

    code = "disk"


class LedgerError(GnomonError):
    """A ledger cannot be read or written. Facts: `ledger`, and `line` where one is to blame."""

    code = "ledger"


class LedgerCorruptError(LedgerError):
    """A line is not what was acknowledged. Facts: `ledger`, `line`, `reason`."""

    code = "ledger-corrupt"


class LedgerClosedError(LedgerError):
    """A write or sync failed; nothing is accepted until it is reopened and verified."""

    code = "ledger-closed"


class RecordError(GnomonError):
    """A record does not fit its schema. Facts: `kind`, `reason`."""

    code = "record"


class ScaffoldError(GnomonError):
    """A scaffold file cannot be used or written. Facts: `file`, `line` (0: the whole file)."""

    code = "scaffold"


class StateError(GnomonError):
    """A state file is not what Gnomon wrote. Facts: `path`, `reason`."""

    code = "state"


class SelfStateError(GnomonError):
    """A persisted self-state cannot be read. Facts: `version` where it names one."""

    code = "self-state"


class TrustError(GnomonError):
    """Something was asked that the trust table does not grant. Facts: `role`, `op`."""

    code = "denied"


class ToolNotFoundError(TrustError):
    """The tool is not granted; for the agent it does not exist. Facts: `tool`."""

    code = "tool-not-found"


class ScopedToolViolationError(TrustError):
    """A tool was used beyond its scope, or is none of the role's. Facts: `role`, `tool`,
    `reason`.
    """

    code = "scoped-tool-violation"


class ConflictError(GnomonError):
    """What it was to act on is no longer as it was: somebody else changed it, or decided.
    Nothing was done. Facts: what was found.
    """

    code = "conflict"


class JailError(GnomonError):
    """The jail could not be built or did not hold. Facts: `role`, `level`, `probe`."""

    code = "jail"


class PipeError(GnomonError):
    """The other process broke the protocol or went away."""

    code = "pipe"


class CancelledByPeerError(GnomonError):
    """The caller took its request back."""

    code = "cancelled"


class ModelError(GnomonError):
    """A model call did not give a usable reply. Subclasses say why."""

    code = "model"


class ModelUnavailableError(ModelError):
    """No answer: refused, reset, 5xx, or its process died."""

    code = "model-unavailable"


class ModelTimeoutError(ModelError):
    """It did not answer within its bound. Facts: `seconds`."""

    code = "model-timeout"


class ModelAuthError(ModelError):
    """The key is missing or refused (401, 403). Never retried."""

    code = "model-auth"


class ModelRateLimitError(ModelError):
    """429. Facts: `retry_after_seconds` where the server said one."""

    code = "model-rate-limit"


class ModelRequestError(ModelError):
    """The server refused the request as malformed (other 4xx). Never retried."""

    code = "model-request"


class ModelReplyError(ModelError):
    """The reply is garbage, or larger than the bound."""

    code = "model-reply"


class InvalidOutputError(ModelError):
    """The reply does not fit the schema, also after one retry with the error."""

    code = "invalid-output"


class NoModelError(ModelError):
    """No model is configured (`GNOMON_MODEL=none`, or the weights are not there)."""

    code = "no-model"


class BudgetError(ModelError):
    """The budget or the duty cycle forbids the call. Facts: `bound`, `until`."""

    code = "budget"


class BreakerOpenError(ModelError):
    """Repeated failures: no call is made until `until`."""

    code = "breaker-open"


class PausedError(ModelError):
    """Gnomon is paused; no call is made. Facts: `until`."""

    code = "paused"
