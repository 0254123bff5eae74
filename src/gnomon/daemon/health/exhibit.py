"""A simulated home, shown as it ended: its clock goes on from its last moment, no model is
asked, and nothing is written by itself. A life that nobody lived must not grow.
"""

from dataclasses import dataclass, replace

from gnomon.daemon.platform import Platform
from gnomon.daemon.store import heartbeat
from gnomon.domain.instants import SECOND, Millis
from gnomon.domain.ports import Clock
from gnomon.home import Home

NO_MODEL = {"GNOMON_MODEL": "none"}
MODEL_VARIABLES = ("GNOMON_MODEL_URL", "GNOMON_MODEL_KEY")


@dataclass(frozen=True)
class ClockFrom:
    """The wall goes on from `start`, as the machine's other clocks do from when it was made."""

    clock: Clock
    start: Millis
    began: float

    def wall(self) -> Millis:
        return Millis(self.start + round((self.clock.boottime() - self.began) * SECOND))

    def monotonic(self) -> float:
        return self.clock.monotonic()

    def boottime(self) -> float:
        return self.clock.boottime()


def exhibited(home: Home, platform: Platform) -> Platform:
    """What a simulated home is shown by. One without a heartbeat never lived: it is shown at
    the machine's own time.
    """
    clock = platform.clock
    last = heartbeat.read(home.heartbeat)
    start = last.wall if last is not None else clock.wall()
    kept = {name: said for name, said in platform.environ.items() if name not in MODEL_VARIABLES}
    return replace(
        platform,
        clock=ClockFrom(clock, start, clock.boottime()),
        environ={**kept, **NO_MODEL},
    )
