"""From a lived hour to what the judge may know of it, and when.

It counts as the fitness writer counts; tests hold the two together on the same lives. What a
line of the fitness-ledger says is known one minute after an hour has ended, and so is each
amendment of an earlier window.
"""

from typing import NamedTuple

from bench.learning.world import HORIZON, MINUTES, Hour
from gnomon.domain.canonical import DECIMALS
from gnomon.referee.config import FitnessConfig


class Counted(NamedTuple):
    """A window's numbers, null where they are no evidence. Its engagement is mature once so
    many awake hours have gone by since the window's start.
    """

    at: int
    stall: float | None
    engagement: float | None
    matures_after: int


def counted(hour: Hour, config: FitnessConfig) -> Counted:
    """The numbers of an hour that had one scaffold version from end to end."""
    return Counted(hour.at, stall(hour, config), engagement(hour, config), matures_after(hour))


def engagement(hour: Hour, config: FitnessConfig) -> float | None:
    """Acted of all, once all are settled."""
    brought = len(hour.surfaces)
    if brought < config.M_min:
        return None
    acted = sum(surface.acted_after is not None for surface in hour.surfaces)
    return round(acted / brought, DECIMALS)


def stall(hour: Hour, config: FitnessConfig) -> float | None:
    """The composite of seed 1, section 4.2."""
    if hour.reflections < config.min_reflections_for_valid_window:
        return None
    weights = config.weights
    composite = (
        weights.repeat * (hour.repeats / hour.reflections)
        + weights.cooldown * (hour.cooldowns / max(1, hour.attempts))
        + weights.concern * (hour.lasting / max(1, hour.concerns))
    )
    return round(composite, DECIMALS)


def matures_after(hour: Hour) -> int:
    """Awake hours from the window's start until a line says that nothing in it can change: its
    own line where all was acted on at once, else an amendment.
    """
    last = 0
    for surface in hour.surfaces:
        after = HORIZON if surface.acted_after is None else surface.acted_after
        last = max(last, surface.minute + after)
    return max(1, -(-last // MINUTES))
