"""What a tool answers, and how one says that it could not."""

from typing import Literal

import msgspec

FaultCode = Literal[
    "FILE_NOT_FOUND",
    "NOT_A_FILE",
    "NOT_A_FOLDER",
    "BINARY",
    "DENIED",
    "NOT_FOUND",
    "NOT_UNIQUE",
    "INVALID_PATTERN",
    "TOO_LARGE",
    "NO_SPACE",
    "IO_ERROR",
    "EXIT_NONZERO",
    "TIMEOUT",
    "TOOL_DIED",
    "HELD",
]
"""Stable: observations count failures by these, and procedures are learnt from them."""

HELD: FaultCode = "HELD"
"""It waits for the operator, and nothing was done. That is no failure: the run goes on."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`error` is a stable code, or null. `text` is for the model in both cases."""

    text: str
    error: str | None = None


class ToolFaultError(Exception):
    """The tool could not do what was asked; `reason` tells the model why."""

    def __init__(self, code: FaultCode, reason: str) -> None:
        super().__init__(reason)
        self.code: FaultCode = code
        self.reason = reason

    def outcome(self) -> Outcome:
        return Outcome(text=self.reason, error=self.code)
