"""One agent's parts, and what they call back. `wire.py` makes it."""

import asyncio
from dataclasses import dataclass, field

from gnomon.agent.places import HostArgument
from gnomon.brokers.folders import Folders
from gnomon.brokers.model import ModelBroker
from gnomon.brokers.tool import ToolBroker, ToolGrant
from gnomon.brokers.tool_jail import start_tool_host
from gnomon.config import Config
from gnomon.daemon.background import Background
from gnomon.daemon.change.approving import Approving
from gnomon.daemon.change.carry_on import CarryOn
from gnomon.daemon.change.changes import Changes
from gnomon.daemon.change.holding import HeldWrites
from gnomon.daemon.change.jobs import Jobs
from gnomon.daemon.change.judging import JudgeDesk
from gnomon.daemon.change.learning import LearningDesk
from gnomon.daemon.change.refining import RefineDesk
from gnomon.daemon.child.child_requests import ChildRequests
from gnomon.daemon.child.residency import Residency
from gnomon.daemon.child.resident_world import ResidentWorld
from gnomon.daemon.child.services import ChildServices
from gnomon.daemon.fitness.desk import FitnessDesk
from gnomon.daemon.fitness.retune_notices import RetuneNotices
from gnomon.daemon.inbox.artifacts import Artifacts
from gnomon.daemon.inbox.closed_items import ClosedItems
from gnomon.daemon.inbox.engagement import EngagementBook
from gnomon.daemon.inbox.findings import RuleSurfaces
from gnomon.daemon.inbox.inbox import Inbox
from gnomon.daemon.inbox.surfaces import Surfaces
from gnomon.daemon.models_in_force import ModelsInForce
from gnomon.daemon.platform import ChildProcess, Platform
from gnomon.daemon.presence import Presence, Sign, steady
from gnomon.daemon.store.broker_state import FILE as BROKER_STATE
from gnomon.daemon.store.memo import Memo, paused, resumed
from gnomon.daemon.store.self_state import SelfStateFile
from gnomon.daemon.store.stores import Stores
from gnomon.daemon.store.tallies import Tallies
from gnomon.daemon.store.unfinished import Unfinished
from gnomon.daemon.talk.history import History
from gnomon.daemon.talk.recovery import recover
from gnomon.daemon.talk.turns import Turns
from gnomon.daemon.watch.watching import Watching
from gnomon.domain.errors import GnomonError
from gnomon.domain.instants import MINUTE, Millis, iso
from gnomon.domain.manifest import Manifest
from gnomon.domain.policy import Autonomy, lower
from gnomon.domain.records import Spend
from gnomon.domain.records_referee import SurfaceEmitted
from gnomon.domain.views_history import ImportRow
from gnomon.gateway.stream import Stream
from gnomon.home import AgentPaths, Home
from gnomon.referee.config import Loaded
from gnomon.resident.notifier import SPEAKING
from gnomon.trust.jail import Grants

RESIDENT_MODULE = "gnomon.resident.main"
NEAR_MINUTES = 30
"""How lately the operator must have been here for a broken model to be tried again."""
FOREVER = "you resume it"


