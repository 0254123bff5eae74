"""The clocks, as the engagement-ledger last knew of them: in memory while a gateway lives, and for
whoever comes after in the heartbeat's file.
"""

from pathlib import Path

from msgspec.structs import replace

from gnomon import clock_step
from gnomon.clock_step import ClockChange
from gnomon.daemon.store import heartbeat
from gnomon.daemon.store.heartbeat import Heartbeat
from gnomon.domain.instants import SECOND, Millis
from gnomon.domain.ports import Clock


class Watch:
    """`boot` is the kernel's id of this boot. Until `begin`, and for a verb of the CLI that never
    does, what is known is the heartbeat of the life before.
    """

    def __init__(self, clock: Clock, path: Path, boot: str) -> None:
        self.boot = boot
        self._clock = clock
        self._path = path
        self._last: Heartbeat | None = None

    @property
    def lives(self) -> bool:
        """Whether a gateway lives: else it is away, which the ledger says."""
        return self._last is not None

    @property
    def last(self) -> Heartbeat | None:
        """What the ledger knows of; null on the first start of all."""
        return self._last or heartbeat.read(self._path)

    def look(self) -> tuple[Heartbeat, ClockChange]:
        """The clocks now, and what changed since `last`."""
        now = heartbeat.now(self._clock, self.boot)
        if self._last is not None:
            return now, clock_step.between(heartbeat.reading(self._last), heartbeat.reading(now))
        last = self.last
        step = 0 if last is None else heartbeat.step_seconds(last, now)
        return now, ClockChange(step, asleep_seconds=0.0)

    def stepped(self, seconds: int) -> None:
        """A step is on the ledger: what is known is told by the new wall, also after a crash."""
        last = self.last
        if last is not None:
            known = replace(last, wall=Millis(last.wall + seconds * SECOND))
            self._last = known if self.lives else None
            heartbeat.write(self._path, known)

    def seen(self, now: Heartbeat) -> None:
        """All that happened up to now is on the ledger."""
        self._last = now

    def begin(self, now: Heartbeat) -> None:
        """A life begins."""
        self._last = now
        heartbeat.write(self._path, now)

    def beat(self, *, ended: bool = False) -> None:
        """Write down that it is alive. A step that no ledger has taken yet is left out of it, so
        that the next look, or the next life, finds it.
        """
        now, change = self.look()
        wall = Millis(now.wall - change.step_seconds * SECOND)
        heartbeat.write(self._path, replace(now, wall=wall, ended=ended))

    def end(self) -> None:
        """The life ended in order."""
        self.beat(ended=True)
        self._last = None
