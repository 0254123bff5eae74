"""What must hold of every change, recomputed from what the ledgers' bytes say (invariants 1, 5
and 6). Pure, and shares no code with what it checks.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from gnomon.simulate.ledger_files import PlainLine

ENDS = {"kept": "kept", "rolled_back": "reverted", "inconclusive": "reverted", "voided": "voided"}
TESTED = ("applied", "watched")
ENDED = ("kept", "reverted", "voided", "refused", "rejected", "expired")


def life_violations(
    refinement: Sequence[PlainLine], judgments: Sequence[PlainLine]
) -> Iterator[str]:
    """One test at a time, one verdict and one end a change, and the end that the verdict says."""
    status: dict[str, str] = {}
    for line in refinement:
        yield from _step(line, status)
    judged: set[str] = set()
    for line in judgments:
        change, outcome = line.fields["change_id"], line.fields["outcome"]
        if outcome == "pending":
            continue
        if change in judged:
            yield f"{change} was judged twice"
        judged.add(change)
        if status.get(change) != ENDS[outcome]:
            yield f"{change} was judged {outcome} and is {status.get(change)}"


def _step(line: PlainLine, status: dict[str, str]) -> Iterator[str]:
    change, now = line.fields["change_id"], line.fields["status"]
    before = status.get(change)
    if (line.kind == "change") != (before is None):
        yield f"line {line.seq}: {change} was proposed twice, or never"
    if before in ENDED and (before, now) != ("kept", "reverted"):
        yield f"line {line.seq}: {change} goes on after its end"
    status[change] = now
    tested = [each for each, its in status.items() if its in TESTED]
    if len(tested) > 1:
        yield f"line {line.seq}: {' and '.join(tested)} are tested at once"


def verdict_violations(
    refinement: Sequence[PlainLine],
    judgments: Sequence[PlainLine],
    fitness: Sequence[PlainLine],
    config: Mapping[str, Any],
) -> Iterator[str]:
    """Every mean rests on the windows that it names, and every verdict on its means."""
    watched = {
        line.fields["change_id"]: line.fields["scaffold_version"]
        for line in refinement
        if line.fields["status"] == "watched"
    }
    for line in judgments:
        said = line.fields
        if said["outcome"] not in ("kept", "rolled_back", "inconclusive"):
            continue
        standing = {
            each.fields["window_start"]: each.fields
            for each in fitness
            if each.kind != "gap" and each.seq <= said["fitness_head"]["seq"]
        }
        change = said["change_id"]
        for metric, key in (("stall", "stall_composite"), ("engagement", "engagement_rate")):
            yield from _means(change, said[metric], key, standing, watched.get(change))
        expected = _expected(said, config)
        if (said["outcome"], said["basis"]) != expected:
            yield f"{change} was judged {said['outcome']}, and its means say {expected[0]}"


def _means(
    change: str,
    means: Mapping[str, Any],
    key: str,
    standing: Mapping[str, Mapping[str, Any]],
    version: str | None,
) -> Iterator[str]:
    for side in ("before", "after"):
        starts = means[f"windows_{side}"]
        windows = [standing[start] for start in starts]
        if any(window["mixed_scaffold"] for window in windows):
            yield f"{change}: a mixed window is evidence"
        if key == "engagement_rate" and not all(window["mature"] for window in windows):
            yield f"{change}: provisional engagement is evidence"
        versions = {window["scaffold_version"] for window in windows}
        if side == "after" and versions - {version}:
            yield f"{change}: a window of {versions} counts as its own"
        if side == "before" and version in versions:
            yield f"{change}: its own window counts as the incumbent's"
        values = [window[key] for window in windows]
        if None in values:
            yield f"{change}: a window without {key} is evidence"
        elif means[side] is not None and abs(fmean(values) - means[side]) > 1e-6:
            yield f"{change}: the mean {side} is {means[side]}, the windows' {fmean(values)}"


def _expected(said: Mapping[str, Any], config: Mapping[str, Any]) -> tuple[str, str | None]:
    """The seed's rule once more, in its own words."""
    stall, engagement = said["stall"], said["engagement"]
    delta = 0.0 if config["dev_mode"] else config["delta"]
    whole = {
        name: round(each["after"] - each["before"], 6)
        for name, each in (("stall", stall), ("engagement", engagement))
        if each["before"] is not None and each["after"] is not None
    }
    if "below-length-floor" in said["reasons"]:
        return "rolled_back", said["basis"]
    if len(whole) == len(("stall", "engagement")):
        good = whole["engagement"] > delta and whole["stall"] <= config["epsilon"]
        return ("kept" if good else "rolled_back"), "both"
    if "stall" not in whole:
        return "inconclusive", None
    return ("kept" if whole["stall"] < -delta else "rolled_back"), "stall_only"


def text_violations(refinement: Sequence[PlainLine], standing: Mapping[str, str]) -> Iterator[str]:
    """Each file holds the text that its last change left there. `standing`: SHA-256 by file;
    only of a home whose files nobody edits by hand.
    """
    proposed = {
        line.fields["change_id"]: line.fields for line in refinement if line.kind == "change"
    }
    expected: dict[str, str] = {}
    in_force: set[str] = set()
    for line in refinement:
        change = proposed[line.fields["change_id"]]
        match line.fields["status"]:
            case "applied":
                in_force.add(change["change_id"])
                expected[change["target"]] = change["candidate_sha256"]
            case "reverted" | "voided" if change["change_id"] in in_force:
                expected[change["target"]] = change["base_sha256"]
            case _:
                pass
    for target, sha256 in expected.items():
        if standing.get(target) != sha256:
            yield f"{target} holds another text than its last change left"