@dataclass
class Core:
    """Everything of one agent. Made by `wire.open_core` alone."""

    home: Home
    agent: AgentPaths
    platform: Platform
    config: Config
    manifest: Manifest
    executive: Manifest
    fitness: Loaded
    stores: Stores
    memo: Memo
    stream: Stream
    tallies: Tallies
    self_state: SelfStateFile
    background: Background
    folders: Folders
    presence: Presence
    unfinished: Unfinished
    models: ModelsInForce = field(init=False)
    broker: ModelBroker = field(init=False)
    tools: ToolBroker = field(init=False)
    history: History = field(init=False)
    watching: Watching = field(init=False)
    turns: Turns = field(init=False)
    residency: Residency = field(init=False)
    world: ResidentWorld = field(init=False)
    services: ChildServices = field(init=False)
    _catching_up: asyncio.Lock = field(default_factory=asyncio.Lock)
    surfaces: Surfaces = field(init=False)
    artifacts: Artifacts = field(init=False)
    book: EngagementBook = field(init=False)
    closed_items: ClosedItems = field(init=False)
    inbox: Inbox = field(init=False)
    findings: RuleSurfaces = field(init=False)
    desk: FitnessDesk = field(init=False)
    changes: Changes = field(init=False)
    retune_notices: RetuneNotices = field(init=False)
    approving: Approving = field(init=False)
    refine: RefineDesk = field(init=False)
    held_writes: HeldWrites = field(init=False)
    carry_on: CarryOn = field(init=False)
    judge: JudgeDesk = field(init=False)
    jobs: Jobs = field(init=False)
    learning: LearningDesk = field(init=False)

    # --- presence and pause --------------------------------------------------------------------

    def seen(self, sign: Sign) -> None:
        """The operator was here."""
        self.presence = self.presence.seen(steady(self.platform.clock), sign)

    def is_near(self, minutes: int) -> bool:
        return steady(self.platform.clock) - self.presence.last_at <= minutes * MINUTE

    def paused_until(self) -> str | None:
        """Until when, in words or as an instant; None when it runs."""
        if not self.memo.facts_paused(self.platform.clock.wall()):
            return None
        until = self.memo.facts.paused_until
        return FOREVER if until is None else iso(until)

    async def pause(self, until: Millis | None) -> None:
        """No calls, no surfaces, until an instant or until it is resumed."""
        self.memo.change(paused(self.memo.facts, until))
        await self.book.pause()

    async def resume(self) -> None:
        self.memo.change(resumed(self.memo.facts))
        await self.book.resume()

    def say_status(self) -> None:
        """Something of the status is another. What, each page asks itself: nothing is read
        from the disk at every tick for pages that are not open.
        """
        self.stream.publish("status", {})

    def may_speak(self) -> bool:
        """What rests on no model is told whichever model there is, in a mode that speaks."""
        paused = self.memo.facts_paused(self.platform.clock.wall())
        return self.config.kernel.mode in SPEAKING and not paused

    def referee_fails(self) -> bool:
        """Whether what measures or what judges failed twice in a row."""
        return self.desk.is_failing or self.judge.is_failing

    def autonomy(self) -> Autonomy:
        """What it may change unasked: as the operator set it, and at most `memory` while the
        referee fails (page 1). It rises again by itself.
        """
        set_to = self.config.improve.autonomy
        return lower(set_to, "memory") if self.referee_fails() else set_to

    def scaffold_version(self) -> str:
        return self.world.scaffold_version()

    def inbox_changed(self) -> None:
        self.stream.publish("inbox", {})

    def show_surface(self, mode: str, surface: SurfaceEmitted) -> None:
        told = {"surface_id": surface.surface_id, "kind": surface.surface_kind, "mode": mode}
        self.stream.publish("inbox", told)

    async def read_on(self, paths: list[str]) -> list[ImportRow]:
        """Read what other agents wrote since it was read last."""
        rows = await self.history.read(paths, (), dry_run=False, progress=lambda _: None)
        if new := sum(row.new_observations for row in rows):
            self.stores.journal(f"Other agents went on: {new} new turns were read.")
            self.stream.publish("history", {"files": len(rows)})
        return rows

    async def catch_up(self) -> None:
        """After the disk failed: open what it closed, write again what follows from what is
        on it. Raises LedgerError while it still refuses.
        """
        async with self._catching_up:
            if self.stores.is_whole and not self.services.behind:
                return
            self.services.behind = True
            await self.stores.reopen_closed()
            if self.unfinished.since is not None:
                await recover(self.stores, self.turns, self.unfinished.since, self.services.runs)
            self.services.behind = False

    # --- what the parts call back --------------------------------------------------------------

    def tool_grant(self, manifest: str) -> ToolGrant:
        """What a turn's tools may do, or background work's, which only looks."""
        granted = self.manifest if manifest == "resident" else self.executive
        return ToolGrant(
            tools=frozenset(granted.tools),
            workspace=self.agent.workspace,
            folders=self.folders.in_force(),
        )

    def record_spend(self, spend: Spend) -> None:
        self.services.note_spend(spend)
        self.background.run(self.stores.append("spend-ledger", spend, durable=False))
        self.memo.save(BROKER_STATE, self.broker.snapshot(), durable=False)

    def say_once(self, error: GnomonError) -> None:
        self.stores.journal(f"Background work holds back: {error}")
        self.say_status()

    def resident_failed(self, code: str, detail: str) -> None:
        self.stores.journal(f"The resident: {code}: {detail}")
        self.say_status()

    async def start_tool_host_jailed(self, argument: HostArgument) -> ChildProcess:
        return await start_tool_host(self.platform.start_child, argument)

    async def start_resident(self) -> ChildProcess:
        await self.services.abandon_runs()
        argument = self.world.spawn_argument(
            self.platform.clock.wall(),
            self.self_state.load(),
            self.tallies.decisions.last_reflection_no,
        )
        return await self.platform.start_child(
            "resident",
            RESIDENT_MODULE,
            argument,
            Grants(),
            serve=ChildRequests("resident", self.services),
        )
