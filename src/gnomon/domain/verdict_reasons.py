"""Why a verdict was what it was, in sentences: one source for the pages, the command line and the
journal. Pure.

A move in the right way that is no more than the margin is told as such: that it was not enough
must not read as if it had not been.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gnomon.domain.records_change import Basis, Delta, Judgment

CODE = re.compile(r"^[a-z]+(-[a-z]+)*: (?=[A-Z])")

WORDS: Mapping[str, str] = {
    "engagement-better": "You used more of what it brought.",
    "engagement-not-better": "You did not use more of what it brought.",
    "stall-better": "It went less in circles.",
    "stall-not-better": "It did not go less in circles.",
    "stall-worse": "It went more in circles.",
    "stall-missing": "Too few hours could be measured for going in circles.",
    "engagement-missing": "Too few items were settled to say whether it was useful.",
    "target-edited": "You edited this file while it was tested.",
    "scaffold-edited": "Another file of its instructions was edited while it was tested.",
    "config-changed": "The rules of the measure were changed while it was tested.",
    "rule-unknown": "The rule of judgment that is named in fitness-config.json is not known.",
    "below-length-floor": "Its text is shorter than the least that is allowed, whatever the "
    "numbers say.",
    "changes-nothing": "It changes nothing.",
}
"""By the judge's code; one that is not known is shown as it is."""
OUTCOMES: Mapping[str, str] = {
    "kept": "kept",
    "rolled_back": "undone",
    "inconclusive": "undone",
    "voided": "stopped",
    "pending": "no verdict yet",
}
ONLY_CIRCLES = (
    "Only going in circles decided: too little was brought to tell whether it was useful."
)


@dataclass(frozen=True)
class Margins:
    """What fitness-config.json asks for: an improvement counts beyond `delta` (0 in dev_mode),
    going more in circles beyond `epsilon`.
    """

    delta: float
    epsilon: float


def told(
    reasons: Sequence[str], basis: Basis | None, moved: Delta, margins: Margins | None
) -> tuple[str, ...]:
    """A sentence for each code. `margins` are those that it was judged by; null: not known."""
    return tuple(_sentence(each, basis, moved, margins) for each in reasons)


def verdict_sentence(judgment: Judgment, margins: Margins | None) -> str:
    """`change-0001: undone, since you did not use more of what it brought.`"""
    why = told(judgment.reasons, judgment.basis, judgment.delta, margins)
    since = "; ".join(each[:1].lower() + each[1:].rstrip(".") for each in why)
    said = f"{judgment.change_id}: {OUTCOMES[judgment.outcome]}"
    return f"{said}, since {since}." if since else f"{said}."


def plain_reason(reason: str | None) -> str:
    """A reason without the code before it, which is for programs."""
    return CODE.sub("", reason or "")


def _sentence(reason: str, basis: Basis | None, moved: Delta, margins: Margins | None) -> str:
    match reason:
        case "engagement-not-better" if moved.engagement is not None and moved.engagement > 0:
            least = None if margins is None else margins.delta * 100
            by = _figures(moved.engagement * 100, least, 0, " points")
            return f"You used more of what it brought by {by}."
        case "stall-not-better" if moved.stall is not None and moved.stall < 0:
            by = _figures(-moved.stall, None if margins is None else margins.delta, 2, "")
            return f"It went less in circles by {by}."
        case "engagement-missing" if basis == "stall_only":
            return ONLY_CIRCLES
        case _:
            return WORDS.get(reason, reason)


def _figures(moved: float, least: float | None, places: int, unit: str) -> str:
    """`0.04; it must be more than 0.05`: rounded, but for where that would hide what it says."""
    if least is None:
        return f"{_number(moved, places)}{unit}, which is too little"
    shown = round(moved, places)
    exact = shown == 0 or (shown >= least and moved < least)
    figure = _number(moved, 6 if exact else places)
    return f"{figure}{unit}; it must be more than {_number(least, 6)}"


def _number(value: float, places: int) -> str:
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if places > 2 else text
