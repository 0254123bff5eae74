"""After 30 days: seed 1, section 13's four questions, answered from the ledgers. Pure."""

import math
from collections.abc import Iterable
from statistics import median
from typing import Literal

import msgspec

from gnomon.domain.canonical import DECIMALS
from gnomon.domain.records import Reflection
from gnomon.domain.records_referee import WindowMeasured
from gnomon.referee.config import FitnessConfig
from gnomon.referee.engagement import Surface
from gnomon.referee.fitness import counted
from gnomon.referee.pooled import Z_95

Verdict = Literal["yes", "no", "unknown"]

MOST = 0.5
"""More than half of the windows are most."""
NON_TRIVIAL = 0.1
"""Above one surface in ten that the operator never had the chance to see. (Above a half,
refinement does not begin: seed 1, phase 3.)"""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """`figures` are what the answer rests on; `advice` is empty where nothing need be done."""

    question: str
    answer: Verdict
    figures: dict[str, float | int | str | None]
    advice: str


def retune(
    windows: Iterable[WindowMeasured],
    surfaces: Iterable[Surface],
    reflections: Iterable[Reflection],
    config: FitnessConfig,
    affordable_seconds: float,
) -> tuple[Answer, ...]:
    """The four answers, in the seed's order.

    `windows` are the standing lines and `reflections` the records of one span, `surfaces` the
    model's of it, oldest first. `affordable_seconds` is what one reflection may take:
    the tick times the duty cycle.
    """
    judged = list(surfaces)
    return (
        low_samples(windows),
        trend(judged, config),
        unavailability(judged),
        slow_reflections(reflections, affordable_seconds),
    )


def low_samples(windows: Iterable[WindowMeasured]) -> Answer:
    """Are most fitness windows hitting the `low_sample` floor?"""
    reasons = [w.engagement_reason for w in windows if w.mature]
    known = [reason for reason in reasons if reason in {None, "low_sample"}]
    share = known.count("low_sample") / len(known) if known else None
    verdict: Verdict = "unknown" if share is None else "yes" if share > MOST else "no"
    return Answer(
        question="Have most windows too few answers for a rate of their own?",
        answer=verdict,
        figures={
            "windows": len(known),
            "low_sample": known.count("low_sample"),
            "share": _rounded(share),
        },
        advice="Lower M_min, or let more surfaces through; go by the pooled rate meanwhile."
        if verdict == "yes"
        else "",
    )


def trend(surfaces: list[Surface], config: FitnessConfig) -> Answer:
    """Is the engagement rate trending? The older half of the answered surfaces against the
    newer one: two proportions, at 95%.
    """
    answered = [s for s in surfaces if s.outcome in {"acted", "acked", "ignored"}]
    half = len(answered) // 2
    older, newer = counted(answered[:half]), counted(answered[half:])
    verdict: Verdict = "unknown"
    before = after = z = None
    if half >= config.M_min:
        before, after = older.acted / older.total, newer.acted / newer.total
        together = (older.acted + newer.acted) / len(answered)
        noise = math.sqrt(together * (1 - together) * (1 / older.total + 1 / newer.total))
        z = (after - before) / noise if noise else 0.0
        verdict = "yes" if abs(z) >= Z_95 else "no"
    return Answer(
        question="Is the engagement rate moving?",
        answer=verdict,
        figures={
            "older": _rounded(before),
            "newer": _rounded(after),
            "answered": len(answered),
            "z": _rounded(z),
        },
        advice="" if verdict == "yes" else "No signal yet: leave it to run, or bring up more.",
    )


def unavailability(surfaces: list[Surface]) -> Answer:
    """Is `system_unavailable_count` non-trivial?"""
    away = sum(surface.outcome == "system_unavailable" for surface in surfaces)
    share = away / len(surfaces) if surfaces else None
    verdict: Verdict = "unknown" if share is None else "yes" if share > NON_TRIVIAL else "no"
    return Answer(
        question="Was Gnomon often stopped before you could see what it brought?",
        answer=verdict,
        figures={"surfaces": len(surfaces), "unavailable": away, "share": _rounded(share)},
        advice="Find out why it is stopped (heat, noise, cost) before refinement begins."
        if verdict == "yes"
        else "",
    )


def slow_reflections(reflections: Iterable[Reflection], affordable_seconds: float) -> Answer:
    """Do reflections take too long with the model in force (that of the last one)?"""
    seconds: dict[str, list[float]] = {}
    model = None
    for reflection in reflections:
        model = reflection.model
        seconds.setdefault(model, []).append(reflection.seconds)
    middle = median(seconds[model]) if model is not None else None
    verdict: Verdict = (
        "unknown" if middle is None else "yes" if middle > affordable_seconds else "no"
    )
    return Answer(
        question="Do reflections take longer than the duty cycle affords?",
        answer=verdict,
        figures={
            "model": model,
            "median_seconds": _rounded(middle),
            "affordable_seconds": _rounded(affordable_seconds),
            "reflections": len(seconds[model]) if model is not None else 0,
        },
        advice="Take a smaller model, or a longer tick." if verdict == "yes" else "",
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)
