"""Simulated operators: when they are at the machine, and what they say."""

from random import Random

import msgspec

from gnomon.domain.instants import DAY, HOUR, MINUTE, Millis

WAKES, SLEEPS = 8 * HOUR, 22 * HOUR
TURNS_A_DAY = 5
SAYINGS = (
    "how did I fix the flaky login test?",
    "what is left of the release?",
    "use pnpm, not npm",
    "summarise what you looked at today",
    "which query was slow again?",
)


class Visit(msgspec.Struct, frozen=True, order=True):
    """Something that the operator says at an instant."""

    at: Millis
    text: str


def ordinary(rng: Random, start: Millis, days: int) -> list[Visit]:
    """A day with about five turns between eight and ten in the evening, UTC; now and then a
    day without any. Pure.
    """
    visits: list[Visit] = []
    for day in range(days):
        if rng.random() < 0.1:
            continue
        midnight = start - start % DAY + day * DAY
        for _ in range(rng.randint(TURNS_A_DAY - 2, TURNS_A_DAY + 2)):
            at = midnight + rng.randrange(WAKES, SLEEPS, MINUTE)
            if at > start:
                visits.append(Visit(at=Millis(at), text=rng.choice(SAYINGS)))
    return sorted(visits)
