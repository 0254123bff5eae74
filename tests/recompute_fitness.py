"""Recompute every number of a fitness-ledger from raw JSON lines, sharing no code with Gnomon.

`recompute(decisions, engagement, fitness, config)` takes parsed lines and gives a sentence
for each number that does not hold. A window that says `clock_step` or `ledger_changed` is only
checked to measure nothing.
Run: `python tests/recompute_fitness.py <kernel folder>`.
"""

import json
import re
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

Fields = dict[str, Any]
RANK = {None: 0, "ignored": 1, "system_unavailable": 2, "acked": 3, "acted": 4}
SYSTEM = ("timeout", "gateway_shutdown")
LASTS = float("inf")


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def recompute(
    decisions: list[Fields], engagement: list[Fields], fitness: list[Fields], config: Fields
) -> list[str]:
    found = written_twice(fitness)
    boundary, measured = 0.0, 0
    looked: list[int] = [0, 0]
    after: dict[str, int] = {}
    for number, line in enumerate(fitness):
        if line["kind"] == "gap":
            found += gap_faults(decisions, line, fitness[number + 1 :])
            continue
        used = line["inputs"]["decision-ledger"]["seq"]
        if used > measured:
            boundary, measured = looked_at(line, decisions, engagement), used
            after.setdefault(line["window_start"], looked[-2])
            looked.append(line["inputs"]["engagement-ledger"]["seq"])
        wanted = {
            **stall(decisions, line, config),
            **engaged(engagement, line, boundary, config, after[line["window_start"]]),
        }
        if line["stall_reason"] in ("clock_step", "ledger_changed"):
            wanted = {"stall_composite": None, "engagement_rate": None}
        for name, value in wanted.items():
            if line[name] != value:
                found.append(
                    f"{line['kind']} {line['window_start']}: {name} is {line[name]}, not {value}"
                )
    return found


def written_twice(fitness: list[Fields]) -> list[str]:
    starts = [line["window_start"] for line in fitness if line["kind"] == "window"]
    return [f"{start}: written twice" for start in set(starts) if starts.count(start) > 1]


def looked_at(line: Fields, decisions: list[Fields], engagement: list[Fields]) -> float:
    """Until when the surfaces of a window were watched: its end and a minute. Where a note says
    that the clock was set back before, its last decision; set forward over it, when that was.
    """
    over = seconds(line["window_end"]) + 60
    decided, engaged_to = (line["inputs"][f"{n}-ledger"]["seq"] for n in ("decision", "engagement"))
    last = engagement[engaged_to - 1] if engaged_to else None
    at, fell_to = seconds(last["at"]) if last else 0.0, None
    for each in engagement[engaged_to:]:
        if each["kind"] == "clock-stepped":
            came_to, step = seconds(each["wall_before"]), each["step_seconds"]
            if step < 0:
                early = fell_to is None and came_to < over
                return seconds(decisions[decided - 1]["at"]) if early else over
            if fell_to is None and came_to < over <= seconds(each["wall_after"]):
                return came_to  # what was skipped nobody lived
        if seconds(each["at"]) >= over:
            break
        if fell_to is None and seconds(each["at"]) < at:
            fell_to = seconds(each["at"])
        at = seconds(each["at"])
    return over


def gap_faults(decisions: list[Fields], gap: Fields, later: list[Fields]) -> list[str]:
    """A gap is true if no line lay in it when the window after it was written."""
    start, end = seconds(gap["window_start"]), seconds(gap["window_end"])
    cited = [each["inputs"]["decision-ledger"]["seq"] for each in later if each["kind"] == "window"]
    known = decisions[: cited[0]] if cited else decisions
    inside = [each for each in known if start <= seconds(each["at"]) < end]
    return [f"the gap from {gap['window_start']} holds decisions"] if inside else []


# --- what the resident did --------------------------------------------------------------------


