"""One home, opened and wired. The one place that knows everyone.

The daemon holds a core for as long as it runs; a CLI verb without a daemon holds one for as
long as the verb takes. Processes are started when they are needed, here as there.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from gnomon import config as configuration
from gnomon.agent.places import HostArgument
from gnomon.brokers.folders import Folders, this_machine
from gnomon.brokers.model import ModelBroker
from gnomon.brokers.model_budget import Limits
from gnomon.brokers.model_gate import BrokerState, Surroundings
from gnomon.brokers.tool import ToolBroker, ToolGrant
from gnomon.brokers.tool_hosts import ToolHosts
from gnomon.brokers.tool_jail import start_tool_host
from gnomon.config import Config
from gnomon.daemon.background import Background
from gnomon.daemon.child.child_requests import ChildRequests
from gnomon.daemon.child.residency import Residency
from gnomon.daemon.child.resident_world import ResidentWorld
from gnomon.daemon.child.services import ChildServices
from gnomon.daemon.child.speech import Speech
from gnomon.daemon.fitness.desk import FitnessDesk
from gnomon.daemon.health.self_tests import RecordedStarts
from gnomon.daemon.inbox.artifacts import Artifacts
from gnomon.daemon.inbox.engagement import EngagementBook
from gnomon.daemon.inbox.findings import RuleSurfaces
from gnomon.daemon.inbox.inbox import Inbox
from gnomon.daemon.inbox.surfaces import OpenGate, Surfaces
from gnomon.daemon.models_in_force import ModelsInForce
from gnomon.daemon.platform import ChildProcess, Platform
from gnomon.daemon.presence import Presence, Sign, steady
from gnomon.daemon.store.create import (
    ensure_fitness_config,
    ensure_home,
    ensure_manifest,
    executive_manifest,
)
from gnomon.daemon.store.memo import Memo, paused, resumed
from gnomon.daemon.store.self_state import SelfStateFile
from gnomon.daemon.store.stores import Stores, open_stores
from gnomon.daemon.store.tallies import Tallies
from gnomon.daemon.store.unfinished import Unfinished
from gnomon.daemon.talk.history import History
from gnomon.daemon.talk.recovery import recover
from gnomon.daemon.talk.turns import Turns
from gnomon.domain.errors import GnomonError
from gnomon.domain.instants import MINUTE, Millis, iso
from gnomon.domain.manifest import Manifest
from gnomon.domain.records import Spend
from gnomon.domain.records_referee import SurfaceEmitted
from gnomon.gateway.stream import Stream
from gnomon.home import AgentPaths, Home
from gnomon.referee.config import Loaded
from gnomon.resident.notifier import SPEAKING
from gnomon.scaffold.defaults import packaged_defaults
from gnomon.scaffold.versions import Scaffold
from gnomon.trust.jail import Grants
from gnomon.trust.roles import check_op

RESIDENT_MODULE = "gnomon.resident.main"
NEAR_MINUTES = 30
"""How lately the operator must have been here for a broken model to be tried again."""
FOREVER = "you resume it"


@dataclass
class Core:
    """Everything of one agent. Made by `open_core` alone."""

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
    turns: Turns = field(init=False)
    residency: Residency = field(init=False)
    world: ResidentWorld = field(init=False)
    services: ChildServices = field(init=False)
    _catching_up: asyncio.Lock = field(default_factory=asyncio.Lock)
    surfaces: Surfaces = field(init=False)
    artifacts: Artifacts = field(init=False)
    book: EngagementBook = field(init=False)
    inbox: Inbox = field(init=False)
    findings: RuleSurfaces = field(init=False)
    desk: FitnessDesk = field(init=False)

    def __post_init__(self) -> None:
        platform, config = self.platform, self.config
        self.models = ModelsInForce(self.home, config, platform)
        self.broker = ModelBroker(
            clock=platform.clock,
            limits=Limits(
                usd_per_day=config.budget.usd_per_day,
                tokens_per_day=config.budget.tokens_per_day,
                max_duty_cycle=config.kernel.max_duty_cycle,
            ),
            in_force=self.models.in_force(),
            record=self._record_spend,
            permit=check_op,
            around=Surroundings(
                paused=self.paused_until,
                operator_present=lambda: self.is_near(NEAR_MINUTES),
                say=self._say_once,
            ),
            state=self.memo.load("model-broker.json", BrokerState),
        )
        self.history = History(self.agent, self.stores, platform)
        self.tools = ToolBroker(
            ToolHosts(self._start_tool_host, platform.clock),
            self._grant,
            lambda: config.improve.autonomy,
            self.history.recall,
        )
        self.residency = Residency(
            self._start_resident, platform.clock.monotonic, self._resident_failed
        )
        self.turns = Turns(self.stores, platform.ids, self.residency.ask, self.catch_up)
        self.surfaces = Surfaces(self.stores, platform.disk, OpenGate(), self._show)
        self.artifacts = Artifacts(
            self.stores, platform.disk, lambda: self.presence.is_here(steady(platform.clock))
        )
        self.book = EngagementBook(self.stores, self.fitness.config, self._inbox_changed)
        self.inbox = Inbox(
            self.book,
            self.surfaces,
            self.artifacts,
            self.seen,
            self._scaffold_version,
            platform.clock.wall,
        )
        self.findings = RuleSurfaces(
            memo=self.memo,
            surfaces=self.surfaces,
            report=lambda: self.history.report(None, None),
            observed=self.history.observed,
            may_speak=self._may_speak,
            scaffold_version=self._scaffold_version,
            now=platform.clock.wall,
        )
        self.desk = FitnessDesk(
            stores=self.stores,
            book=self.book,
            loaded=self.fitness,
            platform=platform,
            affordable_seconds=config.kernel.tick_ms / 1000 * config.kernel.max_duty_cycle,
            changed=lambda: self.stream.publish("fitness", {}),
        )
        self.services = ChildServices(
            stores=self.stores,
            broker=self.broker,
            tools=self.tools,
            turns=self.turns,
            recall_search=self.history.recall,
            put_self_state=self.self_state.put,
            publish_event=lambda event: self.stream.publish("event", event),
            speech=Speech(
                surfaces=self.surfaces,
                mode=lambda: self.world.effective_mode,
                is_paused=lambda: self.memo.facts_paused(platform.clock.wall()),
                scaffold_version=self._scaffold_version,
            ),
            artifacts=self.artifacts,
            begins=self.unfinished.mark,
        )
        self.world = ResidentWorld(
            config=config,
            stores=self.stores,
            scaffold=Scaffold(
                self.agent.scaffold,
                self.agent.scaffold_versions,
                self.agent.state / "scaffold-seen.json",
                packaged_defaults(),
            ),
            broker=self.broker,
            residency=self.residency,
            presence=lambda: self.presence,
            is_paused=self.memo.facts_paused,
            power_bound=platform.power_bound,
            say=self.say_status,
            manifest=self.manifest,
            executive=self.executive,
        )

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

    def _may_speak(self) -> bool:
        """What rests on no model is told whichever model there is, in a mode that speaks."""
        paused = self.memo.facts_paused(self.platform.clock.wall())
        return self.config.kernel.mode in SPEAKING and not paused

    def _scaffold_version(self) -> str:
        return self.world.scaffold_version()

    def _inbox_changed(self) -> None:
        self.stream.publish("inbox", {})

    def _show(self, mode: str, surface: SurfaceEmitted) -> None:
        told = {"surface_id": surface.surface_id, "kind": surface.surface_kind, "mode": mode}
        self.stream.publish("inbox", told)

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

    def _grant(self, manifest: str) -> ToolGrant:
        """What a turn's tools may do, or background work's, which only looks."""
        granted = self.manifest if manifest == "resident" else self.executive
        return ToolGrant(
            tools=frozenset(granted.tools),
            workspace=self.agent.workspace,
            folders=self.folders.in_force(),
        )

    def _record_spend(self, spend: Spend) -> None:
        self.services.note_spend(spend)
        self.background.run(self.stores.append("spend-ledger", spend, durable=False))
        self.memo.save("model-broker.json", self.broker.snapshot(), durable=False)

    def _say_once(self, error: GnomonError) -> None:
        self.stores.journal(f"Background work holds back: {error}")
        self.say_status()

    def _resident_failed(self, code: str, detail: str) -> None:
        self.stores.journal(f"The resident: {code}: {detail}")
        self.say_status()

    async def _start_tool_host(self, argument: HostArgument) -> ChildProcess:
        return await start_tool_host(self.platform.start_child, argument)

    async def _start_resident(self) -> ChildProcess:
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


@asynccontextmanager
async def open_core(home: Home, agent_id: str, platform: Platform) -> AsyncGenerator[Core]:
    """Open a home whose lock is held; close it in order.

    Raises HomeError, ConfigError, LedgerCorruptError: each says what to do.
    """
    agent = home.agent(agent_id)
    ensure_home(home, agent)
    config = configuration.load(home.config, platform.environ)
    clock = platform.clock
    stores = open_stores(home, agent, clock, platform.disk, platform.threads)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(stores.close)
        memo = Memo(agent.state, platform.disk)
        platform = _with_recorded_starts(platform, config, memo)
        core = Core(
            home=home,
            agent=agent,
            platform=platform,
            config=config,
            manifest=ensure_manifest(agent),
            executive=executive_manifest(),
            fitness=ensure_fitness_config(agent),
            stores=stores,
            memo=memo,
            stream=Stream(clock.wall),
            tallies=Tallies(
                agent.state,
                stores.files["decision-ledger"],
                stores.files["spend-ledger"],
                platform.disk,
            ),
            self_state=SelfStateFile(agent, stores.journal, platform.disk),
            background=Background(lambda error: stores.journal(f"A write failed: {error}")),
            folders=Folders(agent.state / "folders.json", lambda: this_machine(home.root)),
            presence=Presence(last_at=steady(clock), last_sign="command"),
            unfinished=Unfinished(agent.state, clock, platform.disk),
        )
        stack.push_async_callback(core.background.drain)
        stack.callback(core.tallies.save)
        stack.push_async_callback(core.history.close)
        stack.push_async_callback(core.services.abandon_runs)
        stack.push_async_callback(core.broker.close)
        stack.push_async_callback(core.tools.close)
        stack.push_async_callback(core.residency.stop, "the gateway ends")
        if core.unfinished.since is not None:
            await recover(stores, core.turns, core.unfinished.since)
            core.unfinished.clear()
        yield core
    if not core.services.behind:  # reached only when all was closed in order
        core.unfinished.clear()


def _with_recorded_starts(platform: Platform, config: Config, memo: Memo) -> Platform:
    """Starts that note each jail's self-test, without a jail only where the operator said so."""
    start = platform.start_child
    if config.gateway.allow_unjailed and platform.start_unjailed is not None:
        start = platform.start_unjailed
    return replace(platform, start_child=RecordedStarts(start, memo, platform.clock))
