"""Opening the fold of engagement: from a ledger of any length, only what can still matter."""

from gnomon.domain.ports import Ledger
from gnomon.referee.config import FitnessConfig
from gnomon.referee.engagement import Engagement

FEWEST_LINES = 4_096
"""Read at least so many lines back: also when a clock was set, they cover many days."""


def open_engagement(ledger: Ledger, config: FitnessConfig) -> Engagement:
    """The state as of the ledger's head. O(log n + lines of the last six horizons).

    Twice the wall's bound, so that every surface that is still open is found, and the
    absences that it lived through.
    """
    head = ledger.head
    newest = next(ledger.read(after_seq=max(0, head.seq - 1), until=head), None)
    after, step = head.seq, FEWEST_LINES
    while newest is not None and after > 0:
        after, step = max(0, after - step), step * 2
        oldest = next(ledger.read(after_seq=after, until=head))
        if newest.at - oldest.at > 2 * config.wall_ms:
            break
    return Engagement(config).take_all(ledger.read(after_seq=after, until=head))
