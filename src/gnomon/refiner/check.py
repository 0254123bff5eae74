"""May this edit be tried? The gate before the gateway's write (page 6, tier T2). Pure.

Each refusal is a code, which programs go by, and a sentence for people and for the refiner,
which reads it before its next proposal. The rules, in their order: the target is a file that
it may edit; the text is well-formed; it is another text; it is long enough, and not much longer
than before; it is no edit that failed before; it carries nothing of the measure over; it gives
the agent no leave.
"""

from dataclasses import dataclass
from typing import Literal

from gnomon.domain.errors import ScaffoldError
from gnomon.domain.length import estimated_tokens, floor_tokens
from gnomon.refiner.laundering import laundered
from gnomon.refiner.likeness import ALIKE, Failed, edit_between, edit_of_diff, likeness
from gnomon.refiner.spelling import hidden_characters
from gnomon.refiner.widening import widening
from gnomon.scaffold.contents import ScaffoldProblem, accept
from gnomon.scaffold.flags import FLAGS_FILE, decode_flags
from gnomon.scaffold.hashing import text_sha256

TARGETS = ("inner-loop-prompt.md", "executive-prompt.md", FLAGS_FILE)
"""What it may edit: the words and the thresholds. Not README.md, which is for people, and not
composition.yaml, which lists what the agent is made of."""
SHOWN = 60
"""Characters of what was found that stand in a sentence."""

RefusalCode = Literal[
    "target",
    "malformed",
    "unchanged",
    "too-short",
    "too-long",
    "near-copy",
    "metric-name",
    "new-number",
    "widens",
]


@dataclass(frozen=True)
class Refusal:
    """Why not. `sentence` is whole and tells what would be different."""

    code: RefusalCode
    sentence: str

    @property
    def reason(self) -> str:
        """As the ledger keeps it."""
        return f"{self.code}: {self.sentence}"


@dataclass(frozen=True)
class HeldAgainst:
    """What an edit is held against: the file's text in force and as it was packaged, the
    proposals that failed, and the operator's bounds (`length_floor_tokens` and `growth_max`, a
    share, of fitness-config).
    """

    incumbent: str
    packaged: str
    failed: tuple[Failed, ...]
    floor_most: int
    growth_max: float


def check(target: str, candidate: str, against: HeldAgainst) -> Refusal | None:
    """The first rule that the edit breaks; null where it may be tried."""
    if target not in TARGETS:
        return Refusal("target", f"{target[:SHOWN]!r} is no file that the refiner may edit.")
    return (
        _well_formed(target, candidate, against)
        or _long_enough(candidate, against)
        or _new(target, candidate, against)
        or _carries_nothing(target, candidate, against)
        or _gives_no_leave(target, candidate, against)
    )


def _well_formed(target: str, candidate: str, against: HeldAgainst) -> Refusal | None:
    try:
        content = candidate.encode()
    except UnicodeEncodeError:
        return Refusal("malformed", "The text cannot be written as UTF-8.")
    if hidden_characters(candidate) - hidden_characters(against.incumbent):
        return Refusal("malformed", "The text brings control or invisible characters.")
    verdict = accept(target, content)
    if isinstance(verdict, ScaffoldProblem):
        return Refusal("malformed", f"The text cannot come into force: {verdict.reason}.")
    if candidate.split() == against.incumbent.split():
        return Refusal("unchanged", "The text is what stands there already.")
    return None


def _long_enough(candidate: str, against: HeldAgainst) -> Refusal | None:
    length = estimated_tokens(candidate)
    least = floor_tokens(against.packaged, against.floor_most)
    if length < least:
        return Refusal(
            "too-short",
            f"The text would have about {length} tokens; at least {least} are asked for, since a "
            "short text scores by being quick.",
        )
    most = estimated_tokens(against.incumbent) * (1 + against.growth_max)
    if length > most:
        return Refusal(
            "too-long",
            f"The text would have about {length} tokens; at most {int(most)} are allowed, "
            f"{against.growth_max:.0%} over what stands there.",
        )
    return None


def _new(target: str, candidate: str, against: HeldAgainst) -> Refusal | None:
    sha256 = text_sha256(candidate)
    edit = edit_between(target, against.incumbent, candidate)
    for failed in against.failed:
        same = failed.target == target and failed.candidate_sha256 == sha256
        if same or likeness(edit, edit_of_diff(failed.target, failed.diff)) >= ALIKE:
            return Refusal("near-copy", "An edit much like it failed before. Try another approach.")
    return None


def _carries_nothing(target: str, candidate: str, against: HeldAgainst) -> Refusal | None:
    before = "\n".join(_passages(target, against.incumbent))
    for passage in _passages(target, candidate):
        found = laundered(passage, before)
        if found is not None and found.kind == "name":
            return Refusal(
                "metric-name",
                f"The edit names the measure ({found.found!r}). The agent must not know of it.",
            )
        if found is not None:
            return Refusal(
                "new-number",
                f"The edit brings a number ({found.found[:SHOWN]!r}) that the text did not have. "
                "Only whole numbers from 0 to 10 may be added, each on its own.",
            )
    return None


def _gives_no_leave(target: str, candidate: str, against: HeldAgainst) -> Refusal | None:
    does = widening(
        "\n".join(_passages(target, candidate)), "\n".join(_passages(target, against.incumbent))
    )
    if does is None:
        return None
    return Refusal(
        "widens",
        f"The edit {does}. What the agent may do, and its limits, are not changed by its text.",
    )


def _passages(target: str, text: str) -> tuple[str, ...]:
    """What of a file is read for its meaning: of the flags each value, one at a time, since
    thresholds that stand close to each other are no secret number.
    """
    if target != FLAGS_FILE:
        return (text,)
    try:
        flags = decode_flags(text)
    except ScaffoldError:  # an incumbent that a person left broken
        return (text,)
    return (
        flags.sharpened_next_step,
        str(flags.rotate_at_repeats),
        str(flags.sharpen_at_repeats),
        str(flags.hold_at_repeats),
    )
