"""The Health light: is it learning, and why one may say so (page 8). Pure.

It rests on verdicts that were reached on evidence. One that could not be reached (inconclusive)
and one that a person stopped (voided) say nothing of the change, and are counted apart. One that
rests on the stall composite alone is no reason for green, since nothing tells whether it was
useful. docs/adr/1250-what-the-health-light-rests-on.md says why each number is what it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.domain.instants import DAY, Millis
from gnomon.domain.json_value import Fields
from gnomon.domain.records_change import Basis, VerdictOutcome
from gnomon.domain.views_change import Health, Light

LEAST_VERDICTS = 3
"""Below it nothing is said of learning; also how many of the last a kept one is sought in."""
ALL_UNDONE = 5
"""So many undone in a row are red (seed 1, phase 4)."""
SHRINKS = 3
"""So many changes in a row, each of which left its file shorter, are a trend."""
SHRUNK_LEAST = 0.05
"""And together by so much: a word less here and there is editing, not cheating."""
SETTLED_DAY = 30
"""Until then many are undone while it finds its feet (seed 1, section 9)."""
UNDONE_SHARE = 0.8
WEEK = 7 * DAY

SENTENCES: dict[str, str] = {
    "shrinking": "Its instructions keep shrinking, a known way to cheat",
    "too-early": "Too early to say: {verdicts} of {least} verdicts",
    "all-undone": "Not improving: last {in_a_row} changes undone",
    "worse": "Worse than last week",
    "improving": "Improving: at least 1 of the last {least} changes kept, and the week is up",
    "mostly-undone": "No clear change",
    "no-clear-change": "No clear change",
}
"""Page 8's words, by code. The pages' language file has them too, and a test holds the two
together.
"""


@dataclass(frozen=True)
class Verdict:
    """One that was reached. `taken_back`: it was kept, and the operator undid it later."""

    outcome: VerdictOutcome
    basis: Basis | None
    at: Millis
    taken_back: bool = False

    @property
    def on_evidence(self) -> bool:
        return self.outcome in ("kept", "rolled_back")

    @property
    def undone(self) -> bool:
        return self.outcome == "rolled_back" or self.taken_back

    @property
    def speaks_for_it(self) -> bool:
        """Kept, and known to be useful."""
        return self.outcome == "kept" and self.basis == "both" and not self.taken_back


@dataclass(frozen=True)
class Resized:
    """What a change that stands did to its file's length, in characters."""

    before: int
    after: int


def resized(before: int, diff: str) -> Resized:
    """From the length before and the unified diff: the text after is not kept for long."""
    lines = diff.splitlines(keepends=True)
    hunks = next((at for at, line in enumerate(lines) if line.startswith("@@")), len(lines))
    came = sum(len(line) - 1 for line in lines[hunks:] if line.startswith("+"))
    went = sum(len(line) - 1 for line in lines[hunks:] if line.startswith("-"))
    return Resized(before=before, after=before + came - went)


@dataclass(frozen=True)
class HealthFacts:
    """`verdicts` and `resized` oldest first. `week` and `week_before` are pooled shares of 7
    days that were used, null below the least sample; `margin` is how far apart two weeks must
    lie to differ, `beyond_chance` whether their intervals lie apart. `day` counts from
    the first measured window.
    """

    verdicts: Sequence[Verdict]
    resized: Sequence[Resized]
    week: float | None
    week_before: float | None
    margin: float
    beyond_chance: bool
    now: Millis
    day: int


def health(facts: HealthFacts) -> Health:
    """The light and its sentence. What is wrong is said before what is well."""
    reached = [each for each in facts.verdicts if each.on_evidence]
    light, code = _light(facts, reached)
    figures = _figures(facts, reached)
    return Health(
        light=light, code=code, sentence=SENTENCES[code].format_map(figures), figures=figures
    )


def _light(facts: HealthFacts, reached: Sequence[Verdict]) -> tuple[Light, str]:
    last = reached[-LEAST_VERDICTS:]
    moved = _moved(facts)
    if _shrinks(facts.resized):
        return "red", "shrinking"
    if len(reached) < LEAST_VERDICTS:
        return "grey", "too-early"
    if len(reached) >= ALL_UNDONE and all(each.undone for each in reached[-ALL_UNDONE:]):
        return "red", "all-undone"
    if moved == "down" and facts.beyond_chance:
        return "red", "worse"
    if facts.day > SETTLED_DAY and _mostly_undone(_of_the_week(facts, reached)):
        return "yellow", "mostly-undone"
    if moved == "up" and any(each.speaks_for_it for each in last):
        return "green", "improving"
    return "yellow", "no-clear-change"


def _shrinks(resized: Sequence[Resized]) -> bool:
    last = resized[-SHRINKS:]
    if len(last) < SHRINKS or not all(each.after < each.before for each in last):
        return False
    lost = sum(each.before - each.after for each in last)
    return lost >= SHRUNK_LEAST * last[0].before


def _moved(facts: HealthFacts) -> str | None:
    """`up`, `down`, or null: within the margin, or one of the weeks is not known."""
    if facts.week is None or facts.week_before is None:
        return None
    difference = round(facts.week - facts.week_before, 6)
    if abs(difference) <= facts.margin:
        return None
    return "up" if difference > 0 else "down"


def _of_the_week(facts: HealthFacts, reached: Sequence[Verdict]) -> Sequence[Verdict]:
    return [each for each in reached if facts.now - WEEK < each.at <= facts.now]


def _mostly_undone(verdicts: Sequence[Verdict]) -> bool:
    if len(verdicts) < LEAST_VERDICTS:
        return False
    return sum(each.undone for each in verdicts) > UNDONE_SHARE * len(verdicts)


def _figures(facts: HealthFacts, reached: Sequence[Verdict]) -> Fields:
    week = _of_the_week(facts, reached)
    return {
        "verdicts": len(reached),
        "least": LEAST_VERDICTS,
        "in_a_row": ALL_UNDONE,
        "kept": sum(each.speaks_for_it for each in reached),
        "kept_usefulness_unknown": sum(
            each.outcome == "kept" and each.basis != "both" for each in reached
        ),
        "undone": sum(each.undone for each in reached),
        "not_enough_evidence": sum(each.outcome == "inconclusive" for each in facts.verdicts),
        "stopped": sum(each.outcome == "voided" for each in facts.verdicts),
        "week": facts.week,
        "week_before": facts.week_before,
        "undone_this_week": sum(each.undone for each in week),
        "verdicts_this_week": len(week),
    }