def stall(decisions: list[Fields], line: Fields, config: Fields) -> Fields:
    start, end = seconds(line["window_start"]), seconds(line["window_end"])
    used = decisions[: line["inputs"]["decision-ledger"]["seq"]]
    inside = [each for each in used if start <= seconds(each["at"]) < end]
    reflections = [each for each in inside if each["kind"] == "reflection"]
    attempts = [each for each in inside if each["kind"] == "executive-attempt"]
    versions = [each["scaffold_version"] for each in inside if "scaffold_version" in each]
    said: Fields = {
        "tick_count": sum(each["kind"] == "tick" for each in inside),
        "reflection_count": len(reflections),
        "executive_attempt_count": len(attempts),
        "scaffold_version": versions[-1] if versions else None,
        "mixed_scaffold": len(set(versions)) > 1,
    }
    if len(reflections) < config["min_reflections_for_valid_window"]:
        nothing = dict.fromkeys(
            ("reflection_repeat_rate", "executive_cooldown_rate", "concern_persistence_rate")
        )
        return said | {
            "stall_composite": None,
            "stall_reason": "missing_data",
            "components": nothing,
        }
    repeats = sum(each["repeated"] or each["pressure"] == "hold" for each in reflections)
    cooldowns = sum(each["outcome"] == "cooldown" for each in attempts)
    groups: list[tuple[str, set[int]]] = []
    for number, each in enumerate(reflections):
        for concern in each["concerns"]:
            known = [g for g in groups if alike(g[0], concern, config["concern_similarity"])]
            if known:
                known[0][1].add(number)
            else:
                groups.append((concern, {number}))
    last = len(reflections) - 1
    lasting = sum(last in numbers and min(numbers) < last for _, numbers in groups)
    rates = (
        repeats / len(reflections),
        cooldowns / max(1, len(attempts)),
        lasting / max(1, len(groups)),
    )
    weights = config["weights"]
    composite = sum(
        weights[name] * part
        for name, part in zip(("repeat", "cooldown", "concern"), rates, strict=True)
    )
    return said | {
        "stall_composite": round(composite, 6),
        "stall_reason": None,
        "components": {
            "reflection_repeat_rate": round(rates[0], 6),
            "executive_cooldown_rate": round(rates[1], 6),
            "concern_persistence_rate": round(rates[2], 6),
        },
    }


def alike(one: str, other: str, rule: Fields) -> bool:
    a = re.findall(r"\w+", one.lower())
    b = re.findall(r"\w+", other.lower())
    both = len(set(a) & set(b))
    least = min(len(set(a)), len(set(b)))
    return a == b or (both >= rule["shared_words"] and both >= rule["shared_part"] * least)


# --- what the operator did ----------------------------------------------------------------------


def engaged(
    engagement: list[Fields], line: Fields, as_of: float, config: Fields, after: int
) -> Fields:
    """Of what was brought in the window, and not in another pass through its hour: that is in the
    lines up to the one that the window before the last had looked at.
    """
    known, ahead = steadied(engagement[: line["inputs"]["engagement-ledger"]["seq"]])
    as_of = max(as_of - ahead, known[-1]["t"] if known else 0.0)
    start, end = seconds(line["window_start"]), seconds(line["window_end"])
    away = absences(known)
    surfaces = [
        surface(each, known, away, as_of, config)
        for each in known
        if each["kind"] == "surface_emitted"
        and start <= seconds(each["at"]) < end
        and each["seq"] > after
    ]
    tests = [each for each in surfaces if each["synthetic"]]
    rules = [each for each in surfaces if each["origin"] == "rule" and not each["synthetic"]]
    model = [each for each in surfaces if each["origin"] == "model" and not each["synthetic"]]
    counts = count(model)
    total = sum(counts.values())
    enough = total >= config["M_min"]
    unavailable = [each for each in model if each["outcome"] == "system_unavailable"]
    return {
        "engagement_rate": round(counts["acted"] / total, 6) if enough else None,
        "engagement_reason": None if enough else "low_sample",
        "engagement_counts": counts,
        "system_unavailable_count": len(unavailable),
        "system_unavailable_seconds": int(sum(each["down"] for each in unavailable) + 1e-6),
        "pending": sum(each["outcome"] is None for each in model),
        "mature": all(
            each["outcome"] == "acted" or (each["outcome"] and each["past"]) for each in surfaces
        ),
        "rule_counts": count(rules),
        "synthetic_counts": count(tests),
    }


