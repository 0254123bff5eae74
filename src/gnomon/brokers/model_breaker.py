"""When a failing model is left alone. Pure: time comes as an argument.

Three failures in a row open the breaker; a refused key opens it at once, since asking again
cannot help. It stays open for a back-off that doubles up to six hours. Once that is over a
single trial is allowed, and only while an operator is near: with nobody there a failing
model is never called again, however long that lasts.

The operator's own chat need not wait for hours after the server was mended: its trials are
spaced by seconds.
"""

from typing import Literal

import msgspec

FAILURES_TO_OPEN = 3
FIRST_SECONDS = 60.0
CAP_SECONDS = 6 * 3600.0
FOREGROUND_SECONDS = 15.0
"""An operator's turn may try again this long after the last failure."""

Stand = Literal["closed", "open", "trial"]


class Breaker(msgspec.Struct, frozen=True, kw_only=True):
    """`open_until` and `failed_at` are boot seconds; closed while `open_until` is null."""

    failures: int = 0
    failed_at: float = 0.0
    open_until: float | None = None
    why: str = ""
    next_step: str = ""


def after_failure(
    breaker: Breaker,
    now: float,
    *,
    why: str,
    next_step: str = "",
    at_once: bool = False,
    retry_after: float = 0.0,
) -> Breaker:
    """Count a failure. `at_once` opens without waiting for three; `retry_after` (seconds, the
    server's word) opens at least that long.
    """
    failures = breaker.failures + 1
    if at_once:
        failures = max(failures, FAILURES_TO_OPEN)
    wait = retry_after
    if failures >= FAILURES_TO_OPEN:
        doublings = min(failures - FAILURES_TO_OPEN, 16)
        wait = max(wait, FIRST_SECONDS * 2**doublings)
    return Breaker(
        failures=failures,
        failed_at=now,
        open_until=now + min(wait, CAP_SECONDS) if wait > 0 else None,
        why=why,
        next_step=next_step,
    )


def stand(breaker: Breaker, now: float, *, foreground: bool, operator_present: bool) -> Stand:
    """Whether a call may be made: freely, not at all, or as the one trial."""
    if breaker.open_until is None:
        return "closed"
    if breaker.failures < FAILURES_TO_OPEN and now >= breaker.open_until:
        return "closed"  # a rate limit's wait is over; that is no failing model
    if not operator_present:
        return "open"
    due = breaker.open_until
    if foreground:
        due = min(due, breaker.failed_at + FOREGROUND_SECONDS)
    return "trial" if now >= due else "open"


def shifted(breaker: Breaker, seconds: float) -> Breaker:
    """The same breaker with boot times moved: a restart, perhaps after a reboot."""
    return msgspec.structs.replace(
        breaker,
        failed_at=breaker.failed_at + seconds,
        open_until=None if breaker.open_until is None else breaker.open_until + seconds,
    )
