"""Is it time for the refiner, and is it quiet enough? (pages 3 and 6.) Pure.

Readiness is another question (`readiness`). This one is asked at each beat, in words that
`gnomon jobs list` shows.
"""

from dataclasses import dataclass
from typing import Literal

from gnomon.domain.instants import DAY, HOUR, MINUTE, Millis
from gnomon.domain.records import SkipReason

IDLE = 15 * MINUTE
"""Since the operator's last sign."""
GONE = 3 * DAY
"""Longer than a weekend: nobody is there whom an edit could serve, and no call is made."""

NotDue = Literal["early", "turn", "near", "gone", "judging", "waiting", "budget", "model"]
SENTENCES: dict[NotDue, str] = {
    "early": "Its next time has not come.",
    "turn": "A turn is under way.",
    "near": "You were here within the last 15 minutes.",
    "gone": "You have not been here for 3 days.",
    "judging": "A change is being tested.",
    "waiting": "A change waits to be tested.",
    "budget": "The budget, the duty cycle or a pause forbids a call.",
    "model": "The model fails, and is left alone for now.",
}


@dataclass(frozen=True)
class Every:
    """Whichever comes first."""

    ticks: int
    hours: float


@dataclass(frozen=True)
class Last:
    """When it last ran, and how many ticks there had been; null: never."""

    at: Millis | None = None
    ticks: int = 0


@dataclass(frozen=True)
class Quiet:
    """`idle` is milliseconds since the operator's last sign, on a clock that nobody sets."""

    turn_in_flight: bool
    idle: int
    under_judgment: bool
    waiting: bool


def has_come(every: Every, last: Last, ticks: int, now: Millis) -> bool:
    """A clock that was set back makes no time pass; ticks go on."""
    return (
        last.at is None or ticks - last.ticks >= every.ticks or now - last.at >= every.hours * HOUR
    )


def next_at(every: Every, last: Last, now: Millis) -> Millis:
    """When its time comes by the clock, if ticks do not bring it before."""
    return now if last.at is None else max(now, Millis(last.at + round(every.hours * HOUR)))


def not_quiet(quiet: Quiet) -> NotDue | None:
    """What is in the way, though its time has come; null: nothing."""
    match quiet:
        case Quiet(turn_in_flight=True):
            return "turn"
        case Quiet(under_judgment=True):
            return "judging"
        case Quiet(waiting=True):
            return "waiting"
        case Quiet(idle=idle) if idle < IDLE:
            return "near"
        case Quiet(idle=idle) if idle > GONE:
            return "gone"
        case _:
            return None


def refusal(reason: SkipReason | None) -> NotDue | None:
    """The same of what would refuse its calls, by the word of a skipped tick."""
    match reason:
        case None:
            return None
        case "model-error" | "no-model":
            return "model"
        case _:
            return "budget"
