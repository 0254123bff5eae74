"""What goes wrong, and when: a plan from one seed. Pure; `gnomon.simulate.world` does it."""

from collections.abc import Iterator
from random import Random
from typing import Literal, get_args

import msgspec

from gnomon.domain.instants import DAY, HOUR, MINUTE, SECOND, Millis
from gnomon.testing.crash import LOST, POINTS_WHEN, Kill

FaultKind = Literal[
    "kill",
    "power-cut",
    "model-error",
    "model-timeout",
    "model-garbage",
    "model-slow",
    "model-dies",
    "resident-dies",
    "clock-step",
    "disk-full",
    "sync-fails",
]
KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
MODEL_KINDS = frozenset(kind for kind in KINDS if kind.startswith("model-"))
WEIGHTS = (5, 3, 2, 1, 2, 2, 1, 3, 2, 2, 2)
"""How often each of KINDS comes, to one another."""
A_DAY = 8
MOST_CALLS = 40
"""A kill strikes at one of so many next calls of the disk: anywhere in what a tick writes."""
YEAR = 365 * DAY
STEPS = (HOUR, -HOUR, HOUR, -HOUR, YEAR, -YEAR)


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """At an instant of true time. `seconds` is how long it lasts, or by how much the wall is
    set; `kill` says where the gateway dies, `down` for how many seconds it then is down.
    """

    at: Millis
    kind: FaultKind
    seconds: int = 0
    kill: Kill | None = None
    down: int = 0


def plan(seed: int, start: Millis, days: int) -> tuple[Fault, ...]:
    """About eight a day, at any hour."""
    rng = Random(f"faults {seed}")  # noqa: S311 - a seed is the point
    faults = [fault for _ in range(A_DAY * days) for fault in _one(rng, start, days)]
    return tuple(sorted(faults, key=lambda fault: fault.at))


def _one(rng: Random, start: Millis, days: int) -> Iterator[Fault]:
    at = Millis(start + rng.randrange(MINUTE, days * DAY))
    kind = rng.choices(KINDS, WEIGHTS)[0]
    match kind:
        case "kill" | "power-cut":
            lost = "nothing" if kind == "kill" else rng.choice(LOST[1:])
            kill = Kill(rng.randrange(MOST_CALLS), rng.choice(POINTS_WHEN), lost)
            down = rng.choice((2, 30, 200, 299, 301, 1_200, 4 * 3_600, 12 * 3_600))
            yield Fault(at=at, kind=kind, kill=kill, down=down)
        case "clock-step":
            step = rng.choice(STEPS) // SECOND
            yield Fault(at=at, kind=kind, seconds=step)
            if rng.random() < 0.8:  # somebody sets it right again
                later = Millis(at + rng.randrange(10 * MINUTE, 10 * HOUR))
                yield Fault(at=later, kind=kind, seconds=-step)
        case "disk-full":
            yield Fault(at=at, kind=kind, seconds=rng.choice((20, 600, 3_600)))
        case "sync-fails":
            yield Fault(at=at, kind=kind, seconds=rng.choice((1, 30, 300)))
        case _:
            yield Fault(at=at, kind=kind, seconds=rng.choice((60, 600, 3_600)))
