"""From an operation's outcome to the words and the status of an answer. Pure.

A success is the result itself as JSON. A failure is
`{"err": {"code", "message", "next_step", "facts"}}`, with a status that means what it means
everywhere on the web. A stream is lines: `{"part": ...}` as they come, then one
`{"ok": ...}` or `{"err": ...}`.
"""

from typing import Any

import msgspec

from gnomon.domain import errors
from gnomon.domain.errors import GnomonError
from gnomon.domain.json_value import Fields


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why an answer is no success, for programs (`code`, `facts`) and for people."""

    code: str
    message: str
    next_step: str = ""
    facts: Fields = {}


class ForbiddenError(GnomonError):
    """A request came from where it may not come, or asks for more than its proof allows."""

    code = "forbidden"


class UnauthorisedError(GnomonError):
    """Nobody in particular asked."""

    code = "unauthorised"


class TooManyTriesError(GnomonError):
    """Wrong proofs kept coming."""

    code = "too-many-tries"


class NotFoundError(GnomonError):
    """There is nothing of that name."""

    code = "not-found"


class MethodError(GnomonError):
    """The right name by the wrong method. Facts: `allow`."""

    code = "method"


class TooLargeError(GnomonError):
    """The body is larger than the bound. Facts: `limit_bytes`."""

    code = "too-large"


class BusyError(GnomonError):
    """Too many at once."""

    code = "busy"


class MediaTypeError(GnomonError):
    """The body is not declared as JSON: which also keeps other sites' forms out."""

    code = "media-type"


STATUS: dict[type[GnomonError], int] = {
    errors.UsageError: 400,
    errors.TrustError: 403,
    errors.ToolNotFoundError: 404,
    errors.NeedsOperatorError: 409,
    errors.HomeLockedError: 409,
    errors.ConflictError: 409,
    errors.CancelledByPeerError: 409,
    errors.PausedError: 409,
    errors.BudgetError: 429,
    errors.ModelRateLimitError: 429,
    errors.ModelAuthError: 502,
    errors.ModelRequestError: 502,
    errors.ModelReplyError: 502,
    errors.InvalidOutputError: 502,
    errors.ModelTimeoutError: 504,
    errors.ModelError: 503,
    errors.LedgerClosedError: 503,
    errors.DiskError: 507,
    errors.PipeError: 503,
    UnauthorisedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    MethodError: 405,
    TooLargeError: 413,
    MediaTypeError: 415,
    TooManyTriesError: 429,
    BusyError: 503,
}
"""The nearest class of an error counts; what is not listed is 500: ours to mend."""


def status_of(error: Exception) -> int:
    """The HTTP status of an error."""
    found = (STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    return next(found, 500)


def refusal_of(error: Exception) -> Refusal:
    """What may be said of an error. Of one that nobody foresaw: nothing but that it happened."""
    if isinstance(error, GnomonError):
        return Refusal(
            code=error.code, message=error.message, next_step=error.next_step, facts=error.facts
        )
    return Refusal(
        code="internal",
        message="Something inside Gnomon broke.",
        next_step="The log of the gateway says what: see `gnomon doctor`.",
    )


def success(result: Any) -> bytes:
    return msgspec.json.encode(result)


def failure(error: Exception) -> bytes:
    return msgspec.json.encode({"err": refusal_of(error)})


def part_line(part: Fields) -> bytes:
    return msgspec.json.encode({"part": part}) + b"\n"


def ok_line(result: Any) -> bytes:
    return msgspec.json.encode({"ok": result}) + b"\n"


def failure_line(error: Exception) -> bytes:
    return failure(error) + b"\n"
