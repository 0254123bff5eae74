"""The experiments counted: shares and means, each with its standard error."""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean, stdev

import msgspec

from bench.learning.lives import Decided, History, one_edit, one_history
from bench.learning.rules import COMPARED, EVERYTHING, ONE_WINDOW, SEED, Compared
from bench.learning.world import BEARABLE, BUSY, Operator, Pace

EFFECTS = (-0.20, -0.10, -0.05, 0.0, 0.05, 0.10, 0.20)
HARM, NOTHING, HELP = -0.10, 0.0, 0.10
FEW = {"seed": SEED, "one window": ONE_WINDOW, "everything": EVERYTHING}
"""At the bearable pace more windows change nothing: engagement cannot be computed at all."""
BLIND = Compared.by(SEED.rule, msgspec.structs.replace(SEED.config, epsilon=1.0))
DEPENDS: Mapping[str, tuple[Operator, Compared]] = {
    "as above": (Operator(), SEED),
    "no swing by the hour": (Operator(swing=0.0), SEED),
    "twice the swing": (Operator(swing=0.20), SEED),
    "acts on 70%": (Operator(base=0.70), SEED),
    "going in circles has no veto": (Operator(), BLIND),
}


class Figure(msgspec.Struct, frozen=True):
    """`value` with its standard `error`, of so many; shares in percent. Null of none."""

    value: float | None
    error: float | None
    of: int


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One rule at one pace. `first`: what is kept of a first edit, by its effect in points.
    `in_use`: the same in 90 days of edits, by whether they harm, do nothing or help.
    """

    pace: str
    rule: str
    first: dict[str, Figure]
    both: Figure
    hours: Figure
    edits: Figure
    in_use: dict[str, Figure]
    quality: Figure
    worse: Figure


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. `depends`: first edits under the seed's rule at the busy pace, where one thing
    about the operator or the rule is different.
    """

    seed: int
    lives: int
    histories: int
    columns: tuple[Column, ...]
    depends: dict[str, dict[str, Figure]]


@dataclass(frozen=True)
class Sizes:
    """How many lives of one edit, histories of 90 days, and lives for each dependence."""

    lives: int
    histories: int
    depends: int


FULL = Sizes(lives=1_500, histories=200, depends=800)
QUICK = Sizes(lives=20, histories=2, depends=10)


def measure(seed: int, sizes: Sizes) -> Figures:
    """Live it all. The same seed and sizes give the same figures to the bit."""
    columns = [
        *_columns(BUSY, COMPARED, seed, sizes),
        *_columns(BEARABLE, FEW, seed, sizes),
    ]
    return Figures(
        seed=seed,
        lives=sizes.lives,
        histories=sizes.histories,
        columns=tuple(columns),
        depends={name: _depends(name, seed, sizes.depends) for name in DEPENDS},
    )


def _columns(
    pace: Pace, rules: Mapping[str, Compared], seed: int, sizes: Sizes
) -> Iterable[Column]:
    _told(f"{pace.name}: {sizes.lives} lives of one edit")
    firsts = _lived(pace, Operator(), EFFECTS, rules, seed, sizes.lives)
    for name, rule in rules.items():
        _told(f"{pace.name}: {sizes.histories} histories by {name!r}")
        histories = [
            one_history(pace, rule, f"{pace.name} {seed} {number}")
            for number in range(sizes.histories)
        ]
        yield _column(pace.name, name, firsts[name], histories)


def _lived(
    pace: Pace,
    operator: Operator,
    effects: Sequence[float],
    rules: Mapping[str, Compared],
    seed: int,
    lives: int,
) -> dict[str, list[Decided]]:
    found: dict[str, list[Decided]] = {name: [] for name in rules}
    for number in range(lives):
        rng = Random(f"edit {pace.name} {seed} {number}")
        for name, decided in one_edit(pace, operator, effects, rng, rules):
            found[name].append(decided)
    return found


def _depends(name: str, seed: int, lives: int) -> dict[str, Figure]:
    _told(f"{BUSY.name}: {name}")
    operator, rule = DEPENDS[name]
    found = _lived(BUSY, operator, (HARM, NOTHING, HELP), {name: rule}, seed, lives)[name]
    return {
        points(effect): share(each.kept for each in found if each.worth == effect)
        for effect in (HARM, NOTHING, HELP)
    }


def _column(pace: str, rule: str, first: list[Decided], histories: list[History]) -> Column:
    decided = [history.decided for history in histories]
    return Column(
        pace=pace,
        rule=rule,
        first={
            points(effect): share(each.kept for each in first if each.worth == effect)
            for effect in EFFECTS
        },
        both=share(each.basis == "both" for each in first),
        hours=mean(each.hours for each in first),
        edits=mean(len(edits) for edits in decided),
        in_use={
            "harm": ratio(_kept(edits, -1) for edits in decided),
            "nothing": ratio(_kept(edits, 0) for edits in decided),
            "help": ratio(_kept(edits, 1) for edits in decided),
        },
        quality=mean(100 * history.quality for history in histories),
        worse=share(round(history.quality, 6) < 0 for history in histories),
    )


def _kept(edits: list[Decided], sign: int) -> tuple[int, int]:
    """How many of one kind a history kept, and how many it judged."""
    those = [each.kept for each in edits if _sign(each.worth) == sign]
    return sum(those), len(those)


def _sign(worth: float) -> int:
    worth = round(worth, 6)
    return (worth > 0) - (worth < 0)


def points(effect: float) -> str:
    """An effect as it is written: +10, 0, -20."""
    return f"{round(100 * effect):+d}" if effect else "0"


def share(trues: Iterable[bool]) -> Figure:
    """Percent, with the standard error of a proportion."""
    those = list(trues)
    if not those:
        return Figure(None, None, 0)
    part = sum(those) / len(those)
    return _figure(100 * part, 100 * math.sqrt(part * (1 - part) / len(those)), len(those))


def mean(values: Iterable[float]) -> Figure:
    those = list(values)
    error = stdev(those) / math.sqrt(len(those)) if len(those) > 1 else None
    return _figure(fmean(those), error, len(those))


def ratio(pairs: Iterable[tuple[int, int]]) -> Figure:
    """Percent of sums over histories. Edits of one history share a baseline, so the error is
    between histories (linearised ratio).
    """
    those = list(pairs)
    kept, judged = (sum(column) for column in zip(*those, strict=True))
    if not judged:
        return Figure(None, None, 0)
    part, count = kept / judged, len(those)
    spread = math.fsum((one - part * all_) ** 2 for one, all_ in those)
    error = math.sqrt(spread * count / max(1, count - 1)) / judged
    return _figure(100 * part, 100 * error, judged)


def _figure(value: float, error: float | None, of: int) -> Figure:
    return Figure(round(value, 2), None if error is None else round(error, 2), of)


def _told(what: str) -> None:
    print(f"{what} ...", file=sys.stderr, flush=True)
