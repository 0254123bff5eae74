"""Windows and outcomes counted again: the windows from the bytes of the ledgers, the outcomes
from what truly happened. Pure, and shares no code with the referee.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gnomon.domain.instants import HOUR, MINUTE, SECOND, Millis
from gnomon.simulate.invariants import STRENGTH
from gnomon.simulate.ledger_files import PlainLine, millis
from gnomon.simulate.story import Did, Span, Story

Config = Mapping[str, Any]
STEPPED = ("clock_step", "ledger_changed")
HORIZON = 24 * HOUR
"""Awake; by the wall it is three times as long."""
CRASH_MARKS = 300 * SECOND
SLACK = 5 * MINUTE
"""What happens this near to a bound may be judged either way: beats are a minute apart."""


# --- windows ---------------------------------------------------------------------------------


def window_violations(
    decisions: Sequence[PlainLine],
    engagement: Sequence[PlainLine],
    fitness: Sequence[PlainLine],
    config: Config,
) -> Iterator[str]:
    """Each window exists once, none is false, and none that was lived is missing but the last."""
    length = config["window_seconds"] * SECOND
    starts = Counter(line.fields["window_start"] for line in fitness if line.kind == "window")
    yield from (
        f"window {start} was written {count} times" for start, count in starts.items() if count > 1
    )
    standing = {line.fields["window_start"]: line for line in fitness if line.kind != "gap"}
    lived = {line.at - line.at % length for line in decisions}
    written = {millis(start) for start in standing}
    yield from (f"window {start} holds no line" for start in sorted(written - lived))
    newest = max(lived, default=0)
    cited = max((_cited(line) for line in fitness), default=0)
    for line in decisions:
        start = line.at - line.at % length
        if start not in written and start != newest and line.seq <= cited:
            yield f"line {line.seq} of the decision-ledger is in no window"
            break
    outcomes = standing_outcomes(engagement)
    for line in standing.values():
        yield from _window(line, decisions, engagement, outcomes, config)


def _cited(line: PlainLine) -> int:
    return line.fields["inputs"]["decision-ledger"]["seq"]


def _window(
    line: PlainLine,
    decisions: Sequence[PlainLine],
    engagement: Sequence[PlainLine],
    outcomes: Mapping[str, str],
    config: Config,
) -> Iterator[str]:
    said = line.fields
    start = millis(said["window_start"])
    end = start + config["window_seconds"] * SECOND
    if end != millis(said["window_end"]) or start % (config["window_seconds"] * SECOND):
        yield f"window {said['window_start']} is not aligned"
    if STEPPED[0] in {said["stall_reason"], said["engagement_reason"]}:
        if said["stall_composite"] is not None or said["engagement_rate"] is not None:
            yield f"window {said['window_start']} measures something although the clock was set"
        return
    within = [each for each in decisions if start <= each.at < end and each.seq <= _cited(line)]
    for name, value in (
        _stall(within, config) | _engaged(said, engagement, outcomes, config)
    ).items():
        if said[name] != value:
            yield f"window {said['window_start']}: {name} is {said[name]}, and not {value}"


def _stall(within: Sequence[PlainLine], config: Config) -> dict[str, Any]:
    """The numbers of seed 1, section 4.2, as page 3 settles them."""
    reflections = [each.fields for each in within if each.kind == "reflection"]
    attempts = [each.fields["outcome"] for each in within if each.kind == "executive-attempt"]
    counted = {
        "tick_count": sum(each.kind == "tick" for each in within),
        "reflection_count": len(reflections),
        "executive_attempt_count": len(attempts),
    }
    if len(reflections) < config["min_reflections_for_valid_window"]:
        return counted | {"stall_composite": None}
    repeats = sum(each["repeated"] or each["pressure"] == "hold" for each in reflections)
    weights = config["weights"]
    composite = (
        weights["repeat"] * repeats / len(reflections)
        + weights["cooldown"] * attempts.count("cooldown") / max(1, len(attempts))
        + weights["concern"] * _persisting([each["concerns"] for each in reflections])
    )
    return counted | {"stall_composite": round(composite, 6)}


def _persisting(concerns: Sequence[Sequence[str]]) -> float:
    """The share of concerns that were there before the last reflection and are still in it."""
    kinds: list[tuple[frozenset[str], list[int]]] = []
    for number, said in enumerate(concerns):
        for concern in said:
            words = frozenset(re.findall(r"\w+", concern.lower()))
            known = next((kind for kind in kinds if _alike(kind[0], words)), None)
            if known is None:
                kinds.append((words, [number]))
            else:
                known[1].append(number)
    last = len(concerns) - 1
    lasting = sum(numbers[0] < last and numbers[-1] == last for _, numbers in kinds)
    return lasting / max(1, len(kinds))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return one == other or (shared >= 3 and shared >= 0.45 * min(len(one), len(other)))


def _engaged(
    said: Mapping[str, Any],
    engagement: Sequence[PlainLine],
    outcomes: Mapping[str, str],
    config: Config,
) -> dict[str, Any]:
    """The counts of a mature window: what stands for the surfaces that were emitted in it."""
    if not said["mature"]:
        return {}
    start, end = millis(said["window_start"]), millis(said["window_end"])
    surfaces = [
        outcomes.get(each.fields["surface_id"])
        for each in engagement
        if each.kind == "surface_emitted"
        and start <= each.at < end
        and each.fields["origin"] == "model"
        and not each.fields["synthetic"]
    ]
    counts = {name: surfaces.count(name) for name in ("acted", "acked", "ignored")}
    total = sum(counts.values())
    rate = round(counts["acted"] / total, 6) if total >= config["M_min"] else None
    return {
        "engagement_counts": counts,
        "engagement_rate": rate,
        "system_unavailable_count": surfaces.count("system_unavailable"),
    }


def standing_outcomes(engagement: Sequence[PlainLine]) -> dict[str, str]:
    """The strongest outcome of each surface."""
    found: dict[str, str] = {}
    for line in engagement:
        if line.kind == "outcome":
            surface, outcome = line.fields["surface_id"], line.fields["outcome"]
            found[surface] = max(found.get(surface, outcome), outcome, key=STRENGTH.index)
    return found


# --- outcomes --------------------------------------------------------------------------------


def truth_violations(
    engagement: Sequence[PlainLine],
    true_times: Mapping[int, Millis],
    story: Story,
    unsure: set[str],
    horizon: int = HORIZON,
) -> Iterator[str]:
    """What stands for each surface is what truly became of it."""
    outcomes = standing_outcomes(engagement)
    for line in engagement:
        surface = line.fields.get("surface_id", "")
        if line.kind != "surface_emitted" or surface in unsure or line.seq not in true_times:
            continue
        born = true_times[line.seq]
        did = [each for each in story.did if each.surface_id == surface]
        yield from _late(surface, born, did, story, horizon)
        allowed = _allowed(born, did, story, horizon)
        if outcomes.get(surface) not in allowed:
            wanted = " or ".join(str(each) for each in sorted(allowed, key=str))
            yield f"surface {surface} is {outcomes.get(surface)}, and not {wanted}"


def _late(
    surface: str, born: Millis, did: Sequence[Did], story: Story, horizon: int
) -> Iterator[str]:
    for each in did:
        if story.awake_between(born, each.at) > horizon + SLACK:
            yield f"surface {surface} was answered after its time"


def _allowed(born: Millis, did: Sequence[Did], story: Story, horizon: int) -> set[str | None]:
    """What may stand for a surface that was emitted at `born`. More than one thing where a
    bound is too near to tell.
    """
    if did:
        return {max((each.outcome for each in did), key=STRENGTH.index)}
    allowed: set[str | None] = set()
    awake = 0
    for span, following in zip(story.spans, [*story.spans[1:], None], strict=True):
        if span.end > born:
            awake += span.end - max(span.start, born)
            may, is_settled = _after(span, following, born, awake, horizon)
            allowed |= may
            if is_settled:
                return allowed
    return allowed | {None}


def _after(
    span: Span, following: Span | None, born: Millis, awake: int, horizon: int
) -> tuple[set[str | None], bool]:
    """What may have become of a surface by the time after a span; and whether that stays."""
    may: set[str | None] = {"ignored"} if awake >= horizon - SLACK else set()
    if awake >= horizon + SLACK:
        return may, True
    marks = _marks(span, following)
    if marks is not False:
        may.add("system_unavailable")
    back = following.start if following else span.end
    if back - born >= 3 * horizon - SLACK:
        return may | {"system_unavailable"}, True
    return may, bool(marks)


def _marks(span: Span, following: Span | None) -> bool | None:
    """Whether what ended a span marks the surfaces that lived through it; null: hard to say."""
    if span.ended == "asleep":
        return False
    if span.ended != "killed":
        return True
    if following is None:
        return None
    down = following.start - span.end
    # The last heartbeat dates the end, up to a minute and a half early.
    if down > CRASH_MARKS:
        return True
    return False if down + 90 * SECOND < CRASH_MARKS else None
