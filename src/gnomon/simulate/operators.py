"""Simulated operators: when they are at the machine, what they say, and how they answer what
is brought to them. Pure: a plan is a function of name, seed and days; an answer of the seed
and the surface.
"""

from collections.abc import Iterator
from random import Random
from typing import Literal, get_args

import msgspec

from gnomon.domain.instants import DAY, HOUR, MINUTE, SECOND, Millis
from gnomon.domain.records import SurfaceKind

Name = Literal["attentive", "busy", "absent", "stops-the-gateway", "diurnal", "ordinary"]
NAMES: tuple[Name, ...] = get_args(Name)
SAYINGS = (
    "how did I fix the flaky login test?",
    "what is left of the release?",
    "use pnpm, not npm",
    "summarise what you looked at today",
    "which query was slow again?",
)
MACHINE_SLEEPS_AFTER = 30 * MINUTE
"""The lid is closed so long after the operator went."""


class Habits(msgspec.Struct, frozen=True, kw_only=True):
    """Hours are of the day, UTC; pairs are the least and the most of an even spread.

    `acts` and `dismisses` are the chances that a surface is acted on or dismissed once it was
    looked at; what is left passes. `delay` is how many seconds later. `naps`: the machine
    sleeps at night and, one in three days, an hour at noon.
    """

    wakes: float = 8.0
    sleeps: float = 22.0
    turns: tuple[int, int] = (2, 5)
    looks: tuple[int, int] = (3, 6)
    acts: float = 0.45
    dismisses: float = 0.25
    delay: tuple[int, int] = (20, 15 * 60)
    days_off: float = 0.1
    stops: tuple[int, int] = (0, 0)
    stopped_minutes: tuple[int, int] = (5, 600)
    restarts_a_week: float = 0.0
    pauses_a_week: float = 0.0
    naps: bool = False


HABITS: dict[Name, Habits] = {
    "attentive": Habits(
        wakes=7.0,
        sleeps=23.0,
        turns=(6, 10),
        looks=(14, 20),
        acts=0.7,
        dismisses=0.2,
        delay=(10, 300),
        days_off=0.0,
    ),
    "busy": Habits(turns=(1, 3), looks=(1, 2), acts=0.2, dismisses=0.35, delay=(60, 3 * 3600)),
    "absent": Habits(turns=(0, 0), looks=(0, 0), days_off=1.0),
    "stops-the-gateway": Habits(stops=(1, 4), acts=0.3, dismisses=0.3),
    "diurnal": Habits(wakes=7.5, sleeps=22.5, naps=True, acts=0.5, days_off=0.05),
    "ordinary": Habits(days_off=0.05, naps=True, restarts_a_week=0.7, pauses_a_week=0.5),
}


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the operator does at an instant of true time."""

    at: Millis


class Say(Event, frozen=True, kw_only=True):
    text: str


class Look(Event, frozen=True, kw_only=True):
    """At the inbox."""


class Stop(Event, frozen=True, kw_only=True):
    """The gateway, in order; it is started again `seconds` later."""

    seconds: int


class Nap(Event, frozen=True, kw_only=True):
    """The machine sleeps for so many seconds."""

    seconds: int


class Pause(Event, frozen=True, kw_only=True):
    seconds: int


Deed = Say | Look | Stop | Nap | Pause
What = Literal["use", "dismiss", "read", "open", "reply", "resolve", "edit", "pass"]

WAYS: dict[SurfaceKind, tuple[What, ...]] = {
    "artifact": ("open", "open", "read", "reply"),
    "pending": ("resolve", "resolve", "use", "edit"),
    "notification": ("use", "use", "reply"),
}
"""How a surface of each kind is acted on; what stands twice is twice as likely."""


class Answer(msgspec.Struct, frozen=True):
    """`pass`: it is left to its horizon."""

    what: What
    after: int


def plan(name: Name, seed: int, start: Millis, days: int) -> tuple[Deed, ...]:
    """All that an operator means to do, in order of time."""
    rng = Random(f"operator {name} {seed}")  # noqa: S311 - a seed is the point
    habits = HABITS[name]
    deeds: list[Deed] = []
    for day in range(days):
        midnight = start - start % DAY + day * DAY
        deeds += (deed for deed in _day(habits, rng, midnight) if deed.at > start)
    return tuple(sorted(deeds, key=lambda deed: deed.at))


def answer(name: Name, seed: int, surface_id: str, kind: SurfaceKind, acts: float = 0.0) -> Answer:
    """What an operator does with a surface that they looked at. `acts` is what the prompt that
    it came from adds to the chance that they use it.
    """
    rng = Random(f"answer {seed} {surface_id}")  # noqa: S311 - a seed is the point
    habits = HABITS[name]
    after = rng.randint(*habits.delay)
    chance = rng.random()
    used = min(1.0, max(0.0, habits.acts + acts)) if habits.acts else 0.0
    if chance < used:
        return Answer(rng.choice(WAYS[kind]), after)
    return Answer("dismiss" if chance < used + habits.dismisses else "pass", after)


def _day(habits: Habits, rng: Random, midnight: int) -> Iterator[Deed]:
    away = rng.random() < habits.days_off
    wakes, sleeps = (round(hour * HOUR) for hour in (habits.wakes, habits.sleeps))

    def some(count: tuple[int, int]) -> Iterator[Millis]:
        for _ in range(0 if away else rng.randint(*count)):
            yield Millis(midnight + rng.randrange(wakes, sleeps, SECOND))

    yield from (Say(at=at, text=rng.choice(SAYINGS)) for at in some(habits.turns))
    yield from (Look(at=at) for at in some(habits.looks))
    for at in some(habits.stops):
        yield Stop(at=at, seconds=60 * rng.randint(*habits.stopped_minutes))
    if rng.random() < habits.restarts_a_week / 7:
        yield Stop(at=Millis(midnight + rng.randrange(wakes, sleeps)), seconds=rng.randint(2, 90))
    if rng.random() < habits.pauses_a_week / 7:
        yield Pause(
            at=Millis(midnight + rng.randrange(wakes, sleeps)), seconds=60 * rng.randint(20, 300)
        )
    if habits.naps:
        lid = sleeps + MACHINE_SLEEPS_AFTER + rng.randrange(0, 30 * MINUTE)
        opens = DAY + wakes - rng.randrange(0, 30 * MINUTE)
        yield Nap(at=Millis(midnight + lid), seconds=(opens - lid) // SECOND)
        if rng.random() < 1 / 3:
            yield Nap(at=Millis(midnight + 12 * HOUR), seconds=rng.randint(1_800, 5_400))
