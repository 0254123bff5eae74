"""Whether a number of the referee's stands in what the agent was told, however it is written
(invariant 4). Pure.
"""

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from gnomon.domain.number_words import DIGITS
from gnomon.simulate.ledger_files import PlainLine

LEAST_DIGITS = 4
"""Shorter numbers stand in any text by chance."""
_WORD = "|".join(DIGITS)
_SPELT = re.compile(rf"(?:(?:{_WORD})[\s,-]*){{{LEAST_DIGITS},}}")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\s.,_'-]+(?=\d)")
_RUN = re.compile(r"\d{4,}")


def measured(fitness: Iterable[PlainLine]) -> set[float]:
    """The rates on a fitness-ledger that have at least four digits."""
    return {
        value
        for line in fitness
        for value in _numbers(line.fields)
        if len(digits(value)) >= LEAST_DIGITS
    }


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict):
        for each in cast("dict[str, Any]", value).values():
            yield from _numbers(each)


def digits(value: float) -> str:
    """The significant digits: `0.428571` and `42.8571` are `428571`."""
    text = f"{value:d}" if isinstance(value, int) else f"{value:.6f}".rstrip("0")
    return text.replace(".", "").lstrip("0")


def laundered(prompts: Iterable[str], values: Iterable[float]) -> Iterator[str]:
    """Each value that some prompt holds: as digits in any grouping, forwards or backwards, as
    digit words, in hexadecimal or in base64.
    """
    told = _Told(prompts)
    for value in values:
        how = told.how(value)
        if how is not None:
            yield f"a prompt holds {value} {how}"


class _Told:
    """What there is to search: each different piece once, since prompts repeat themselves."""

    def __init__(self, prompts: Iterable[str]) -> None:
        lines = {line for prompt in set(prompts) for line in prompt.splitlines()}
        self._words = "\n".join(sorted({word for line in lines for word in line.split()}))
        lowered = {line.lower() for line in lines}
        runs = {run for line in lowered for run in _RUN.findall(_BETWEEN_DIGITS.sub("", line))}
        self._runs = "\n".join(sorted(runs))
        self._spelt = "\n".join(
            _in_digits(each) for line in lowered for each in _SPELT.findall(line)
        )
        self._hexadecimal = self._words.lower()

    def how(self, value: float) -> str | None:
        plain = digits(value)
        if plain in self._runs:
            return "in digits"
        if plain[::-1] in self._runs:
            return "backwards"
        if plain in self._spelt:
            return "in words"
        if f"{int(plain):x}" in self._hexadecimal:
            return "in hexadecimal"
        if any(each in self._words for each in _in_base64(value, plain)):
            return "in base64"
        return None


def _in_digits(spelt: str) -> str:
    return "".join(str(DIGITS.index(word)) for word in re.findall(_WORD, spelt))


def _in_base64(value: float, plain: str) -> Sequence[str]:
    """Without the last letters, which depend on what follows."""
    return [
        base64.b64encode(text.encode()).decode().rstrip("=")[:-1] for text in (f"{value}", plain)
    ]
