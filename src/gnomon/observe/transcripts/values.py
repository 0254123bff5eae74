"""Small readings that every format shares: instants, counts, texts."""

from gnomon.domain.instants import Millis, parse_iso
from gnomon.domain.plain_text import clean, cut

TASK = 2_000
"""Characters kept of what a user wrote in a turn."""
ANSWER = 4_000
"""Characters kept of what the agent wrote last in a turn."""
LARGEST = 2**53 - 1
"""The largest integer that a ledger can hold; what is above it is not known."""


def instant(stamp: str | None) -> Millis | None:
    """The instant that a text names; null when it names none (none is made up)."""
    if stamp is None or not 10 <= len(stamp) <= 40:
        return None
    try:
        return parse_iso(stamp)
    except (ValueError, OverflowError):
        return None


def count(number: float | None) -> int:
    """A token count; 0 for what is absent, negative or absurd."""
    if number is None or not 0 <= number <= LARGEST:
        return 0
    return int(number)


def bounded(text: str, limit: int) -> str:
    """Cleaned and cut; looks at no more than it needs."""
    return cut(clean(text[: limit * 2]), limit)
