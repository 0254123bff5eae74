"""A month in seconds: the real daemon over virtual time, a scripted model and operator.

What is simulated: time, the disk's syncs, processes (they share one event loop), the model
and the person. What is real: everything else.
"""

import asyncio
import json
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gnomon.daemon.store.create import ensure_home
from gnomon.domain.errors import UsageError
from gnomon.domain.instants import DAY, Millis, parse_iso
from gnomon.domain.json_value import Json
from gnomon.domain.messages import ModelRequest
from gnomon.domain.policy import Role
from gnomon.domain.views import Simulated, Status
from gnomon.home import Home
from gnomon.referee.config import default_text
from gnomon.simulate import faults, operators
from gnomon.simulate.checks import Checks
from gnomon.simulate.days import Days
from gnomon.simulate.edits import EDITS, Edit, effect
from gnomon.simulate.ledger_files import plain_lines
from gnomon.simulate.machine import AGENT, Machine
from gnomon.simulate.script import SimulatedModel
from gnomon.simulate.story import Called, Story
from gnomon.simulate.virtual_time import VirtualClock, VirtualTimeLoop
from gnomon.simulate.witness import Witness
from gnomon.testing.crash import Killed

START = parse_iso("2026-03-02T06:00:00Z")
"""A Monday morning."""
MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
"""The simulator's own disk, where there is one: nothing of it has to outlive the process."""
CONFIG = '[kernel]\nmode = "full"\n'
SETTLING_SECONDS = 300
"""After the last day: time for what a last fault left to be put right."""


@dataclass(frozen=True)
class Plan:
    """`keep` is the home's folder afterwards; null: it is thrown away. `without` are roles that
    do not start.
    """

    days: int
    seed: int
    keep: Path | None = None
    operator: operators.Name = "ordinary"
    faults: bool = False
    without: frozenset[Role] = frozenset()
    edits: Sequence[Edit] = EDITS
    """Of which the simulated refiner chooses."""
    rules: Mapping[str, Json] | None = None
    """Keys of fitness-config.json that are other than the locked ones."""
    told: Callable[[int], None] = lambda _: None
    """Hears of each day as it begins, counted from 1."""


def simulate(plan: Plan) -> Simulated:
    """Live the plan. Raises UsageError when it cannot be kept where that is wanted."""
    check_keep(plan.keep)
    began = time.perf_counter()
    in_memory = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="gnomon-simulated-", dir=in_memory) as folder:
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            loop = runner.get_loop()
            assert isinstance(loop, VirtualTimeLoop)
            lived = runner.run(_World(plan, Home(Path(folder)), loop).live())
        if plan.keep is not None:
            shutil.copytree(folder, plan.keep, dirs_exist_ok=True)
        return msgspec.structs.replace(lived, seconds=round(time.perf_counter() - began, 3))


def check_keep(folder: Path | None) -> None:
    """Raises UsageError when something is there already: nothing is lived for it."""
    if folder is None or not folder.exists():
        return
    if not folder.is_dir() or any(folder.iterdir()):
        what = "is not empty" if folder.is_dir() else "is not a folder"
        raise UsageError(f"{folder} {what}.", next_step="Name a new folder with --keep.")


class _World:
    """Makes the machine and the people, lets the days go by, and tells what came of them."""

    def __init__(self, plan: Plan, home: Home, loop: VirtualTimeLoop) -> None:
        self._plan = plan
        self._home = home
        self._loop = loop
        self._day = 0
        loop.set_exception_handler(self._unhandled)
        self._clock = VirtualClock(loop, START)
        self._story = Story()
        model = SimulatedModel(plan.seed, self._called, plan.edits)
        witness = Witness(self._clock.true)
        self._machine = Machine(home, self._clock, model, witness, without=plan.without)
        self._checks = Checks(self._machine, self._story)

    async def live(self) -> Simulated:
        plan, machine = self._plan, self._machine
        self._home.config.write_text(CONFIG)
        agent = self._home.agent(AGENT)
        ensure_home(self._home, agent, simulated=True)
        if plan.rules is not None:
            agent.kernel.mkdir(parents=True, exist_ok=True)
            agent.fitness_config.write_text(
                json.dumps({**json.loads(default_text()), **plan.rules})
            )
        end = Millis(START + plan.days * DAY)
        days = Days(machine, self._story, self._checks, plan.operator, plan.seed, end, self._passed)
        days.plan(*operators.plan(plan.operator, plan.seed, START, plan.days))
        if plan.faults:
            days.plan(*faults.plan(plan.seed, START, plan.days))
        await days.live()
        await days.settle(SETTLING_SECONDS)
        gateway = machine.running
        await gateway.core.background.drain()
        shown: Status = await machine.ask("status.show")
        self._checks.while_it_runs(shown)
        kernel = gateway.core.config.kernel
        self._story.away(self._clock.true(), "orderly")
        await machine.stop()
        self._checks.at_the_end(kernel, end)
        return self._told(shown)

    def _passed(self, at: Millis) -> None:
        day = (at - START) // DAY + 1
        if day > self._day:
            self._day = day
            self._plan.told(day)

    # --- what is heard -----------------------------------------------------------------------

    def _called(self, request: ModelRequest) -> Callable[[], None]:
        clock, start, began = self._clock, self._clock.true(), self._loop.time()
        self._checks.heard(request)
        self._note_prompt(request)

        def ended() -> None:
            seconds = self._loop.time() - began
            self._story.called.append(Called(request.purpose, start, clock.true(), seconds))

        return ended

    def _note_prompt(self, request: ModelRequest) -> None:
        gateway = self._machine.gateway
        state = gateway.core.world.last_scaffold if gateway is not None else None
        if request.purpose == "reflection" and state is not None:
            self._story.prompts[state.version] = effect(request.messages[0].content)

    def _unhandled(self, _: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """An exception that nobody took: of a life that was killed that is as it should be."""
        error = context.get("exception")
        if self._machine.disk.dead or isinstance(error, Killed):
            return
        self._checks.found(f"nobody took {error!r}: {context.get('message')}")

    def _told(self, shown: Status) -> Simulated:
        agent = self._home.agent(AGENT)
        engagement, fitness = (
            plain_lines(agent.engagement_ledger),
            plain_lines(agent.fitness_ledger),
        )
        standing = {
            line.fields["surface_id"]: line.fields["outcome"]
            for line in engagement
            if line.kind == "outcome"
        }
        surfaces = [line for line in engagement if line.kind == "surface_emitted"]
        outcomes = Counter(standing.get(line.fields["surface_id"], "open") for line in surfaces)
        windows = {line.fields["window_start"]: line for line in fitness if line.kind != "gap"}
        nulls = Counter(
            reason
            for line in windows.values()
            for reason in (line.fields["stall_reason"], line.fields["engagement_reason"])
            if reason is not None
        )
        return Simulated(
            days=self._plan.days,
            seed=self._plan.seed,
            operator=self._plan.operator,
            ticks=shown.ticks,
            reflections=shown.reflections,
            skipped=shown.skipped,
            turns=sum(
                line.kind == "turn"
                for path in agent.runs.glob("*.jsonl")
                for line in plain_lines(path)
            ),
            surfaces=len(surfaces),
            outcomes=dict(sorted(outcomes.items())),
            windows=len(windows),
            null_windows=dict(sorted(nulls.items())),
            restarts=self._story.restarts,
            faults=dict(sorted(self._story.faults.items())),
            violations=tuple(self._checks.violations),
            seconds=0.0,
            home=None if self._plan.keep is None else str(self._plan.keep.absolute()),
        )
