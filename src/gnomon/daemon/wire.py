"""The one place that knows everyone: opens a home and hands each part what it needs.

The daemon holds a core for as long as it runs; a CLI verb without a daemon holds one for as
long as the verb takes. Processes are started when they are needed, here as there.
"""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from gnomon import config as configuration
from gnomon.brokers.folders import Folders, this_machine
from gnomon.brokers.model import ModelBroker
from gnomon.brokers.model_budget import Limits
from gnomon.brokers.model_gate import Surroundings
from gnomon.brokers.tool import ToolBroker
from gnomon.brokers.tool_hosts import ToolHosts
from gnomon.config import Config
from gnomon.daemon.background import Background
from gnomon.daemon.change.carry_on import CarryOn
from gnomon.daemon.change.changes import Changes
from gnomon.daemon.change.jobs import Jobs
from gnomon.daemon.change.judging import JudgeDesk
from gnomon.daemon.change.learning import LearningDesk
from gnomon.daemon.change.past_texts import PastTexts
from gnomon.daemon.child.residency import Residency
from gnomon.daemon.child.resident_world import ResidentWorld
from gnomon.daemon.child.services import ChildServices
from gnomon.daemon.child.speech import Speech
from gnomon.daemon.core import NEAR_MINUTES, Core
from gnomon.daemon.evaluation_time import EvaluationTime
from gnomon.daemon.fitness.desk import FitnessDesk
from gnomon.daemon.fitness.retune_notices import RetuneNotices
from gnomon.daemon.health.self_tests import RecordedStarts
from gnomon.daemon.inbox.artifacts import Artifacts
from gnomon.daemon.inbox.closed_items import ClosedItems
from gnomon.daemon.inbox.day_queue import DayQueue
from gnomon.daemon.inbox.engagement import EngagementBook
from gnomon.daemon.inbox.findings import RuleSurfaces
from gnomon.daemon.inbox.inbox import Inbox
from gnomon.daemon.inbox.surfaces import OpenGate, Surfaces
from gnomon.daemon.inbox.watch import Watch
from gnomon.daemon.models_in_force import ModelsInForce
from gnomon.daemon.platform import Platform
from gnomon.daemon.presence import Presence, steady
from gnomon.daemon.store import heartbeat
from gnomon.daemon.store.broker_state import broker_state
from gnomon.daemon.store.create import (
    ensure_fitness_config,
    ensure_home,
    ensure_manifest,
    executive_manifest,
)
from gnomon.daemon.store.memo import Memo
from gnomon.daemon.store.self_state import SelfStateFile
from gnomon.daemon.store.stores import open_stores
from gnomon.daemon.store.tallies import Tallies
from gnomon.daemon.store.unfinished import Unfinished
from gnomon.daemon.talk.history import History
from gnomon.daemon.talk.recovery import recover
from gnomon.daemon.talk.turns import Turns
from gnomon.daemon.watch.watching import Watching
from gnomon.daemon.wire_approvals import hold, wire_approvals
from gnomon.daemon.wire_refiner import wire_refiner
from gnomon.gateway.operation import Nothing
from gnomon.gateway.stream import Stream
from gnomon.home import Home
from gnomon.referee.rules import margins
from gnomon.scaffold.defaults import packaged_defaults
from gnomon.scaffold.versions import Scaffold
from gnomon.trust.roles import check_op


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
        memo = Memo(agent.state, platform.disk, stores.journal)
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
        wire(core)
        stack.push_async_callback(core.background.drain)
        stack.callback(core.tallies.save)
        stack.push_async_callback(core.history.close)
        stack.push_async_callback(core.services.abandon_runs)
        stack.push_async_callback(core.broker.close)
        stack.push_async_callback(core.tools.close)
        stack.push_async_callback(core.residency.stop, "the gateway ends")
        if core.unfinished.since is not None:
            await recover(stores, core.turns, core.unfinished.since)
            await core.approving.recover()
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


def wire(core: Core) -> None:
    """Make the parts that need one another, lowest first."""
    _wire_doors(core)
    _wire_inbox(core)
    _wire_resident(core)
    _wire_change(core)
    wire_approvals(core)
    wire_refiner(core)


def _wire_doors(core: Core) -> None:
    """To models, tools, the past and the resident."""
    platform, config = core.platform, core.config
    core.models = ModelsInForce(core.home, config, platform)
    limits = Limits(
        usd_per_day=config.budget.usd_per_day,
        tokens_per_day=config.budget.tokens_per_day,
        max_duty_cycle=config.kernel.max_duty_cycle,
    )
    core.broker = ModelBroker(
        clock=platform.clock,
        limits=limits,
        in_force=core.models.in_force(),
        record=core.record_spend,
        permit=check_op,
        around=Surroundings(
            paused=core.paused_until,
            operator_present=lambda: core.is_near(NEAR_MINUTES),
            say=core.say_once,
        ),
        state=broker_state(core.memo, core.stores, limits),
    )
    core.history = History(core.agent, core.stores, platform)
    core.watching = Watching(
        environ=platform.environ,
        user_home=Path.home(),
        read=core.read_on,
        now=platform.clock.wall,
        seen=lambda: core.seen("other-agent"),
        say=core.stores.journal,
    )
    core.tools = ToolBroker(
        ToolHosts(core.start_tool_host_jailed, platform.clock),
        core.tool_grant,
        core.autonomy,
        core.history.recall,
        partial(hold, core),
    )
    core.residency = Residency(core.start_resident, platform.clock.monotonic, core.resident_failed)
    core.turns = Turns(
        core.stores, platform.ids, core.residency.ask, core.catch_up, platform.beside
    )


