"""Opening the fold of engagement: from a ledger of any length, only what can still matter."""

from gnomon.domain.ports import Ledger
from gnomon.referee.config import FitnessConfig
from gnomon.referee.engagement import REMEMBERED, Engagement

FEWEST_LINES = 1_024
"""Read at least so many lines back: also when a clock was set, they cover some days."""


def open_engagement(ledger: Ledger, config: FitnessConfig) -> Engagement:
    """The state as of the ledger's head, with what it remembers. O(log n + lines of 28 days)."""
    head = ledger.head
    newest = next(ledger.read(after_seq=max(0, head.seq - 1), until=head), None)
    after, step = head.seq, FEWEST_LINES
    while newest is not None and after > 0:
        after, step = max(0, after - step), step * 2
        oldest = next(ledger.read(after_seq=after, until=head))
        if newest.at - oldest.at > REMEMBERED + config.wall_ms:
            break
    return Engagement(config).take_all(ledger.read(after_seq=after, until=head))
