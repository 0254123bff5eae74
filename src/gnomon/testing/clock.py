"""A clock that moves when told, and ids that count."""

from gnomon.domain.instants import SECOND, Millis

START = Millis(1_780_000_000_000)
"""28 May 2026, 20:26:40 UTC: where a fake clock begins unless told otherwise."""


class FakeClock:
    """All three clocks; they move together but where the methods say."""

    def __init__(self, wall: Millis = START, *, boottime: float = 1_000.0) -> None:
        self._wall = wall
        self._boottime = boottime
        self._monotonic = boottime

    def wall(self) -> Millis:
        return self._wall

    def monotonic(self) -> float:
        return self._monotonic

    def boottime(self) -> float:
        return self._boottime

    def advance(self, seconds: float) -> None:
        """Time goes by, awake."""
        self.sleep(seconds)
        self._monotonic += seconds

    def sleep(self, seconds: float) -> None:
        """The machine sleeps: wall and boot time go on, the monotonic clock stands still."""
        self._wall = Millis(self._wall + round(seconds * SECOND))
        self._boottime += seconds

    def step(self, seconds: float) -> None:
        """Someone sets the wall clock; no time goes by."""
        self._wall = Millis(self._wall + round(seconds * SECOND))

    def reboot(self, seconds: float) -> None:
        """The machine is off for so long, and its boot clock begins anew."""
        self.step(seconds)
        self._boottime = 0.0
        self._monotonic = 0.0


class SequenceIds:
    """`prefix-000001` and on: the same in every run."""

    def __init__(self) -> None:
        self._last = 0

    def new(self, prefix: str) -> str:
        self._last += 1
        return f"{prefix}-{self._last:06d}"
