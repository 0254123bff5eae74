"""From the fitness-ledger's lines to the verdict on one change. Pure.

The judge picks the evidence and asks the rule (`gnomon.referee.rules`); what is not the rule's
to say stands before it: a comparison that was disturbed is voided, a candidate that is too short
is rolled back. It sees numbers and hashes; of texts, only how long one is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from gnomon.domain.instants import DAY, Millis, parse_iso
from gnomon.domain.ledgers import Line
from gnomon.domain.length import estimated_tokens
from gnomon.domain.records import AnchoredHead, Sha256
from gnomon.domain.records_change import (
    Change,
    ChangeStep,
    Delta,
    Judgment,
    Means,
    VerdictOutcome,
)
from gnomon.domain.records_referee import Amendment, Window
from gnomon.domain.version_name import activation_of, files_of
from gnomon.referee.config import FitnessConfig, Loaded
from gnomon.referee.rules import RULES, Evidence, Verdict, WindowFacts, windows_needed

NOT_WEIGHED = Verdict("pending", None, Means(), Means(), ())
"""Where no rule was asked."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A change under judgment, as the refinement-ledger tells of it.

    `watched` is that step: it names the version under which the candidate is in force and the
    fitness-config by which it is measured; `watched_at` is when. `base_version` is the parent's
    name in `.versions/`, `base_scaffold_version` what was in force before. Below `floor_tokens`
    no candidate is kept.
    """

    change: Change
    watched: ChangeStep
    watched_at: Millis
    base_version: str | None
    base_scaffold_version: str | None
    floor_tokens: int


class Holds(msgspec.Struct, frozen=True, kw_only=True):
    """What the scaffold holds now: the version in force, and the hash of the target's bytes on
    the disk, null where there is no file that can be read.
    """

    version: str
    target_sha256: Sha256 | None


@dataclass
class _Standing:
    """The line that stands for a window. `whole`: its first line was read too, so that all that
    was ever said of it is known. `alike`: all of it was measured by the rules of the case.
    """

    seq: int
    body: Window | Amendment
    whole: bool
    alike: bool


class Windows:
    """The windows that can be evidence in a case. Lines may be taken in any order."""

    def __init__(self, case: Case) -> None:
        self._config_sha256 = case.watched.config_sha256
        self._candidate = case.watched.scaffold_version
        self._parent = case.base_scaffold_version
        self._standing: dict[str, _Standing] = {}

    def take(self, line: Line) -> None:
        """Take a line of the fitness-ledger. Of a window the last line stands."""
        body = line.body
        if not isinstance(body, Window | Amendment):
            return
        first, alike = isinstance(body, Window), body.config_sha256 == self._config_sha256
        known = self._standing.get(body.window_start)
        if known is None:
            self._standing[body.window_start] = _Standing(line.seq, body, first, alike)
            return
        known.whole |= first
        known.alike &= alike
        if line.seq > known.seq:
            known.seq, known.body = line.seq, body

    def before(self) -> Iterator[WindowFacts]:
        """The incumbent's: under the parent's files, in an activation before the candidate's."""
        return self._facts(self._is_the_parents)

    def after(self) -> Iterator[WindowFacts]:
        """The candidate's: under the one version in which it is in force."""
        return self._facts(lambda version: version == self._candidate)

    def first_under_candidate(self) -> Millis | None:
        """When the first window began that has a line under the candidate, evidence or not."""
        starts = [
            start
            for start, standing in self._standing.items()
            if standing.body.scaffold_version == self._candidate
        ]
        return parse_iso(min(starts)) if starts else None

    def _is_the_parents(self, version: str) -> bool:
        if self._parent is None or self._candidate is None:
            return False
        earlier = activation_of(version) < activation_of(self._candidate)
        return earlier and files_of(version) == files_of(self._parent)

    def _facts(self, belongs: Callable[[str], bool]) -> Iterator[WindowFacts]:
        """Oldest first; null where a metric is no evidence.

        Engagement counts in the order of emission: a window that is not mature holds back those
        after it. One whose surfaces were all acted on is mature within hours, the others a day
        later; taken as they come, the lucky ones would be counted first (docs/adr/1260).
        """
        settled = True
        for start in sorted(self._standing):
            standing = self._standing[start]
            body = standing.body
            version = body.scaffold_version
            if not (standing.whole and standing.alike) or body.mixed_scaffold:
                continue
            if version is not None and belongs(version):
                settled = settled and body.mature
                engagement = body.engagement_rate if settled else None
                yield WindowFacts(start, body.stall_composite, engagement)


def is_enough(windows: Windows, config: FitnessConfig, *, waits: bool) -> bool:
    """Whether no older line can matter: each metric has its windows of the incumbent.

    While the case `waits`, a metric of which the candidate has too few windows stays without a
    comparison whatever the incumbent's are, so that none are looked for. That the candidate's
    have all been read is known by one of the incumbent's: those come first in the ledger.
    """
    before = list(windows.before())
    after = list(windows.after()) if waits else []
    return bool(before) and all(
        _is_counted(before, of, config) or (waits and not _is_counted(after, of, config))
        for of in (_stall_of, _engagement_of)
    )


