"""What is said when a ledger takes no line."""

from gnomon.domain.errors import LedgerClosedError, LedgerError


def closed(name: str, reason: str) -> LedgerClosedError:
    """It takes none until it is reopened."""
    return LedgerClosedError(
        f"{name} accepts nothing: {reason}.",
        next_step="It is reopened once the disk is well and its lines are verified.",
        ledger=name,
    )


def refused(name: str, error: OSError) -> LedgerError:
    """The disk did not take this one; the next may fare better."""
    return LedgerError(
        f"The disk refused a line of {name}: {error.strerror or error}.",
        next_step="Nothing was written. Free space or see to the disk; then try again.",
        ledger=name,
        errno=error.errno,
    )
