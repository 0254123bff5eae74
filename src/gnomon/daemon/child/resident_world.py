"""The cycle's world in the daemon: scaffold, gate facts, and the resident behind its pipe."""

from collections.abc import Callable
from dataclasses import dataclass

from gnomon import __version__
from gnomon.brokers.model import ModelBroker
from gnomon.config import Config
from gnomon.daemon.child.residency import Residency
from gnomon.daemon.inbox.closed_items import ClosedItems
from gnomon.daemon.presence import Presence, steady
from gnomon.daemon.store.stores import Stores
from gnomon.domain.errors import CancelledByPeerError, GnomonError, InvalidOutputError
from gnomon.domain.instants import SECOND, Millis
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.manifest import Manifest
from gnomon.domain.plain import fields, read
from gnomon.domain.records import Mode, SkipReason
from gnomon.domain.similarity import Similarity
from gnomon.resident.gate import GateFacts, effective_mode
from gnomon.resident.protocol import (
    BUSY,
    ModelFacts,
    Problem,
    ScaffoldText,
    Spawn,
    TickArguments,
    TickReply,
)
from gnomon.scaffold.versions import Scaffold, ScaffoldState


@dataclass
class ResidentWorld:
    """`remember` answers the self-state to start with; `say` publishes a status change."""

    config: Config
    stores: Stores
    scaffold: Scaffold
    broker: ModelBroker
    residency: Residency
    presence: Callable[[], Presence]
    is_paused: Callable[[Millis], bool]
    power_bound: Callable[[], bool]
    say: Callable[[], None]
    manifest: Manifest
    executive: Manifest
    closed: ClosedItems
    similarity: Similarity
    last_scaffold: ScaffoldState | None = None
    handed_version: str | None = None
    last_fingerprint: tuple[object, ...] | None = None
    reflecting: bool = False

    # --- what the cycle asks -----------------------------------------------------------------

    def look_at_scaffold(self, now: Millis) -> ScaffoldState:
        state = self.scaffold.observe(now)
        for problem in state.new_problems:
            self.stores.journal(
                f"Scaffold file {problem.file}, line {problem.line}: {problem.reason}. "
                "The last good text stays in force."
            )
        self.last_scaffold = state
        return state

    def scaffold_in_force(self) -> ScaffoldState:
        """What is in force, without a new look at the folder but the first."""
        return self.last_scaffold or self.look_at_scaffold(self.stores.clock.wall())

    def gate_facts(self, now: Millis) -> GateFacts:
        kernel = self.config.kernel
        refused = self.broker.skip_reason()
        near = self.presence()
        return GateFacts(
            mode=kernel.mode,
            model_kind=self.broker.in_force.kind,
            paused=self.is_paused(now),
            breaker_open=refused == "model-error",
            seconds_since_operator=(steady(self.stores.clock) - near.last_at) / SECOND,
            idle_gate_minutes=kernel.idle_activity_gate_minutes,
            duty_seconds_left=0.0
            if refused == "duty-cycle"
            else self.broker.budget_view().duty_cycle_left_seconds,
            within_budget=refused != "budget",
            power_allows=not self.power_bound(),
            salience_gate=kernel.salience_gate,
            changed=self._fingerprint() != self.last_fingerprint,
        )

    async def reflect(
        self, now: Millis, scaffold: ScaffoldState, skip_reason: SkipReason | None
    ) -> TickReply:
        fingerprint = self._fingerprint()
        kernel = self.config.kernel
        await self.residency.child()  # a new life is handed its scaffold when it is started
        new = scaffold.version != self.handed_version
        tick = TickArguments(
            now=now,
            scaffold=_text(scaffold) if new else None,
            skip_reason=skip_reason,
            operator_present=self.presence().is_near(
                steady(self.stores.clock), kernel.idle_activity_gate_minutes
            ),
            problems=_problems(scaffold),
            closed=self.closed.waiting(),
        )
        self.reflecting = skip_reason is None
        try:
            reply = read(await self.residency.ask("tick", fields(tick)), TickReply)
        finally:
            self.reflecting = False
        self.handed_version = scaffold.version
        if reply.error != BUSY:
            self.closed.told(tick.closed)
        if reply.reflected:
            self.last_fingerprint = fingerprint
        return reply

    def note_tick(self, reply: TickReply) -> None:
        if reply.reflected or reply.error == InvalidOutputError.code:
            self.broker.judged(fits=reply.reflected)
        self.say()

    def note_failure(self, error: GnomonError) -> None:
        """A tick that was called off, as at the end of a life, did not fail."""
        if isinstance(error, CancelledByPeerError):
            return
        self.stores.journal(f"A tick failed: {error}")
        self.say()

    async def model_changed(self) -> None:
        """A new life for the resident, which is told its model when it is started."""
        if self.residency.is_up:
            await self.residency.restart("the model was changed")

    # --- the resident's life -------------------------------------------------------------------

    @property
    def mode(self) -> Mode:
        return self.config.kernel.mode

    @property
    def effective_mode(self) -> Mode:
        return effective_mode(self.mode, self.broker.in_force.kind)

    def scaffold_version(self) -> str:
        """The version in force: the one that the resident was handed. Where none ever was, the
        one that the folder holds now.
        """
        if self.handed_version is None:
            return self.look_at_scaffold(self.stores.clock.wall()).version
        return self.handed_version

    def spawn_argument(self, now: Millis, self_state: Json, reflections: int) -> Fields:
        """What a new life is told. The scaffold that it is handed counts as handed."""
        scaffold = self.look_at_scaffold(now)
        self.handed_version = scaffold.version
        model = self.broker.in_force
        spawn = Spawn(
            agent=self.stores.agent.agent,
            version=__version__,
            mode=self.mode,
            effective_mode=self.effective_mode,
            model=ModelFacts(name=model.name, kind=model.kind),
            manifest=self.manifest,
            executive=self.executive,
            autonomy=self.config.improve.autonomy,
            scaffold=_text(scaffold),
            now=now,
            self_state=self_state,
            reflections=reflections,
            problems=_problems(scaffold),
            notices_a_day=self.config.notify.max_per_day,
            similarity=self.similarity,
        )
        return fields(spawn)

    def _fingerprint(self) -> tuple[object, ...]:
        """What a reflection could be about: talk, history, its own words."""
        files = self.stores.files
        return (
            files["observations"].head.seq,
            files["observations-imported"].head.seq,
            self.last_scaffold.version if self.last_scaffold else None,
        )


def _text(state: ScaffoldState) -> ScaffoldText:
    return ScaffoldText(version=state.version, files=state.files)


def _problems(state: ScaffoldState) -> tuple[Problem, ...]:
    return tuple(
        Problem(file=found.file, line=found.line, reason=found.reason)
        for found in state.new_problems
    )
