"""An operator and an agent, hour by hour: what a fitness writer would find in the ledgers.

One random source lives one world. An operator acts on a surface with a chance that is truly
known here: a base, plus what the prompt in force is worth, plus a swing by the hour of the
day, plus a slow drift of their own. Nothing else in the world depends on the prompt, so what
a rule makes of an edit can be held against what the edit was worth.

Simplified: the gateway is never stopped, so nothing is `system_unavailable`; a surface is
acted on or it is not (`acked` and `ignored` count alike and settle alike); times are whole
minutes; only hours in which the machine is awake are lived, and an edit moves engagement
alone, never how often the agent goes in circles.
"""

import math
from bisect import bisect
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from random import Random
from typing import NamedTuple

A_DAY = 24
"""Hours."""
MINUTES = 60
HORIZON = 24 * MINUTES
"""Awake minutes within which an operator may act (page 3)."""


@dataclass(frozen=True)
class Pace:
    """How often something is brought, and when the machine is awake (hours of the day)."""

    name: str
    per_hour: float
    wakes: int = 0
    sleeps: int = A_DAY

    def awake(self, hour: int) -> bool:
        return self.wakes <= hour % A_DAY < self.sleeps


BUSY = Pace("6 an hour", per_hour=6.0)
"""A machine that never sleeps: the pace at which the seed's rule was first simulated."""
BEARABLE = Pace("5 a day", per_hour=5 / 16, wakes=7, sleeps=23)
"""What a person puts up with, on a laptop that sleeps at night."""


@dataclass(frozen=True)
class Operator:
    """Chances are of acting on one surface. `drift` is the standard deviation of a wandering
    that forgets itself within `drift_days`. Who acts does so `delay_minutes` later on average.
    """

    base: float = 0.45
    swing: float = 0.10
    best_hour: int = 15
    drift: float = 0.05
    drift_days: float = 5.0
    delay_minutes: float = 150.0
    lowest: float = 0.02
    highest: float = 0.95

    def bounded(self, quality: float) -> float:
        """A prompt's worth, kept where a chance can follow it."""
        return min(self.highest - self.base, max(self.lowest - self.base, quality))


@dataclass(frozen=True)
class Agent:
    """How a resident reflects, as windows of `gnomon simulate` show it (operators `ordinary`,
    `attentive` and `diurnal`, 30 days each): 44% to 57% of the hours have reflections enough,
    15 to 19 each; the composite of a window is 0.37 with a standard deviation of 0.064 to
    0.067, nearly all of it from repeats, and does not remember the hour before.
    """

    reflects: float = 0.45
    """The chance that the operator is near in an hour: else it does not reflect."""
    reflections: tuple[int, int] = (8, 22)
    repeats: float = 0.335
    attempts: float = 0.7
    """Of at most two an hour."""
    cooldowns: float = 0.01
    concerns: tuple[int, int] = (2, 6)
    lasting: float = 0.98


class Surface(NamedTuple):
    """Brought at a minute of its hour, 1 to 59; acted on so many awake minutes later, or
    never. No act falls on a full hour.
    """

    minute: int
    acted_after: int | None


class Hour(NamedTuple):
    """What happened in one hour. `at` counts wall hours; a machine asleep has none."""

    at: int
    surfaces: Sequence[Surface]
    reflections: int
    repeats: int
    attempts: int
    cooldowns: int
    concerns: int
    lasting: int


class World:
    """Lives one hour after the other under prompts of known worth."""

    def __init__(
        self,
        pace: Pace,
        rng: Random,
        operator: Operator | None = None,
        agent: Agent | None = None,
    ) -> None:
        self.pace = pace
        self.operator = operator or Operator()
        self.agent = agent or Agent()
        self._rng = rng
        self._brought = _poisson(pace.per_hour)
        self._keeps = math.exp(-1 / (A_DAY * self.operator.drift_days))
        self._drift = rng.gauss(0, self.operator.drift)
        self.at = rng.randrange(A_DAY)
        self._sleep()

    def live(self, quality: float) -> Hour:
        """The hour that is now, under a prompt worth so much; then time goes on."""
        surfaces = tuple(self._surfaces(self._chance(quality)))
        hour = Hour(self.at, surfaces, *self._reflected())
        self._pass()
        self._sleep()
        return hour

    def fork(self) -> "World":
        """The same past and the same luck, to go on from apart."""
        other = copy(self)
        other._rng = Random()
        other._rng.setstate(self._rng.getstate())
        return other

    def _chance(self, quality: float) -> float:
        operator = self.operator
        turn = 2 * math.pi * (self.at - operator.best_hour) / A_DAY
        chance = operator.base + quality + operator.swing * math.cos(turn) + self._drift
        return min(1.0, max(0.0, chance))

    def _surfaces(self, chance: float) -> Iterator[Surface]:
        random = self._rng.random
        for _ in range(bisect(self._brought, random())):
            minute = 1 + int(random() * 59)
            acts = random() < chance
            yield Surface(minute, self._delay(minute) if acts else None)

    def _delay(self, minute: int) -> int:
        """An exponential wait, cut off before the horizon is over."""
        waits = int(self._rng.expovariate(1 / self.operator.delay_minutes))
        after = min(waits, HORIZON - 2)
        return after + ((minute + after) % MINUTES == 0)

    def _reflected(self) -> tuple[int, int, int, int, int, int]:
        agent, rng = self.agent, self._rng
        attempts = self._of(2, agent.attempts / 2)
        cooldowns = self._of(attempts, agent.cooldowns)
        if rng.random() >= agent.reflects:
            return 0, 0, attempts, cooldowns, 0, 0
        reflections = rng.randint(*agent.reflections)
        concerns = rng.randint(*agent.concerns)
        repeats = self._of(reflections, agent.repeats)
        lasting = self._of(concerns, agent.lasting)
        return reflections, repeats, attempts, cooldowns, concerns, lasting

    def _of(self, trials: int, chance: float) -> int:
        return bisect(_binomial(trials, chance), self._rng.random()) if trials else 0

    def _pass(self) -> None:
        """An hour goes by, and the drift one step of an autoregression that keeps its spread."""
        spread = self.operator.drift * math.sqrt(1 - self._keeps**2)
        self._drift = self._drift * self._keeps + self._rng.gauss(0, spread)
        self.at += 1

    def _sleep(self) -> None:
        while not self.pace.awake(self.at):
            self._pass()


@cache
def _binomial(trials: int, chance: float) -> Sequence[float]:
    """Cumulative: how often at most 0, 1, ... trials - 1 come true."""
    shares = (
        math.comb(trials, count) * chance**count * (1 - chance) ** (trials - count)
        for count in range(trials)
    )
    return tuple(accumulate(shares))


@cache
def _poisson(mean: float, most: int = 40) -> Sequence[float]:
    """Cumulative: how often at most 0, 1, ... `most` - 1 come."""
    return tuple(
        accumulate(math.exp(-mean) * mean**count / math.factorial(count) for count in range(most))
    )
