"""A month in seconds: the real daemon over virtual time, a scripted model and operator.

What is simulated: time, the disk's syncs, processes (they share one event loop), the model
and the person. What is real: everything else.
"""

import asyncio
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from random import Random

import msgspec

from gnomon.daemon.acts import Acts
from gnomon.daemon.arguments import ChatTurn
from gnomon.daemon.core import RESIDENT_MODULE, Core, open_core
from gnomon.daemon.create import ensure_home
from gnomon.daemon.life import Life
from gnomon.daemon.platform import ChildProcess, Platform
from gnomon.daemon.status import status
from gnomon.disk import SystemDisk
from gnomon.domain.errors import UsageError
from gnomon.domain.instants import DAY, SECOND, Millis, parse_iso
from gnomon.domain.json_value import Fields
from gnomon.domain.messages import ModelRequest
from gnomon.domain.policy import Role
from gnomon.domain.records import SessionMessage, Turn
from gnomon.domain.records_observe import Observation
from gnomon.domain.views import Simulated
from gnomon.home import Home
from gnomon.ledger.verify import verify
from gnomon.resident import main as resident
from gnomon.simulate import invariants
from gnomon.simulate.operator import Visit, ordinary
from gnomon.simulate.script import SimulatedModel
from gnomon.simulate.virtual_time import VirtualClock, VirtualTimeLoop
from gnomon.testing.clock import SequenceIds
from gnomon.testing.ledger import InlineThreads
from gnomon.testing.memory_child import Entry, MemoryChild
from gnomon.trust.ipc import Peer, Serve
from gnomon.trust.jail import Grants

START = parse_iso("2026-03-02T06:00:00Z")
"""A Monday morning."""
AGENT = "main"
MODEL_HOST = "gnomon.models.openai_host"


class UnsyncedDisk(SystemDisk):
    """A disk that is taken at its word: the simulator's own, where nothing is lost."""

    def sync(self, fd: int) -> None:
        del fd

    def sync_folder(self, folder: Path) -> None:
        del folder


@dataclass(frozen=True)
class Plan:
    """`keep` is the home's folder afterwards; null: it is thrown away."""

    days: int
    seed: int
    keep: Path | None = None


def simulate(plan: Plan) -> Simulated:
    """Live the plan. Raises UsageError when `keep` already holds something."""
    if plan.keep is not None and plan.keep.exists() and any(plan.keep.iterdir()):
        raise UsageError(f"{plan.keep} is not empty.", next_step="Name a new folder with --keep.")
    began = time.perf_counter()
    with ExitStack() as stack:
        folder = plan.keep or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="gnomon-simulated-"))
        )
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            lived = runner.run(_World(plan, Home(folder.absolute())).live())
        return msgspec.structs.replace(lived, seconds=round(time.perf_counter() - began, 3))


@dataclass
class _World:
    plan: Plan
    home: Home
    model: SimulatedModel = field(init=False)
    platform: Platform = field(init=False)
    prompts: set[str] = field(default_factory=set[str])
    presence: list[Millis] = field(default_factory=list[Millis])

    async def live(self) -> Simulated:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        rng = Random(self.plan.seed)  # noqa: S311 - a seed is the point
        clock = VirtualClock(loop, START)
        self.model = SimulatedModel(rng, self._heard)
        self.platform = platform = Platform(
            clock=clock,
            ids=SequenceIds(),
            environ={
                "GNOMON_MODEL": "simulated",
                "GNOMON_MODEL_URL": "http://127.0.0.1:9/v1",
            },
            start_child=self._start,
            jail_level=lambda: "none",
            power_bound=lambda: False,
            disk=UnsyncedDisk(),
            threads=InlineThreads(),
        )
        ensure_home(self.home, self.home.agent(AGENT), simulated=True)
        async with open_core(self.home, AGENT, platform) as core:
            life = Life(core, boot="simulated")
            self.presence.append(clock.wall())
            await life.begin()
            await self._days(core, Acts(core), ordinary(rng, START, self.plan.days), clock)
            await life.end()
            return self._summary(core)

    async def _days(self, core: Core, acts: Acts, visits: list[Visit], clock: VirtualClock) -> None:
        """Let the operator come and go until the last day is over."""
        end = START + self.plan.days * DAY
        for visit in visits:
            await asyncio.sleep(max(0, visit.at - clock.wall()) / SECOND)
            self.presence.append(clock.wall())
            await acts.chat(ChatTurn(text=visit.text), lambda _: None)
        await asyncio.sleep(max(0, end - clock.wall()) / SECOND)
        await core.background.drain()

    async def _start(
        self, role: Role, module: str, argument: Fields, grants: Grants, *, serve: Serve | None
    ) -> ChildProcess:
        """A role's module, in this event loop; the model's host is played."""
        del grants
        entries: dict[str, Entry] = {MODEL_HOST: self.model.serve, RESIDENT_MODULE: self._resident}
        entry = entries.get(module) or import_module(module).serve
        return await MemoryChild.begin(role, entry, argument, serve)

    async def _resident(self, peer: Peer, argument: Fields) -> None:
        """The real resident, by this world's clock and ids."""
        await resident.live(peer, argument, self.platform.clock, self.platform.ids)

    def _heard(self, request: ModelRequest) -> None:
        self.prompts.update(message.content for message in request.messages)

    def _summary(self, core: Core) -> Simulated:
        files = core.stores.files
        decisions = list(files["decision-ledger"].read())
        spends = list(files["spend-ledger"].read())
        turns = [
            line.body
            for run in core.stores.runs.ids()
            for line in core.stores.runs.get(run).read()
            if isinstance(line.body, Turn)
        ]
        messages = [
            line.body
            for session in core.stores.sessions.ids()
            for line in core.stores.sessions.get(session).read()
            if isinstance(line.body, SessionMessage)
        ]
        observed = [line.body for line in files["observations"].read()]
        told = status(core, running=False, url=None, next_tick_at=None)
        kernel = core.config.kernel
        violations = [
            *invariants.prompt_violations(self.prompts),
            *invariants.duty_violations(spends, kernel.max_duty_cycle * 3600),
            *invariants.silence_violations(
                decisions, self.presence, kernel.idle_activity_gate_minutes
            ),
            *invariants.status_violations(told, decisions),
            *invariants.order_violations(decisions),
            *invariants.order_violations(spends),
            *invariants.turn_violations(
                turns, messages, [each for each in observed if isinstance(each, Observation)]
            ),
            *(
                f"{ledger.name} does not verify"
                for ledger in verify(self.home).ledgers
                if not ledger.ok
            ),
        ]
        return Simulated(
            days=self.plan.days,
            seed=self.plan.seed,
            ticks=told.ticks,
            reflections=told.reflections,
            skipped=told.skipped,
            turns=len(turns),
            restarts=0,
            violations=tuple(violations),
            seconds=0.0,
            home=None if self.plan.keep is None else str(self.home.root),
        )