def _is_counted(
    windows: Sequence[WindowFacts], of: Callable[[WindowFacts], float | None], config: FitnessConfig
) -> bool:
    return sum(of(window) is not None for window in windows) >= windows_needed(config)


def _stall_of(window: WindowFacts) -> float | None:
    return window.stall


def _engagement_of(window: WindowFacts) -> float | None:
    return window.engagement


def still_waits(case: Case, earlier: Judgment | None, now: Millis, config: FitnessConfig) -> bool:
    """Whether it is noted as pending, and only a comparison of both metrics could end that."""
    in_time = case.watched_at <= now < deadline(case.watched_at, config)
    return earlier is not None and in_time and not _unfit(case)


def judge(
    case: Case,
    holds: Holds,
    windows: Windows,
    loaded: Loaded,
    now: Millis,
    fitness_head: AnchoredHead,
    earlier: Judgment | None,
) -> Judgment | None:
    """The line that the judgment-ledger lacks on this change, null when it lacks none.

    `earlier` is the last one that it has. A verdict is reached once, and `pending` noted once.
    """
    if earlier is not None and earlier.outcome != "pending":
        return None
    found = weighed(case, holds, windows, loaded, now, fitness_head)
    return None if found.outcome == "pending" and earlier is not None else found


def weighed(
    case: Case,
    holds: Holds,
    windows: Windows,
    loaded: Loaded,
    now: Millis,
    fitness_head: AnchoredHead,
) -> Judgment:
    """What is to be said of it now: a verdict, or that it is pending. Total."""
    found = _verdict(case, holds, windows, loaded, now)
    outcome, weighing = found.outcome, found.weighing
    undone = outcome in ("rolled_back", "inconclusive", "voided")
    stands = holds.target_sha256 == case.change.candidate_sha256
    return Judgment(
        change_id=case.change.change_id,
        outcome=outcome,
        rule=loaded.config.rule,
        basis=weighing.basis,
        stall=weighing.stall,
        engagement=weighing.engagement,
        delta=weighing.delta,
        reasons=found.reasons,
        prediction_held=None if outcome == "pending" else _held(case.change, weighing.delta),
        restored_version=case.base_version if undone and stands else None,
        config_sha256=loaded.sha256,
        fitness_head=fitness_head,
    )


@dataclass(frozen=True)
class _Found:
    """`weighing` is what the rule made of the numbers, whether or not that decided."""

    outcome: VerdictOutcome | Literal["pending"]
    reasons: tuple[str, ...]
    weighing: Verdict = NOT_WEIGHED


def _verdict(case: Case, holds: Holds, windows: Windows, loaded: Loaded, now: Millis) -> _Found:
    config = loaded.config
    if disturbed := _disturbed(case, holds, loaded):
        return _Found("voided", disturbed)
    rule = RULES.get(config.rule)
    if rule is None:
        return _Found("inconclusive", ("rule-unknown",))
    evidence = Evidence(
        before=tuple(windows.before()),
        after=tuple(windows.after()),
        deadline_passed=now >= deadline(_since(case, windows, now), config),
    )
    verdict = rule(evidence, config)
    if unfit := _unfit(case):
        return _Found("rolled_back", unfit, replace(verdict, basis=None))
    return _Found(verdict.outcome, verdict.reasons, verdict)


def _disturbed(case: Case, holds: Holds, loaded: Loaded) -> tuple[str, ...]:
    """Why nothing can be compared any more: what was to be tested alone is not what is in force,
    or it would be measured by other rules than it began with.
    """
    edited = holds.target_sha256 != case.change.candidate_sha256
    return _those(
        ("target-edited", edited),
        ("scaffold-edited", not edited and holds.version != case.watched.scaffold_version),
        ("config-changed", loaded.sha256 != case.watched.config_sha256),
    )


def _unfit(case: Case) -> tuple[str, ...]:
    """What no number can make good."""
    change = case.change
    return _those(
        ("below-length-floor", estimated_tokens(change.candidate) < case.floor_tokens),
        ("changes-nothing", change.candidate_sha256 == change.base_sha256),
    )


def _those(*reasons: tuple[str, bool]) -> tuple[str, ...]:
    return tuple(reason for reason, holds in reasons if holds)


def deadline(since: Millis, config: FitnessConfig) -> Millis:
    """Until when evidence is waited for: `deadline_days` of wall time."""
    return Millis(since + round(config.deadline_days * DAY))


def _since(case: Case, windows: Windows, now: Millis) -> Millis:
    """When the candidate came into force. Where the clock was set back to before that: when its
    first window began, so that a wrong year that was set right holds nothing up.
    """
    if case.watched_at <= now:
        return case.watched_at
    return windows.first_under_candidate() or now


def _held(change: Change, delta: Delta) -> bool | None:
    """Whether the signal moved as predicted; null where nothing was, or it cannot be told."""
    if change.prediction is None:
        return None
    moved = delta.stall if change.prediction.signal == "stall" else delta.engagement
    if moved is None:
        return None
    return moved > 0 if change.prediction.direction == "up" else moved < 0