def _wire_inbox(core: Core) -> None:
    """What is brought to the operator, what they did with it, and how that is measured."""
    platform, config = core.platform, core.config
    queue = DayQueue(
        core.memo,
        core.stores.files["engagement-ledger"],
        platform.clock.wall,
        config.notify.max_per_day,
    )
    watch = Watch(platform.clock, core.home.heartbeat, heartbeat.boot_id())
    core.book = EngagementBook(core.stores, core.fitness.config, watch, core.inbox_changed)
    core.surfaces = Surfaces(
        core.stores, platform.disk, OpenGate(), core.show_surface, queue, core.book.now
    )
    core.artifacts = Artifacts(
        core.stores, platform.disk, lambda: core.presence.is_here(steady(platform.clock))
    )
    core.closed_items = ClosedItems(core.memo)
    core.inbox = Inbox(
        core.book,
        core.surfaces,
        core.artifacts,
        core.seen,
        core.scaffold_version,
        platform.clock.wall,
        core.closed_items.add,
    )
    core.findings = RuleSurfaces(
        memo=core.memo,
        surfaces=core.surfaces,
        report=lambda: core.history.report(None, None),
        observed=core.history.observed,
        may_speak=core.may_speak,
        scaffold_version=core.scaffold_version,
        now=platform.clock.wall,
    )
    core.desk = FitnessDesk(
        stores=core.stores,
        book=core.book,
        loaded=core.fitness,
        platform=platform,
        affordable_seconds=config.kernel.tick_ms / 1000 * config.kernel.max_duty_cycle,
        changed=lambda: core.stream.publish("fitness", {}),
    )
    core.retune_notices = RetuneNotices(
        memo=core.memo,
        surfaces=core.surfaces,
        fitness=core.stores.files["fitness-ledger"],
        answers=lambda: core.desk.answers(Nothing(), lambda _: None),
        may_speak=core.may_speak,
        scaffold_version=core.scaffold_version,
        now=platform.clock.wall,
    )


def _wire_resident(core: Core) -> None:
    """What stands behind the resident's requests, and its turn of the cycle."""
    platform, config = core.platform, core.config
    core.services = ChildServices(
        stores=core.stores,
        broker=core.broker,
        tools=core.tools,
        turns=core.turns,
        recall_search=core.history.recall,
        put_self_state=core.self_state.put,
        publish_event=lambda event: core.stream.publish("event", event),
        speech=Speech(
            surfaces=core.surfaces,
            mode=lambda: core.world.effective_mode,
            is_paused=lambda: core.memo.facts_paused(platform.clock.wall()),
            scaffold_version=core.scaffold_version,
        ),
        artifacts=core.artifacts,
        begins=core.unfinished.mark,
    )
    scaffold = Scaffold(
        core.agent.scaffold,
        core.agent.scaffold_versions,
        core.agent.state / "scaffold-seen.json",
        packaged_defaults(),
        platform.disk,
    )
    core.world = ResidentWorld(
        config=config,
        stores=core.stores,
        scaffold=scaffold,
        broker=core.broker,
        residency=core.residency,
        presence=lambda: core.presence,
        is_paused=core.memo.facts_paused,
        power_bound=platform.power_bound,
        say=core.say_status,
        manifest=core.manifest,
        executive=core.executive,
        closed=core.closed_items,
        similarity=core.fitness.config.repeat_similarity,
    )


def _wire_change(core: Core) -> None:
    """How it changes itself, and the jobs that can be run by hand."""
    core.changes = Changes(
        stores=core.stores,
        scaffold=core.world.scaffold,
        look_at_scaffold=core.world.look_at_scaffold,
        config_sha256=core.fitness.sha256,
        changed=lambda: core.stream.publish("changes", {}),
        autonomy=lambda: core.config.improve.autonomy,
        margins=margins(core.fitness.config),
    )
    core.carry_on = CarryOn(core.stores, core.changes)
    core.judge = JudgeDesk(
        stores=core.stores,
        changes=core.changes,
        scaffold=core.world.scaffold,
        look=core.world.look_at_scaffold,
        last_look=lambda: core.world.last_scaffold,
        loaded=core.fitness,
        platform=core.platform,
    )
    core.changes.judge = core.judge.turn
    time = EvaluationTime(core.stores)
    core.jobs = Jobs(time)
    core.jobs.add(core.desk.job())
    core.jobs.add(core.judge.job())
    core.learning = LearningDesk(
        changes=core.changes,
        desk=core.desk,
        stores=core.stores,
        config=core.fitness.config,
        texts=PastTexts(
            core.agent.scaffold_versions, core.world.scaffold_in_force, core.changes.state
        ),
        today=time.today,
    )
