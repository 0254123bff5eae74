"""Where the fitness-ledger stands: what the writer needs of it to go on. Pure.

Folded from the ledger's lines. It goes to the writer over the pipe; the writer takes the
lines that it makes into its own copy, the gateway those that it appended into its own.
"""

import msgspec

from gnomon.domain.ledgers import LedgerName
from gnomon.domain.records import AnchoredHead, Body
from gnomon.domain.records_referee import Amendment, Gap, Window, WindowMeasured
from gnomon.referee.fitness import NOTHING

DECISIONS: LedgerName = "decision-ledger"
ENGAGEMENT: LedgerName = "engagement-ledger"
"""The ledgers that a line's `inputs` cite."""


class StandingLine(msgspec.Struct, kw_only=True):
    """The line that stands for a window. Its surfaces were emitted in engagement lines with
    `seq` above `after`.
    """

    body: Window | Amendment
    after: int


class FitnessTail(msgspec.Struct, kw_only=True):
    """`decision` and `engagement` are the last lines that a window has used, `engagement_before`
    the one that the window before it used. `standing` holds, by `window_start`, the windows
    that may yet be amended, and the last one.
    """

    decision: AnchoredHead = NOTHING
    engagement: AnchoredHead = NOTHING
    engagement_before: int = 0
    last_start: str | None = None
    last_end: str | None = None
    highest_end: str = ""
    standing: dict[str, StandingLine] = {}

    def take(self, body: Body) -> None:
        """Take the next line of the ledger."""
        if isinstance(body, Gap):
            self._ends(body.window_end)
        if isinstance(body, Window | Amendment):
            self._take_window(body)

    def settle(self) -> None:
        """Forget the windows that nothing will amend any more."""
        for start, standing in list(self.standing.items()):
            if standing.body.mature and start != self.last_start:
                del self.standing[start]

    @property
    def after(self) -> int:
        """Every engagement line that matters from here on has a `seq` above this."""
        return min((each.after for each in self.standing.values()), default=self.engagement_before)

    def is_lived(self, start: str) -> bool:
        """Whether a window that begins so may have been measured already."""
        return start < self.highest_end

    def _ends(self, end: str) -> None:
        self.last_end, self.highest_end = end, max(end, self.highest_end)

    def _take_window(self, body: Window | Amendment) -> None:
        start = body.window_start
        known = self.standing.get(start)
        after = known.after if known is not None else self.engagement_before
        if isinstance(body, Window) or _has_newer_decisions(body, known):
            self._next_window(body)
        self.standing[start] = StandingLine(body=body, after=after)

    def _next_window(self, body: WindowMeasured) -> None:
        self.decision = body.inputs[DECISIONS]
        self.engagement_before, self.engagement = self.engagement.seq, body.inputs[ENGAGEMENT]
        self.last_start = body.window_start
        self._ends(body.window_end)


def _has_newer_decisions(body: Amendment, known: StandingLine | None) -> bool:
    """Whether the window was entered again, and not only its engagement resolved."""
    return known is not None and known.body.inputs[DECISIONS] != body.inputs[DECISIONS]