def count(surfaces: list[Fields]) -> dict[str, int]:
    outcomes = [each["outcome"] for each in surfaces]
    return {name: outcomes.count(name) for name in ("acted", "acked", "ignored")}


def steadied(lines: list[Fields]) -> tuple[list[Fields], float]:
    """The lines, each with a time `t` that runs on however the wall was set; and by how much
    the wall is ahead of it at the end. Where it was set back and nobody noted it, no time passed.
    """
    found: list[Fields] = []
    wall, t, fell_to = None, 0.0, None
    for line in lines:
        at = seconds(line["at"])
        if line["kind"] == "clock-stepped":
            before, step = seconds(line["wall_before"]), line["step_seconds"]
            fell = fell_to is not None and fell_to >= before + step - 1
            known, fell_to = step < 0 and fell and wall is not None and wall <= at, None
            passed = at - (wall or 0.0) if known else max(before, at - step) - (wall or 0.0)
            ahead = wall is not None and step > 0 and wall >= before + step
            passed = passed if ahead else max(0.0, passed)
        else:
            passed = at - wall if wall is not None and at >= wall else 0.0
            fell_to = at if wall is not None and at < wall else fell_to
        wall, t = at, t + passed
        for each in found if passed < 0 else ():
            if each["kind"] == "surface_emitted":  # dated by a wall that had been set forward
                each["t"] = min(each["t"], t)
        found.append(line | {"t": t})
    return found, (wall or 0.0) - t


def absences(lines: list[Fields]) -> list[tuple[float, float, bool]]:
    """(from, to, whether it was down and not asleep); the one that lasts has no end."""
    found: list[tuple[float, float, bool]] = []
    since: tuple[float, str] | None = None
    up = float("-inf")
    for line in lines:
        if line["kind"] == "gateway_stopped" and since is None:
            since = max(up, line["t"] - (line["gap_seconds"] or 0)), line["cause"]
        if line["kind"] == "gateway_started" and since is not None:
            found.append((since[0], line["t"], since[1] != "sleep"))
            since, up = None, line["t"]
    return found if since is None else [*found, (since[0], LASTS, since[1] != "sleep")]


def surface(
    emitted: Fields,
    lines: list[Fields],
    away: list[tuple[float, float, bool]],
    as_of: float,
    config: Fields,
) -> Fields:
    born, horizon = emitted["t"], config["horizon_seconds"]

    def awake(until: float) -> float:
        gone = sum(max(0.0, min(b, until) - max(a, born)) for a, b, _ in away)
        return until - born - gone

    def past(moment: float) -> bool:
        return awake(moment) >= horizon - 1e-6 or moment - born >= 3 * horizon - 1e-6

    outcome = None
    for line in lines:
        if line["kind"] != "outcome" or line["surface_id"] != emitted["surface_id"]:
            continue
        if line["source"] not in SYSTEM and past(line["t"]):
            continue
        if RANK[line["outcome"]] > RANK[outcome]:
            outcome = line["outcome"]
    down = sum(
        max(0.0, min(b, born + 3 * horizon) - max(a, born))
        for a, b, is_down in away
        if is_down and b < LASTS and awake(a) < horizon - 1e-6
    )
    return {
        "outcome": outcome,
        "past": past(as_of),
        "down": down,
        "origin": emitted["origin"],
        "synthetic": emitted["synthetic"],
    }


def read(path: Path) -> list[Fields]:
    parts = [path, *sorted(path.parent.glob(f"{path.stem}.[0-9]*.jsonl"))]
    return [json.loads(raw) for part in parts for raw in part.read_bytes().split(b"\n") if raw]


def main(kernel: Path) -> int:
    names = ("decision-ledger", "engagement-ledger", "fitness-ledger")
    config = json.loads((kernel / "fitness-config.json").read_text())
    decisions, engagement, fitness = (read(kernel / f"{name}.jsonl") for name in names)
    faults = recompute(decisions, engagement, fitness, config)
    print("\n".join(faults) or "every number holds")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
