"""When a reflection repeats the one before, and what is done about it. Pure.

First the signature is taken from what the model said, and compared: that is the count which
the ledger keeps. Only then is pressure put on the agenda, as `antipattern-flags.json` says:
another candidate is taken up, else the next step is sharpened, and at the last the action is
held. What makes two reflections the same is fixed here and in the referee's config, and no
scaffold file can change it.
"""

import hashlib
import re
from dataclasses import dataclass

import msgspec

from gnomon.domain.records import DesiredAction, Pressure, Sha256
from gnomon.domain.similarity import HOUSE, Similarity
from gnomon.resident.reflection import (
    MAX_ITEMS,
    SOURCES,
    Item,
    ReflectionOutput,
    desired_action,
    lane,
)
from gnomon.scaffold.flags import AntipatternFlags


@dataclass(frozen=True)
class Before:
    """What the reflection before left: its raw signature, the repeats in a row up to it, and
    the titles that were carried.
    """

    signature: Sha256 | None = None
    repeats: int = 0
    thread_title: str | None = None
    active_title: str | None = None


@dataclass(frozen=True)
class Weighed:
    """A reflection after the count and the pressure.

    `signature` and `repeats` are of what the model said, before any pressure; `output` and
    `action` are what stands after it.
    """

    output: ReflectionOutput
    action: DesiredAction
    signature: Sha256
    repeats: int
    pressure: Pressure

    @property
    def repeated(self) -> bool:
        return self.repeats > 0


def weigh(
    output: ReflectionOutput,
    before: Before,
    flags: AntipatternFlags,
    similarity: Similarity = HOUSE,
) -> Weighed:
    """Stabilise the titles, count the repeat, then put the pressure on."""
    steady = stabilised(output, before, similarity)
    signature = raw_signature(steady)
    repeats = before.repeats + 1 if signature == before.signature else 0
    return _pressed(steady, signature, repeats, flags, similarity)


def stabilised(
    output: ReflectionOutput, before: Before, similarity: Similarity = HOUSE
) -> ReflectionOutput:
    """The carried titles stay where the new ones only say the same in other words."""
    item = output.active_item
    if item is not None:
        item = msgspec.structs.replace(
            item, title=_steady(item.title, before.active_title, similarity)
        )
    title = output.thread_title
    if title is not None:
        title = _steady(title, before.thread_title, similarity)
    return msgspec.structs.replace(output, active_item=item, thread_title=title)


def _steady(new: str, carried: str | None, similarity: Similarity) -> str:
    return carried if carried is not None and same_title(new, carried, similarity) else new


def same_title(one: str, other: str, similarity: Similarity = HOUSE) -> bool:
    """Whether two titles name one thing: equal, or with enough words in common."""
    if _plain(one) == _plain(other):
        return True
    first, second = _words(one), _words(other)
    shared, smaller = len(first & second), min(len(first), len(second))
    return shared >= similarity.shared_words and shared >= similarity.shared_part * smaller


def raw_signature(output: ReflectionOutput) -> Sha256:
    """Over lane, focus, desired action, title, problem, conclusion, next step, active item
    and lower-cased concerns. White space does not count.
    """
    item = output.active_item
    parts: list[str | list[str] | None] = [
        lane(item),
        _plain(output.focus),
        desired_action(output),
        _plain(output.thread_title),
        _plain(output.problem_statement),
        _plain(output.last_conclusion),
        _plain(output.next_step),
        _plain(item.title) if item else None,
        [_plain(concern).lower() for concern in output.concerns],
    ]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def alternate(output: ReflectionOutput, similarity: Similarity = HOUSE) -> Item | None:
    """The best candidate that is not the active item: same lane first, then by source in the
    order operator, background, concern, interest, continuity, then as the model ordered them.
    """
    active = output.active_item
    others = [
        item
        for item in output.candidate_items
        if active is None or not same_title(item.title, active.title, similarity)
    ]
    home = lane(active)
    return min(
        others,
        key=lambda item: (lane(item) != home, SOURCES.index(item.source)),
        default=None,
    )


def _pressed(
    output: ReflectionOutput,
    signature: Sha256,
    repeats: int,
    flags: AntipatternFlags,
    similarity: Similarity,
) -> Weighed:
    action = desired_action(output)
    pressure: Pressure = "none"
    other = alternate(output, similarity)
    if repeats >= flags.hold_at_repeats:
        action, pressure = "hold", "hold"
    elif repeats >= flags.rotate_at_repeats and other is not None:
        output, pressure = _rotated(output, other, similarity), "rotated"
    elif repeats >= flags.sharpen_at_repeats:
        output, pressure = _sharpened(output, flags), "sharpened"
    return Weighed(output, action, signature, repeats, pressure)


def _rotated(output: ReflectionOutput, item: Item, similarity: Similarity) -> ReflectionOutput:
    """The candidate becomes the active item and the thread; what was active stays on the
    agenda behind it.
    """
    rest = [other for other in output.candidate_items if other is not item]
    left = output.active_item
    named = any(left and same_title(left.title, other.title, similarity) for other in rest)
    if left is not None and not named:
        rest.append(left)
    return msgspec.structs.replace(
        output,
        active_item=item,
        candidate_items=(item, *rest)[:MAX_ITEMS],
        thread_title=item.title,
        problem_statement=item.rationale,
        last_conclusion="",
        next_step="",
    )


def _sharpened(output: ReflectionOutput, flags: AntipatternFlags) -> ReflectionOutput:
    """The next step becomes: name the datum that is missing."""
    subject = output.problem_statement or output.thread_title or output.focus
    step = flags.sharpened_next_step.replace("{subject}", subject)
    return msgspec.structs.replace(output, next_step=step[:220])


def _plain(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "").strip()


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
