"""What the judge's tests share: a fitness-ledger told by values, and a change under judgment."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import BODIES
from gnomon.domain.records import AnchoredHead
from gnomon.domain.records_change import (
    Change,
    ChangeAuthor,
    ChangeStep,
    Direction,
    Judgment,
    Prediction,
    Signal,
)
from gnomon.domain.records_referee import (
    Amendment,
    Components,
    EngagementCounts,
    FitnessBody,
    Window,
)
from gnomon.referee.config import FitnessConfig, Loaded
from gnomon.referee.judge import Case, Holds, Windows, judge, weighed
from gnomon.scaffold.hashing import text_sha256
from gnomon.testing.clock import FakeClock
from gnomon.testing.ledger import MemoryLedger
from tests.referee_kit import MORNING, at_once, hour

PARENT, CANDIDATE = "000004-aaaaaaaaaaaa", "000005-bbbbbbbbbbbb"
CONFIG = "c" * 64
TARGET = "inner-loop-prompt.md"
OLD, NEW = "Reflect on what is at hand. " * 90, "Reflect on what matters most. " * 90
HEAD = AnchoredHead(seq=0, sha256="0" * 64)


def a_change(**changed: Any) -> Change:
    text = changed.pop("candidate", NEW)
    made = Change(
        change_id="chg-1",
        tier="T2",
        author=ChangeAuthor(role="refiner", model="m", prompt="refiner@1#aa"),
        target=TARGET,
        base_sha256=text_sha256(OLD),
        candidate_sha256=text_sha256(text),
        candidate=text,
        diff="",
        rationale="It keeps saying the same.",
        prediction=None,
    )
    return msgspec.structs.replace(made, **changed)


def predicting(signal: Signal, direction: Direction) -> Change:
    return a_change(prediction=Prediction(signal=signal, direction=direction))


def a_window(
    start: str,
    stall: float | None,
    engagement: float | None,
    *,
    version: str | None = PARENT,
    mature: bool = True,
    mixed: bool = False,
    config: str = CONFIG,
) -> Window:
    return Window(
        window_start=start,
        window_end=start,
        window_seconds=3600,
        stall_composite=stall,
        stall_reason="missing_data" if stall is None else None,
        components=Components(),
        engagement_rate=engagement,
        engagement_reason="low_sample" if engagement is None else None,
        engagement_counts=EngagementCounts(),
        system_unavailable_count=0,
        system_unavailable_seconds=0,
        pending=0,
        mature=mature,
        rule_counts=EngagementCounts(),
        synthetic_counts=EngagementCounts(),
        tick_count=30,
        reflection_count=20,
        executive_attempt_count=0,
        scaffold_version=version,
        mixed_scaffold=mixed,
        config_sha256=config,
        inputs={},
    )


def amended(window: Window, **changed: Any) -> Amendment:
    fields = {name: getattr(window, name) for name in window.__struct_fields__}
    return Amendment(**(fields | changed))


Value = float | None


@dataclass
class Trial:
    """A change that is tested, and the hours before and since, one window each."""

    config: FitnessConfig = field(default_factory=FitnessConfig)
    change: Change = field(default_factory=a_change)
    base: str | None = PARENT
    hours: int = 0
    watched_at: Millis | None = None

    def __post_init__(self) -> None:
        self.clock = FakeClock(MORNING)
        self.ledger = MemoryLedger("fitness-ledger", BODIES["fitness-ledger"], self.clock)

    # --- the ledger ----------------------------------------------------------------------------

    def measured(self) -> list[Window]:
        """The windows' first lines."""
        return [line.body for line in self.ledger.lines if isinstance(line.body, Window)]

    def write(self, *bodies: FitnessBody) -> None:
        for body in bodies:
            at_once(self.ledger.append(body))

    def hour(
        self, stall: Value, engagement: Value, *, version: str = PARENT, **more: Any
    ) -> Window:
        """The next hour goes by, and is measured."""
        window = a_window(hour(self.hours), stall, engagement, version=version, **more)
        self.hours += 1
        self.clock.advance(3600)
        self.write(window)
        return window

    def before(
        self, stall: Iterable[Value], engagement: Iterable[Value] | None = None, **more: Any
    ) -> "Trial":
        for one, other in _pairs(stall, engagement):
            self.hour(one, other, **more)
        return self

    def after(
        self, stall: Iterable[Value], engagement: Iterable[Value] | None = None, **more: Any
    ) -> "Trial":
        """From here on the candidate is in force."""
        if self.watched_at is None:
            self.watched_at = self.clock.wall()
        for one, other in _pairs(stall, engagement):
            self.hour(one, other, version=CANDIDATE, **more)
        return self

    def days(self, days: float) -> "Trial":
        self.clock.advance(days * 86_400)
        return self

    # --- the judge -----------------------------------------------------------------------------

    @property
    def case(self) -> Case:
        watched = ChangeStep(
            change_id=self.change.change_id,
            status="watched",
            scaffold_version=CANDIDATE,
            config_sha256=CONFIG,
        )
        return Case(
            change=self.change,
            watched=watched,
            watched_at=self.clock.wall() if self.watched_at is None else self.watched_at,
            base_version="inner-loop-prompt.000004-0001-aaaaaaaaaaaa.md",
            base_scaffold_version=self.base,
            floor_tokens=300,
        )

    @property
    def loaded(self) -> Loaded:
        return Loaded(self.config, "", CONFIG)

    @property
    def holds(self) -> Holds:
        return Holds(version=CANDIDATE, target_sha256=self.change.candidate_sha256)

    def windows(self) -> Windows:
        windows = Windows(self.case)
        for line in self.ledger.lines:
            windows.take(line)
        return windows

    def said(
        self,
        earlier: Judgment | None = None,
        *,
        holds: Holds | None = None,
        loaded: Loaded | None = None,
    ) -> Judgment | None:
        return judge(
            self.case,
            holds or self.holds,
            self.windows(),
            loaded or self.loaded,
            self.clock.wall(),
            HEAD,
            earlier,
        )

    def weighed(self, *, holds: Holds | None = None, loaded: Loaded | None = None) -> Judgment:
        return weighed(
            self.case,
            holds or self.holds,
            self.windows(),
            loaded or self.loaded,
            self.clock.wall(),
            HEAD,
        )


def _pairs(
    stall: Iterable[Value], engagement: Iterable[Value] | None
) -> Sequence[tuple[Value, Value]]:
    first = list(stall)
    second: list[Value] = [None] * len(first) if engagement is None else list(engagement)
    return list(zip(first, second, strict=True))


def dev(config: FitnessConfig | None = None) -> FitnessConfig:
    return msgspec.structs.replace(config or FitnessConfig(), dev_mode=True)
