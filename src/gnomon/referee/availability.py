"""When the gateway was there: awake, asleep with the machine, or down. Pure.

Folded from the engagement-ledger's lines, in order of `seq`. Two clocks come of it, both in
milliseconds and both blind to a wall that somebody sets: *steady* time, which goes on while
the machine sleeps, and *awake* time, which passes only while the gateway is up, awake and not
paused. Only their differences mean something, and between two lines those follow from what lies
between: a fold that begins later finds the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from gnomon.domain.instants import SECOND, Millis, parse_iso
from gnomon.domain.ledgers import Line
from gnomon.domain.records_referee import ClockStepped, GatewayStarted, GatewayStopped

SLEEP, PAUSE, CRASH = "sleep", "pause", "crash"
"""Causes of an absence. Any other (`orderly`) is a stop in order."""
SHORTEST_SLEEP = 30
"""Seconds; a shorter sleep is not written down. Half a beat, above any timer's jitter."""

State = Literal["awake", "asleep", "down"]


@dataclass(frozen=True)
class Away:
    """An absence that is over. `start` and `end` are steady times."""

    start: int
    end: int
    cause: str

    @property
    def down(self) -> bool:
        """Whether the gateway was stopped or paused; a sleeping machine only pauses time."""
        return self.cause != SLEEP

    @property
    def milliseconds(self) -> int:
        return self.end - self.start

    def within(self, start: int, end: int) -> int:
        """Milliseconds of it that lie between two steady times."""
        return max(0, min(self.end, end) - max(self.start, start))


class Availability:
    """The fold. It may begin anywhere in the ledger: until a line says otherwise the gateway
    was up, since it wrote the line.
    """

    def __init__(self) -> None:
        self._now: int | None = None  # steady time of the last line
        self._wall = Millis(0)  # and its time by the wall
        self._fell_to: Millis | None = None  # the wall of the last line set back and not noted
        self._noted_from: str | None = None
        self._up_since: int | None = None
        self._awake_before = 0  # awake time up to `up_since`
        self._away_since: int | None = None
        self._cause = ""
        self._assumed = False  # no line has said yet that it is up

    @property
    def now(self) -> int:
        """Steady time of the last line taken."""
        return self._now or 0

    @property
    def is_up(self) -> bool:
        return self._up_since is not None

    @property
    def away_since(self) -> int | None:
        """Steady time since when the gateway is stopped or paused; null while it is up."""
        return self._away_since

    @property
    def noted_from(self) -> str | None:
        """The wall before the step that was noted last."""
        return self._noted_from

    def steady(self, at: Millis) -> int:
        """Steady time of a moment not before the last line. Where the wall is behind that line it
        was set back, and nobody noted how much time went by: none is counted.
        """
        return at if self._now is None else self._now + max(0, at - self._wall)

    def awake(self, steady: int) -> int:
        """Awake time passed until a steady time not before the last line."""
        if self._up_since is None:
            return self._awake_before
        return self._awake_before + max(0, steady - self._up_since)

    def take(self, line: Line) -> Away | None:
        """Take the next line; the absence that it ends, if it ends one.

        A stop may be dated before lines already taken, and a step of the clock may show that
        they ran ahead: times taken from `now` and `awake` meanwhile are to be lowered to what
        these say afterwards.
        """
        last = self._now
        if isinstance(line.body, ClockStepped):
            now, self._fell_to = self._after_step(line.at, line.body), None
            self._noted_from = line.body.wall_before
        else:
            now = self.steady(line.at)
            self._fell_to = line.at if line.at < self._wall else self._fell_to
        self._now, self._wall = now, line.at
        match line.body:
            case GatewayStopped() as stopped:
                self._stop(now - (stopped.gap_seconds or 0) * SECOND, stopped.cause)
            case GatewayStarted() as started:
                return self._start(last, now, started.cause)
            case ClockStepped():
                self._up_since = None if self._up_since is None else min(self._up_since, now)
            case _:
                if self._up_since is None and self._away_since is None:
                    self._up_since, self._assumed = now, True
        return None

    def _stop(self, when: int, cause: str) -> None:
        if self._away_since is not None:
            return  # stopped while paused: it has been away since the pause
        if self._up_since is not None:
            when = max(when, self._up_since)
            self._awake_before += when - self._up_since
        self._up_since, self._away_since, self._cause = None, when, cause
        self._assumed = False

    def _start(self, last: int | None, now: int, cause: str | None) -> Away | None:
        if self._up_since is not None and last is not None:
            # Nothing said that it stopped: the ledger begins for us within a pause, or the
            # heartbeat was lost and the last line is the last sign of life.
            pause = self._assumed and cause == PAUSE
            self._stop(self._up_since if pause else last, cause or CRASH)
        away = None
        if self._away_since is not None:
            away = Away(self._away_since, now, self._cause)
        self._up_since, self._away_since, self._assumed = now, None, False
        return away

    def _after_step(self, at: Millis, stepped: ClockStepped) -> int:
        """Steady time of the line that notes a step of the clock."""
        before, step = parse_iso(stepped.wall_before), stepped.step_seconds * SECOND
        if self._now is None:
            return max(at - step, before)
        fell = self._fell_to is not None and self._fell_to >= before + step - SECOND
        if step < 0 and fell and self._wall <= at:
            return self.steady(at)  # lines show the step already
        passed = max(at - step, before) - self._wall
        if step > 0 and self._wall >= before + step:
            return self._now + passed  # lines ran ahead by it: go back behind them
        return self._now + max(0, passed)


@dataclass(frozen=True)
class Interval:
    """A stretch by the wall; `end` is null for the one that lasts."""

    start: Millis
    end: Millis | None
    state: State
    cause: str | None = None


def intervals(lines: Iterable[Line]) -> list[Interval]:
    """The stretches of a ledger's gateway lines, in order, for people."""
    found: list[Interval] = []
    for line in lines:
        match line.body:
            case GatewayStopped() as stopped:
                since = Millis(line.at - (stopped.gap_seconds or 0) * SECOND)
                state: State = "asleep" if stopped.cause == SLEEP else "down"
                if not found or found[-1].state == "awake":
                    _close(found, since)
                    found.append(Interval(since, None, state, stopped.cause))
            case GatewayStarted():
                _close(found, line.at)
                found.append(Interval(line.at, None, "awake"))
            case _:
                pass
    return found


def _close(found: list[Interval], at: Millis) -> None:
    if found:
        last = found[-1]
        found[-1] = Interval(last.start, max(last.start, at), last.state, last.cause)


def slept(seconds: float, boot_id: str) -> tuple[GatewayStopped, GatewayStarted] | None:
    """What a beat that found the machine to have slept writes; null for a nap too short."""
    if seconds < SHORTEST_SLEEP:
        return None
    gap = round(seconds)
    return (
        GatewayStopped(cause=SLEEP, boot_id=boot_id, gap_seconds=gap, asleep_seconds=gap),
        GatewayStarted(cause=SLEEP, boot_id=boot_id, gap_seconds=gap, asleep_seconds=gap),
    )


def paused(boot_id: str) -> GatewayStopped:
    """What is written when a pause begins, after `engagement.at_stop`."""
    return GatewayStopped(cause=PAUSE, boot_id=boot_id)


def resumed(boot_id: str, seconds: int) -> GatewayStarted:
    """What is written when a pause of so many seconds ends, before `engagement.at_start`."""
    return GatewayStarted(cause=PAUSE, boot_id=boot_id, gap_seconds=seconds)
