"""`fitness-config.json`: what is measured and how it is judged. The operator's alone. Pure.

It is read at start. Its hash goes on every line of the fitness-ledger, so that numbers made
under different rules are never taken for one series.
"""

import difflib
import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NoReturn, cast

import msgspec
from msgspec import Meta

from gnomon.domain.errors import ConfigError
from gnomon.domain.records import Sha256
from gnomon.domain.similarity import HOUSE, Similarity

NAME = "fitness-config.json"
WALL_PER_HORIZON = 3
"""A surface that has not had its horizon awake within 3 horizons of wall time (72 hours of 24)
was unavailable (page 3)."""

Rate = Annotated[float, Meta(ge=0, le=1)]
Positive = Annotated[int, Meta(ge=1)]


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the file."""


class Weights(Section, frozen=True):
    """Of the stall composite; they sum to 1 (seed 1, section 4.2)."""

    repeat: Rate = 0.5
    cooldown: Rate = 0.3
    concern: Rate = 0.2

    @property
    def total(self) -> float:
        return math.fsum((self.repeat, self.cooldown, self.concern))


class FitnessConfig(Section, frozen=True):
    """The locked values of seed 1, section 13, and page 2. Durations in the unit of the name;
    `delta` and `epsilon` absolute; `deadline_days` may be a fraction.
    """

    window_seconds: Annotated[int, Meta(ge=1, le=86_400)] = 3_600
    min_reflections_for_valid_window: Positive = 5
    weights: Weights = Weights()
    M_min: Positive = 3
    horizon_seconds: Annotated[int, Meta(ge=1, le=2_592_000)] = 86_400
    k_windows: Positive = 10
    delta: Rate = 0.05
    epsilon: Rate = 0.02
    deadline_days: Annotated[float, Meta(gt=0, le=365)] = 7
    rule: Annotated[str, Meta(min_length=1)] = "seed"
    dev_mode: bool = False
    length_floor_tokens: Annotated[int, Meta(ge=0)] = 500
    growth_max: Annotated[float, Meta(ge=0, le=10)] = 0.15
    refiner_every_ticks: Positive = 100
    refiner_every_hours: Annotated[float, Meta(gt=0, le=8_760)] = 4
    refiner_model: str = ""
    """Empty: the model in force."""
    unavailable_gap_seconds: Annotated[int, Meta(ge=0)] = 300
    repeat_similarity: Similarity = HOUSE
    """Of the titles of two reflections; the resident compares them."""
    concern_similarity: Similarity = HOUSE

    @property
    def window_ms(self) -> int:
        return self.window_seconds * 1_000

    @property
    def horizon_ms(self) -> int:
        """Of awake time."""
        return self.horizon_seconds * 1_000

    @property
    def wall_ms(self) -> int:
        """After so much wall time a surface is settled whether anybody was awake or not."""
        return WALL_PER_HORIZON * self.horizon_ms


@dataclass(frozen=True)
class Loaded:
    """A config with the text it was read from; `sha256` is of that text's bytes."""

    config: FitnessConfig
    text: str
    sha256: Sha256


def default_text() -> str:
    """What a new home's file says: every key with its locked value."""
    return json.dumps(msgspec.to_builtins(FitnessConfig()), indent=2) + "\n"


def parse(text: str) -> Loaded:
    """Read the file's text. What it leaves out has its locked value.

    Raises ConfigError naming the key: unknown, doubled, of a wrong type, out of its range,
    weights that do not sum to 1, or windows that do not fit a day.
    """
    try:
        raw = json.loads(text, object_pairs_hook=_no_doubles)
    except json.JSONDecodeError as error:
        _refuse(f"line {error.lineno} is not JSON: {error.msg}", line=error.lineno)
    except (RecursionError, ValueError) as error:
        _refuse(f"it is not JSON: {error}")
    if not isinstance(raw, dict):
        _refuse("it is no object")
    fields = cast("dict[str, object]", raw)
    for key, known in _unknown(fields, FitnessConfig(), ""):
        near = difflib.get_close_matches(key.rpartition(".")[2], known, n=1)
        _refuse(f"there is no key {key!r}" + (f" ({near[0]!r} is one)" if near else ""), key=key)
    try:
        config = msgspec.convert(fields, FitnessConfig)
    except msgspec.ValidationError as error:
        _refuse(str(error), key=str(error).rpartition("$.")[2].rstrip("`"))
    _check(config)
    return Loaded(config, text, hashlib.sha256(text.encode()).hexdigest())


def _check(config: FitnessConfig) -> None:
    if not math.isclose(config.weights.total, 1, abs_tol=1e-9):
        _refuse(f"the weights sum to {config.weights.total:g} and must sum to 1", key="weights")
    if 86_400 % config.window_seconds:
        _refuse(
            f"window_seconds is {config.window_seconds}, and a day is no whole number of them",
            key="window_seconds",
        )


def _unknown(
    fields: dict[str, object], known: msgspec.Struct, where: str
) -> Iterator[tuple[str, tuple[str, ...]]]:
    names = known.__struct_fields__
    for name, value in fields.items():
        inside = getattr(known, name, None)
        if name not in names:
            yield where + name, names
        elif isinstance(inside, msgspec.Struct) and isinstance(value, dict):
            yield from _unknown(cast("dict[str, object]", value), inside, f"{where}{name}.")


def _no_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields: dict[str, object] = {}
    for name, value in pairs:
        if name in fields:
            _refuse(f"the key {name!r} stands twice", key=name)
        fields[name] = value
    return fields


def _refuse(reason: str, *, key: str = "", line: int = 0) -> NoReturn:
    raise ConfigError(
        f"{NAME} cannot be used: {reason}.",
        next_step="Correct it, or delete it to have the locked values written anew.",
        file=NAME,
        key=key,
        line=line,
        reason=reason,
    )
