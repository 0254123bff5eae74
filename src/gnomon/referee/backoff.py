"""How long a job that failed waits before it is run again. Pure."""

from gnomon.domain.instants import HOUR, MINUTE, Millis

FIRST_WAIT, LONGEST_WAIT = MINUTE, HOUR
"""Doubled each time (page 1: with back-off)."""
FAILING = 2
"""Failures in a row that lower the autonomy (page 1)."""


class Backoff:
    """Of one job. A run that begins counts as failed until it has succeeded."""

    def __init__(self) -> None:
        self._failures = 0
        self._not_before = Millis(0)

    def waits(self, now: Millis) -> bool:
        """Whether it has failed and is not to be tried again yet.

        Further ahead than the longest wait the moment was put by a clock set back since.
        """
        return self._failures > 0 and 0 < self._not_before - now <= LONGEST_WAIT

    def is_failing(self, *, running: bool) -> bool:
        """Whether the last two runs that ended did so in failure."""
        return self._failures - running >= FAILING

    def begin(self, now: Millis) -> None:
        self._failures += 1
        wait = min(FIRST_WAIT << min(self._failures - 1, 10), LONGEST_WAIT)
        self._not_before = Millis(now + wait)

    def succeed(self) -> None:
        self._failures = 0
