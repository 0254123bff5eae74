"""What the agent did lately, as the refiner reads it: failures counted beforehand. Pure.

Made from lines of the decision-ledger alone, so that it can carry neither engagement nor fitness
nor a verdict. A model that reads fifty reflections does not see that eleven were the same; so
arithmetic says that first, and the reflections stand below as what they are: data.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from gnomon.domain.instants import Millis, iso
from gnomon.domain.ledgers import Line
from gnomon.domain.plain_text import one_line
from gnomon.domain.records import ErrorNoted, ExecutiveAttempt, Reflection, SurfaceDecided, Tick

MOST_LINES = 400
"""Of the ledger, the last ones: about seven hours at a tick of two minutes."""
MOST_REFLECTIONS = 30
"""Of these, so many stand in the text, the newest."""
STAYS = 5
"""A concern that stands in so many reflections in a row is flagged."""
FLAG = "!"
_FOCUS, _SUMMARY, _CONCERN, _TITLE = 100, 120, 100, 80
"""Characters of each that are told."""


@dataclass
class _Seen:
    """What of the lines was counted."""

    first: Millis | None = None
    last: Millis | None = None
    skipped: Counter[str] = field(default_factory=Counter[str])
    ticks: int = 0
    reflections: list[tuple[Millis, Reflection]] = field(
        default_factory=list[tuple[Millis, Reflection]]
    )
    attempts: list[ExecutiveAttempt] = field(default_factory=list[ExecutiveAttempt])
    errors: Counter[str] = field(default_factory=Counter[str])
    surfaces: int = 0
    suppressed: int = 0

    def take(self, line: Line) -> None:
        self.first = line.at if self.first is None else self.first
        self.last = line.at
        match line.body:
            case Tick(skip_reason=reason):
                self.ticks += 1
                self.skipped[reason or ""] += 1
            case Reflection() as reflection:
                self.reflections.append((line.at, reflection))
            case ExecutiveAttempt() as attempt:
                self.attempts.append(attempt)
            case ErrorNoted(code=code):
                self.errors[code] += 1
            case SurfaceDecided(suppressed=suppressed):
                self.surfaces += 1
                self.suppressed += suppressed
            case _:
                pass


def trajectory(lines: Iterable[Line], most: int = MOST_REFLECTIONS) -> str:
    """The window in words: what it covers, flags, then the newest reflections, oldest first.

    `lines` are the ledger's last, oldest first.
    """
    seen = _Seen()
    for line in lines:
        seen.take(line)
    if seen.first is None or seen.last is None:
        return "Nothing has happened yet."
    flagged = [f"{FLAG} {flag}" for flag in _flags(seen)] or ["none"]
    newest = seen.reflections[-most:] if most else []
    return "\n".join(
        [
            _covered(seen, seen.first, seen.last),
            "",
            "Flags, counted beforehand:",
            *flagged,
            "",
            "Reflections, the newest last:",
            *(_told(at, reflection) for at, reflection in newest),
        ]
    )


def _covered(seen: _Seen, first: Millis, last: Millis) -> str:
    return (
        f"{iso(first)} to {iso(last)}: {seen.ticks} ticks, {len(seen.reflections)} reflections, "
        f"{len(seen.attempts)} works attempted, {seen.surfaces - seen.suppressed} items brought "
        "to the operator."
    )


def _flags(seen: _Seen) -> Iterator[str]:
    """What went wrong, worst first: repeats, holds, cooldowns, what came to nothing, replies
    that could not be used, concerns that stay.
    """
    bodies = [reflection for _, reflection in seen.reflections]
    yield from _repeats(bodies)
    yield from _works(seen.attempts)
    for code in ("invalid-output", "model-error"):
        if seen.skipped[code]:
            yield f"{seen.skipped[code]} of {seen.ticks} ticks: {code}"
    for code, count in sorted(seen.errors.items()):
        yield f"error {one_line(code, _TITLE)}, {count} times"
    if seen.suppressed:
        yield f"{seen.suppressed} of {seen.surfaces} items said what had just been said"
    yield from _concerns(bodies)


def _repeats(bodies: Sequence[Reflection]) -> Iterator[str]:
    repeated = sum(body.repeated for body in bodies)
    if repeated:
        longest = max(body.repeat_count for body in bodies)
        yield (
            f"{repeated} of {len(bodies)} reflections said the same as the one before, up to "
            f"{longest} times in a row"
        )
    held = sum(body.pressure == "hold" for body in bodies)
    if held:
        yield f"{held} times it was held, since it went on repeating itself"


def _works(attempts: Sequence[ExecutiveAttempt]) -> Iterator[str]:
    cooled = Counter(
        (attempt.action_kind, attempt.title)
        for attempt in attempts
        if attempt.outcome == "cooldown"
    )
    for (kind, title), count in cooled.most_common(3):
        yield f"{kind} {one_line(title, _TITLE)!r} was wanted again too soon, {count} times"
    for outcome, words in (("no-progress", "brought nothing new"), ("error", "failed")):
        count = sum(attempt.outcome == outcome for attempt in attempts)
        if count:
            yield f"{count} of {len(attempts)} works {words}"


def _concerns(bodies: Sequence[Reflection]) -> Iterator[str]:
    """Those in the newest reflection that have stood in each one before it for long."""
    for concern in bodies[-1].concerns if bodies else ():
        wording = concern.strip().lower()
        stays = 0
        for body in reversed(bodies):
            if wording not in {each.strip().lower() for each in body.concerns}:
                break
            stays += 1
        if stays >= STAYS:
            yield f"a concern stays, {stays} reflections by now: {one_line(concern, _CONCERN)!r}"


def _told(at: Millis, reflection: Reflection) -> str:
    marks = [
        f"{FLAG}repeated {reflection.repeat_count}" if reflection.repeated else "",
        f"{FLAG}{reflection.pressure}" if reflection.pressure != "none" else "",
    ]
    return " | ".join(
        filter(
            None,
            [
                iso(at)[11:16],
                reflection.desired_action,
                one_line(reflection.focus, _FOCUS),
                one_line(reflection.summary, _SUMMARY),
                *marks,
            ],
        )
    )
