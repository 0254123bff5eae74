"""Pretended self-change: what its pages are tried on."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gnomon.change.diff import summary
from gnomon.change.health import HealthFacts, Resized, Verdict, health
from gnomon.daemon import arguments as given
from gnomon.domain.errors import UsageError
from gnomon.domain.instants import DAY, HOUR, Millis, iso, parse_iso
from gnomon.domain.records_change import Delta, Means, Prediction, VerdictOutcome
from gnomon.domain.unified_diff import unified
from gnomon.domain.verdict_reasons import Margins, told
from gnomon.domain.views import Done
from gnomon.domain.views_change import (
    ChangeDiff,
    ChangeShown,
    ChangeStepView,
    ChangeView,
    Health,
    Learning,
    Readiness,
    VersionDiff,
    VersionView,
)
from gnomon.gateway.operation import Nothing, Operation, Progress
from gnomon.testing.referee import NOON, SHA

PROMPT = "inner-loop-prompt.md"
BEFORE = """You look around on behalf of one person.

Say what you noticed in at most three sentences. Be helpful and mention everything of interest.

Answer in the form that is asked for.
"""
AFTER = """You look around on behalf of one person.

Say what you noticed in at most two sentences. Mention only what they can act on today.

If nothing is new since your last look, say so and stop.

