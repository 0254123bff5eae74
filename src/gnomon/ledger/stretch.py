"""The stretches of time between one setting back of the clock and the next. Pure.

Within a segment of a ledger times never run backwards, so a clock that was set back begins the
next one. Ledgers that share a count begin it with the same number: lines of two of them that lie
in segments of one number were written in the same stretch, whatever their times say.
"""

from gnomon.domain.instants import MINUTE, Millis

STEPPED_BACK = 5 * MINUTE
"""The wall this far behind the last line has stepped back (page 2: more than 300 s)."""


class StretchCount:
    """Counts from 1. `number` is the segment to which the line last dated belongs."""

    def __init__(self) -> None:
        self.number = 1
        self._last_at: Millis | None = None  # the furthest that a line of this stretch is dated

    def join(self, number: int, last_at: Millis | None) -> None:
        """A ledger that shares the count ends in this segment, and with this time in it."""
        if number > self.number:
            self.number, self._last_at = number, None
        if number == self.number and last_at is not None:
            self._last_at = last_at if self._last_at is None else max(last_at, self._last_at)

    def date(self, wall: Millis) -> Millis:
        """The time of a line that is about to be written, never before that of another line of
        the stretch; its wall may show that the clock was set back.
        """
        if self._last_at is not None and wall < self._last_at - STEPPED_BACK:
            self.begin()
        self._last_at = wall if self._last_at is None else max(wall, self._last_at)
        return self._last_at

    def set_back(self, wall: Millis) -> None:
        """The clock was seen to be set back, to `wall`; a line may have shown it before."""
        if self._last_at is not None and wall < self._last_at:
            self.begin()

    def begin(self) -> None:
        """The next stretch, unless this one holds no line yet."""
        if self._last_at is not None:
            self.number, self._last_at = self.number + 1, None
