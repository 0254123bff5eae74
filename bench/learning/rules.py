"""The rules that are compared: the seed's own, and two that people use without saying so."""

from collections.abc import Mapping
from dataclasses import dataclass

from gnomon.domain.records_change import Means
from gnomon.referee.config import FitnessConfig
from gnomon.referee.rules import RULES, Evidence, Rule, Verdict, windows_needed


@dataclass(frozen=True)
class Compared:
    """A rule with the values it is used with. With fewer windows of either metric on either
    side than `waits_for` it is pending until the deadline.
    """

    rule: Rule
    config: FitnessConfig
    waits_for: int

    @classmethod
    def by(cls, rule: Rule, config: FitnessConfig) -> "Compared":
        return cls(rule, config, windows_needed(config))


def keep_everything(evidence: Evidence, config: FitnessConfig) -> Verdict:
    """No referee: what is proposed stands."""
    del evidence, config
    return Verdict("kept", None, Means(), Means(), ("kept-unseen",))


SEED = Compared.by(RULES["seed"], FitnessConfig())
WHOLE_DAY = Compared.by(RULES["seed"], FitnessConfig(k_windows=24))
"""A day on each side: what the hour of the day does is in both."""
ONE_WINDOW = Compared.by(RULES["seed"], FitnessConfig(k_windows=1, delta=0.0, epsilon=1.0))
"""Keep what did better in its first window than the incumbent in its last one: no margin, and
going in circles has no veto.
"""
EVERYTHING = Compared(keep_everything, FitnessConfig(), 0)

COMPARED: Mapping[str, Compared] = {
    "seed": SEED,
    "seed, 24 windows": WHOLE_DAY,
    "one window": ONE_WINDOW,
    "everything": EVERYTHING,
}