Answer in the form that is asked for.
"""
OLDEST = BEFORE.replace("three", "five")


def a_change(change_id: str, days_ago: float = 1, **changed: Any) -> ChangeView:
    """One that was kept on both metrics."""
    proposed = Millis(int(NOON - days_ago * DAY))
    kept = ChangeView(
        change_id=change_id,
        tier="T2",
        author="refiner",
        target=PROMPT,
        status="kept",
        proposed_at=iso(proposed),
        applied_at=iso(Millis(proposed + 120_000)),
        decided_at=iso(Millis(proposed + 20 * HOUR)),
        outcome="kept",
        basis="both",
        delta=Delta(stall=-0.06, engagement=0.08),
        summary=summary(unified(BEFORE, AFTER, PROMPT)),
    )
    return msgspec.structs.replace(kept, **changed)


def some_changes() -> list[ChangeView]:
    """One of each outcome, newest first."""
    return [
        a_change(
            "ch-9",
            0.4,
            status="watched",
            outcome=None,
            basis=None,
            decided_at=None,
            delta=Delta(),
            summary="+1 -1: + Name the file before you speak of what is in it.",
        ),
        a_change("ch-8", 2),
        a_change(
            "ch-7",
            4,
            status="reverted",
            outcome="rolled_back",
            delta=Delta(stall=0.03, engagement=-0.11),
            summary="+2 -0: + Open with a short summary of the whole day.",
        ),
        a_change(
            "ch-6",
            6,
            basis="stall_only",
            delta=Delta(stall=-0.09),
            summary="+1 -1: + Do not return to a thought that you had in the last hour.",
        ),
        a_change(
            "ch-5",
            9,
            status="reverted",
            outcome="inconclusive",
            basis=None,
            delta=Delta(),
            summary="+1 -0: + Prefer questions to statements.",
        ),
        a_change(
            "ch-4",
            11,
            status="voided",
            outcome="voided",
            basis=None,
            delta=Delta(),
            summary="+1 -2: + Speak of one project at a time.",
        ),
        a_change(
            "ch-3",
            12,
            status="refused",
            outcome=None,
            basis=None,
            applied_at=None,
            delta=Delta(),
            summary="+1 -0: + The engagement rate should be 0.8.",
            reason="new-number: It carries a number that the text before it did not: 0.8.",
        ),
        a_change(
            "ch-2",
            13,
            status="reverted",
            outcome="rolled_back",
            delta=Delta(stall=0.0, engagement=0.01),
            summary="+3 -1: + End each thought with a to-do.",
        ),
    ]


def a_change_shown(change: ChangeView) -> ChangeShown:
    proposed, applied = change.proposed_at, change.applied_at
    steps = [_step(proposed, "refused" if change.status == "refused" else "proposed", 31)]
    if applied is not None:
        steps += [_step(applied, "applied", 32), _step(applied, "watched", 33)]
    if change.outcome is not None and change.decided_at is not None:
        steps.append(_step(change.decided_at, change.outcome, 7, "judgment-ledger"))
        steps.append(_step(change.decided_at, change.status, 34))
    judged = change.outcome in ("kept", "rolled_back")
    windows = tuple(iso(Millis(NOON - at * HOUR)) for at in range(10))
    known = judged and change.delta.engagement is not None
    better = change.outcome == "kept"
    reason = "engagement-better" if better else "engagement-not-better"
    return ChangeShown(
        change=change,
        model="qwen3:8b",
        prompt="refiner@production#5c5c5c",
        rationale="It brought three things at a time, and the second and third were let pass. "
        "Fewer words and one rule for silence should leave what can be acted on.",
        prediction=Prediction(signal="engagement", direction="up"),
        prediction_held=better if known else None,
        evidence=("decision-ledger 1204-1288",),
        diff=unified(BEFORE, AFTER, change.target),
        base_sha256=SHA,
        candidate_sha256="aa" * 32,
        scaffold_version="000043-6f1d2c3b4a59",
        stall=_means(0.25, change.delta.stall, windows) if judged else None,
        engagement=_means(0.55, change.delta.engagement, windows) if known else None,
        reasons=(reason,) if judged else (),
        waits_for="enough hours with it in force" if change.status == "watched" else None,
        steps=tuple(steps),
        can_revert=change.status in ("watched", "kept"),
        told=told((reason,), change.basis, change.delta, Margins(0.05, 0.1)) if judged else (),
    )


def _means(before: float, moved: float | None, windows: tuple[str, ...]) -> Means:
    after = None if moved is None else before + moved
    return Means(before=before, after=after, windows_before=windows, windows_after=windows)


def _step(at: str, status: str, seq: int, ledger: str = "refinement-ledger") -> ChangeStepView:
    return ChangeStepView(at=at, status=status, reason=None, ledger=ledger, seq=seq)


def a_health(*outcomes: VerdictOutcome, week: float = 0.64, shrinking: bool = False) -> Health:
    """The light after these verdicts, a day apart, and 55% of use in the week before."""
    verdicts = [
        Verdict(outcome, "both", Millis(NOON - (len(outcomes) - at) * DAY))
        for at, outcome in enumerate(outcomes)
    ]
    resized = [Resized(before, before - 60) for before in (600, 540, 480)] if shrinking else []
    facts = HealthFacts(
        verdicts=verdicts,
        resized=resized,
        week=week,
        week_before=0.55,
        margin=0.05,
        beyond_chance=True,
        now=NOON,
        day=20,
    )
    return health(facts)


def a_readiness(**missing: str) -> Readiness:
    """Ready, but for what is `missing`: a code with its sentence."""
    return Readiness(
        ready=not missing,
        enabled="not_enabled" not in missing,
        dev_mode=False,
        codes=tuple(code.replace("_", "-") for code in missing),
        reasons=tuple(missing.values()),
        next_at=None if missing else iso(Millis(NOON + HOUR)),
        refused_calls=0,
    )


@dataclass
class PretendedChanges:
    """`changes` newest first. `undone` names those that were taken back, in order. `health`
    stands for the light that would follow of them.
    """

    changes: list[ChangeView] = field(default_factory=list[ChangeView])
    health: Health | None = None
    texts: dict[str, str] = field(
        default_factory=lambda: {"inner-loop-prompt.000041-0001-aa03bb19cc27.md": OLDEST}
    )
    undone: list[str] = field(default_factory=list[str])
    readiness: Readiness = field(default_factory=a_readiness)

    def fill(self) -> None:
        """A home in which it has changed itself for two weeks."""
        self.changes = some_changes()
        self.texts = {
            "inner-loop-prompt.000042-0001-6f1d2c3b4a59.md": BEFORE,
            "inner-loop-prompt.000041-0001-aa03bb19cc27.md": OLDEST,
        }

    def light(self) -> Health:
        if self.health is not None:
            return self.health
        judged = [each for each in reversed(self.changes) if each.outcome is not None]
        verdicts = [
            Verdict(each.outcome, each.basis, parse_iso(each.decided_at))
            for each in judged
            if each.outcome is not None and each.decided_at is not None
        ]
        facts = HealthFacts(
            verdicts=verdicts,
            resized=(),
            week=0.64,
            week_before=0.55,
            margin=0.05,
            beyond_chance=True,
            now=NOON,
            day=20,
        )
        return health(facts)

    def rows(self) -> Iterable[Operation]:
        """The rows of the table, named and typed as the daemon's."""
        yield from self._learning_rows()
        yield from self._change_rows()
        yield from self._text_rows()

    def _learning_rows(self) -> Iterable[Operation]:
        async def learning(_: Nothing, __: Progress) -> Learning:
            tested = [each for each in self.changes if each.status == "watched"]
            tried = [each for each in self.changes if each.status != "refused"]
            return Learning(
                health=self.light(),
                changes=tuple(tried[:20]),
                refused=tuple(each for each in self.changes if each.status == "refused"),
                last_diff=unified(BEFORE, AFTER, PROMPT) if tried else None,
                dev_mode=False,
                testing=tested[0].change_id if tested else None,
            )

        async def ready(_: Nothing, __: Progress) -> Readiness:
            return self.readiness

        async def enable(_: Nothing, __: Progress) -> Readiness:
            self.readiness = a_readiness()
            return self.readiness

        async def disable(_: Nothing, __: Progress) -> Readiness:
            self.readiness = a_readiness(not_enabled="You have not said that the number fits.")
            return self.readiness

        yield Operation("learning.show", "Learning?", Nothing, Learning, learning, reads=True)
        yield Operation("refine.status", "Ready?", Nothing, Readiness, ready, reads=True)
        yield Operation("refine.enable", "It fits", Nothing, Readiness, enable)
        yield Operation("refine.disable", "It does not", Nothing, Readiness, disable)

    def _change_rows(self) -> Iterable[Operation]:
        async def listed(asked: given.ChangesList, _: Progress) -> list[ChangeView]:
            return self.changes[: asked.limit]

        async def show(asked: given.OfChange, _: Progress) -> ChangeShown:
            return a_change_shown(self._change(asked.change_id))

        async def diff(asked: given.OfChange, _: Progress) -> ChangeDiff:
            shown = a_change_shown(self._change(asked.change_id))
            return ChangeDiff(
                change_id=asked.change_id, target=shown.change.target, diff=shown.diff
            )

        async def revert(asked: given.OfChange, _: Progress) -> Done:
            self.undone.append(asked.change_id)
            self.changes = [
                msgspec.structs.replace(each, status="reverted")
                if each.change_id == asked.change_id
                else each
                for each in self.changes
            ]
            return Done(detail=f"{PROMPT} reads as it did before.")

        changes = list[ChangeView]
        yield Operation("changes.list", "All", given.ChangesList, changes, listed, reads=True)
        yield Operation("changes.show", "One", given.OfChange, ChangeShown, show, reads=True)
        yield Operation("changes.diff", "Its diff", given.OfChange, ChangeDiff, diff, reads=True)
        yield Operation("changes.revert", "Undo", given.OfChange, Done, revert)

    def _text_rows(self) -> Iterable[Operation]:
        async def versions(_: given.ScaffoldVersions, __: Progress) -> list[VersionView]:
            return self._versions()

        async def differ(asked: given.ScaffoldDiff, _: Progress) -> VersionDiff:
            texts = {"current": AFTER, **self.texts}
            text = unified(texts[asked.before], texts[asked.after], asked.file)
            return VersionDiff(file=asked.file, before=asked.before, after=asked.after, diff=text)

        found = list[VersionView]
        yield Operation(
            "scaffold.versions", "Texts", given.ScaffoldVersions, found, versions, reads=True
        )
        yield Operation("scaffold.diff", "Two", given.ScaffoldDiff, VersionDiff, differ, reads=True)

    def _change(self, change_id: str) -> ChangeView:
        for each in self.changes:
            if each.change_id == change_id:
                return each
        raise UsageError(f"There is no change {change_id!r}.")

    def _versions(self) -> list[VersionView]:
        current = VersionView(
            file=PROMPT, name="current", activation=43, sha256="aa" * 32, change_id="ch-8"
        )
        past = [
            VersionView(
                file=PROMPT,
                name=name,
                activation=int(name.split(".")[1][:6]),
                sha256=name.split("-")[-1].removesuffix(".md") * 5,
                change_id=None,
            )
            for name in self.texts
        ]
        executive = VersionView(
            file="executive-prompt.md",
            name="current",
            activation=43,
            sha256="bb" * 32,
            change_id=None,
        )
        return [current, executive, *past]
