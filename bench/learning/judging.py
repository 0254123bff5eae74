"""One edit under judgment: what is known of both versions at an hour, put to a rule."""

from copy import copy

from bench.learning.rules import Compared
from bench.learning.windows import Counted
from gnomon.domain.instants import HOUR, Millis, iso
from gnomon.referee.rules import Evidence, Verdict, WindowFacts


class Version:
    """A prompt of known worth, and its windows, oldest first.

    Engagement is evidence in the order in which surfaces were emitted: a window that is not
    mature holds back those after it. (A window whose surfaces were all acted on matures
    within hours and others a day later; to take each as it comes would favour the lucky ones.)
    """

    def __init__(self, quality: float) -> None:
        self.quality = quality
        self.measured: list[int] = []
        """The wall hours of `stalls`."""
        self.stalls: list[WindowFacts] = []
        self.rates: list[WindowFacts] = []
        self._waiting: list[tuple[int, WindowFacts]] = []

    def take(self, index: int, window: Counted) -> None:
        """A whole window under this version; `index` is its awake hour."""
        start = iso(Millis(window.at * HOUR))
        if window.stall is not None:
            self.measured.append(window.at)
            self.stalls.append(WindowFacts(start, window.stall, None))
        settles = index + window.matures_after
        self._waiting.append((settles, WindowFacts(start, None, window.engagement)))

    def fork(self) -> "Version":
        """The same past, to go on from apart."""
        other = copy(self)
        other.measured, other.stalls = self.measured.copy(), self.stalls.copy()
        other.rates, other._waiting = self.rates.copy(), self._waiting.copy()
        return other

    def settle(self, index: int) -> None:
        """What is mature at the start of an awake hour becomes evidence."""
        while self._waiting and self._waiting[0][0] <= index:
            _, facts = self._waiting.pop(0)
            if facts.engagement is not None:
                self.rates.append(facts)


class Trial:
    """A candidate in force since `applied_at` (a wall hour), and the rule that will decide."""

    def __init__(
        self, incumbent: Version, candidate: Version, applied_at: int, compared: Compared
    ) -> None:
        self.incumbent = incumbent
        self.candidate = candidate
        self.applied_at = applied_at
        self._compared = compared

    def look(self, index: int, at: int) -> Verdict | None:
        """The verdict at the start of an hour; null while it is pending."""
        old, new, config = self.incumbent, self.candidate, self._compared.config
        old.settle(index)
        new.settle(index)
        passed = at - self.applied_at >= config.deadline_days * 24
        fewest = min(map(len, (old.stalls, old.rates, new.stalls, new.rates)))
        if fewest < self._compared.waits_for and not passed:
            return None
        k = config.k_windows
        evidence = Evidence(
            before=[*old.stalls[-k:], *old.rates[-k:]],
            after=[*new.stalls[:k], *new.rates[:k]],
            deadline_passed=passed,
        )
        verdict = self._compared.rule(evidence, config)
        return None if verdict.outcome == "pending" else verdict
