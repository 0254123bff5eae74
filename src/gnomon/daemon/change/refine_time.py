"""When the refiner runs, from what the gateway knows: whether it may (`refiner.readiness`), whether
its time has come and it is quiet enough (`refiner.schedule`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from gnomon.brokers.model import ModelBroker
from gnomon.change.life import ChangesState
from gnomon.daemon.change.refiner_model import Models, RefinerModel, refiner_model
from gnomon.daemon.inbox.engagement import EngagementBook
from gnomon.daemon.platform import Platform
from gnomon.daemon.store.memo import Memo
from gnomon.daemon.store.stores import Stores
from gnomon.domain.errors import StateError
from gnomon.domain.events import Event
from gnomon.domain.instants import DAY, HOUR, Millis
from gnomon.domain.ledgers import Ack
from gnomon.domain.manifest import Manifest
from gnomon.domain.policy import Autonomy
from gnomon.domain.records_change import Change
from gnomon.domain.records_referee import Window
from gnomon.referee.config import Loaded
from gnomon.referee.pooled import pools
from gnomon.referee.rules import windows_needed
from gnomon.refiner import schedule
from gnomon.refiner.readiness import (
    DAYS,
    NOT_ENABLED,
    Evidence,
    Means,
    ModelFault,
    Reason,
    days_of,
    has_number,
    measured_of,
    not_ready,
)
from gnomon.refiner.schedule import SENTENCES, Every, Last, NotDue, Quiet

STATE = "refiner.json"
PURPOSE = "refine"
RECENT = 14 * DAY
"""In which the present instructions must have been measured: what is older was another life."""


class RefinerState(msgspec.Struct, frozen=True, kw_only=True):
    """What outlives a restart. `enabled_at` is when the operator said that the number fits what
    they see; `failures` are its runs that broke off, in a row.
    """

    enabled_at: Millis | None = None
    last_at: Millis | None = None
    last_ticks: int = 0
    refused_calls: int = 0
    failures: int = 0


class Proposals(Protocol):
    """What is asked of `gnomon.daemon.change.changes.Changes`."""

    def state(self) -> ChangesState: ...
    def standing(self, target: str) -> str: ...
    async def propose(self, change: Change) -> Ack: ...


@dataclass(frozen=True)
class RefineParts:
    """What the refiner's desk rests on. `idle` is milliseconds since the operator's last sign;
    `ticks` how many there have been. `manifest` is the packaged one: what the refiner may use is
    not the home's to widen.
    """

    stores: Stores
    changes: Proposals
    book: EngagementBook
    loaded: Loaded
    platform: Platform
    memo: Memo
    models: Models
    broker: ModelBroker
    manifest: Manifest
    turn_in_flight: Callable[[], bool]
    idle: Callable[[], int]
    ticks: Callable[[], int]
    autonomy: Callable[[], Autonomy]
    scaffold_version: Callable[[], str]
    referee_fails: Callable[[], bool]
    publish: Callable[[Event], None]


class RefineTime:
    """Of one agent. What it remembers is in `state`."""

    def __init__(self, parts: RefineParts) -> None:
        self._parts = parts
        self._days = 0
        self._looked: tuple[tuple[object, ...], tuple[Reason, ...]] | None = None
        self.state = self._remembered()

    def _remembered(self) -> RefinerState:
        """What was saved; of a damaged file nothing is believed, so that it is off."""
        try:
            return self._parts.memo.load(STATE, RefinerState) or RefinerState()
        except StateError as error:
            self._parts.stores.journal(f"The refiner is off until you enable it again: {error}")
            return RefinerState()

    def keep(self, **changed: Any) -> None:
        """Change what it remembers, on the disk first. Raises OSError."""
        state = msgspec.structs.replace(self.state, **changed)
        self._parts.memo.save(STATE, state)
        self.state, self._looked = state, None

    # --- is it due? ------------------------------------------------------------------------------

    def not_due(self, now: Millis) -> str | None:
        """Why a beat does not run it; null: it is due. The cheapest reasons come first, and files
        are read only where it is otherwise due, once an hour.
        """
        if not (self._parts.loaded.config.dev_mode or self.state.enabled_at is not None):
            return NOT_ENABLED
        reason = self._disturbed(self._parts.idle())
        if reason is None and not self._has_come(now):
            reason = "early"
        if reason is not None:
            return SENTENCES[reason]
        if missing := self._missing_lately(now):
            return missing[0].sentence
        refused = self._refused()
        return SENTENCES[refused] if refused else None

    def in_the_way_by_hand(self) -> NotDue | None:
        """What it must not disturb. Who runs it by hand is no obstacle to it."""
        return self._disturbed(schedule.IDLE) or self._refused()

    def _disturbed(self, idle: int) -> NotDue | None:
        parts, state = self._parts, self._parts.changes.state()
        return schedule.not_quiet(
            Quiet(
                turn_in_flight=parts.turn_in_flight(),
                idle=idle,
                under_judgment=state.under_judgment is not None,
                waiting=next(state.open(), None) is not None,
            )
        )

    def _refused(self) -> NotDue | None:
        return schedule.refusal(self._parts.broker.skip_reason(PURPOSE))

    def _has_come(self, now: Millis) -> bool:
        return schedule.has_come(self._every, self._last, self._parts.ticks(), now)

    def next_at(self, now: Millis) -> Millis:
        return schedule.next_at(self._every, self._last, now)

    @property
    def _every(self) -> Every:
        config = self._parts.loaded.config
        return Every(ticks=config.refiner_every_ticks, hours=config.refiner_every_hours)

    @property
    def _last(self) -> Last:
        return Last(at=self.state.last_at, ticks=self.state.last_ticks)

    # --- may it? ---------------------------------------------------------------------------------

    def missing(self, now: Millis) -> tuple[Reason, ...]:
        """All that keeps it from running at all."""
        model = self.model()
        means = Means(
            autonomy=self._parts.autonomy(),
            failures=self.state.failures,
            referee_fails=self._parts.referee_fails(),
            fault=None if isinstance(model, RefinerModel) else model,
        )
        dev_mode = self._parts.loaded.config.dev_mode
        return not_ready(self._evidence(now), means, dev_mode=dev_mode)

    def has_number(self, now: Millis) -> bool:
        """Whether anything was measured that the operator's word could be about."""
        answered = sum(pool.answered for pool in pools(self._parts.book.state(), now))
        return has_number(self._parts.stores.files["fitness-ledger"].read(), answered)

    def model(self) -> RefinerModel | tuple[ModelFault, str]:
        """What it would run with, or why there is nothing."""
        parts = self._parts
        return refiner_model(parts.loaded.config.refiner_model, parts.broker.in_force, parts.models)

    def _missing_lately(self, now: Millis) -> tuple[Reason, ...]:
        """What was missing when the evidence was last looked at, within the hour."""
        parts = self._parts
        key = (now // HOUR, parts.referee_fails(), parts.autonomy())
        if self._looked is None or self._looked[0] != key:
            self._looked = (key, self.missing(now))
        return self._looked[1]

    def _evidence(self, now: Millis) -> Evidence:
        """Reads the fitness-ledger as far as its seventh day, and not again once that is there."""
        parts = self._parts
        if self._days < DAYS:
            lines = parts.stores.files["fitness-ledger"].read()
            self._days = days_of(
                line.body.window_start for line in lines if isinstance(line.body, Window)
            )
        files = parts.stores.files
        recent = files["fitness-ledger"].read_range(Millis(now - RECENT))
        week = pools(parts.book.state(), now)[0]
        enough = week.answered >= parts.loaded.config.M_min
        return Evidence(
            days=self._days,
            engagement=week.rate if enough else None,
            surfaces=week.emitted,
            off=week.unavailable,
            enabled=self.state.enabled_at is not None,
            measured=measured_of(recent, parts.scaffold_version(), parts.loaded.sha256),
            needed=windows_needed(parts.loaded.config),
        )
