"""What truly happened in a simulated life, in true time: what no program in it can know, and
what its ledgers are judged by.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Literal

from gnomon.domain.instants import SECOND, Millis
from gnomon.domain.records_referee import OutcomeKind
from gnomon.simulate.edits import Edit

PLAIN = Edit("")
WAKING = Millis(5 * SECOND)
Ended = Literal["orderly", "killed", "asleep", "paused"]


@dataclass(frozen=True)
class Span:
    """The gateway was up, awake and not paused from `start` to `end`, and then `ended` so."""

    start: Millis
    end: Millis
    ended: Ended


@dataclass(frozen=True)
class Did:
    """What the operator did with a surface, and was not refused."""

    surface_id: str
    outcome: OutcomeKind
    at: Millis


@dataclass(frozen=True)
class Called:
    """A model call that began at `start`, and took so many seconds awake until `end`."""

    purpose: str
    start: Millis
    end: Millis
    seconds: float


@dataclass
class Story:
    """`signs` are of the operator. `steps` counts how often the wall was set."""

    signs: list[Millis] = field(default_factory=list[Millis])
    spans: list[Span] = field(default_factory=list[Span])
    did: list[Did] = field(default_factory=list[Did])
    called: list[Called] = field(default_factory=list[Called])
    steps: int = 0
    restarts: int = 0
    faults: dict[str, int] = field(default_factory=dict[str, int])
    prompts: dict[str, Edit] = field(default_factory=dict[str, Edit])
    """What the prompt of each scaffold version truly does."""
    paused_until: int = 0
    pauses: int = 0
    _since: Millis | None = None

    def prompt(self, version: str) -> Edit:
        return self.prompts.get(version, PLAIN)

    def up(self, at: Millis) -> None:
        """It is up, awake and, unless it is paused, there from now on."""
        if self._since is None and at >= self.paused_until:
            self._since = at

    def away(self, at: Millis, ended: Ended) -> None:
        """It no longer is."""
        if self._since is not None:
            self.spans.append(Span(self._since, at, ended))
            self._since = None

    def pause(self, at: Millis, until: Millis) -> None:
        self.away(at, "paused")
        self.paused_until, self.pauses = until, self.pauses + 1

    @property
    def is_up(self) -> bool:
        return self._since is not None

    def awake_between(self, start: Millis, end: Millis) -> int:
        """Milliseconds of it being there, in a stretch of time."""
        return sum(
            max(0, min(span.end, end) - max(span.start, start))
            for span in self.spans
            if span.end > start and span.start < end
        )

    def near_at(self, at: Millis) -> Millis | None:
        """The operator's last sign up to a moment. `signs` are in order."""
        index = bisect_right(self.signs, at)
        return self.signs[index - 1] if index else None

    def awake_before(self, at: Millis) -> Millis:
        """The moment itself; of the first seconds after a sleep, the moment when the machine
        fell asleep: a tick that was decided by then goes on where it was.
        """
        slept = [span for span in self.spans if span.ended == "asleep" and span.end <= at]
        woke = next((span.start for span in self.spans if slept and span.start > slept[-1].end), at)
        if slept and at - woke <= WAKING:
            return slept[-1].end
        return at

    def count(self, fault: str) -> None:
        self.faults[fault] = self.faults.get(fault, 0) + 1
