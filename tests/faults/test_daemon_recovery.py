"""Kill points over a whole turn: its commit, what is derived from it, and the recovery itself.

In process, over `open_core`, on a disk that dies at a chosen call. A life that was killed is
followed by one that recovers; what was acknowledged is then there exactly once.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gnomon.daemon.core import RESIDENT_MODULE, Core
from gnomon.daemon.life import Life
from gnomon.daemon.wire import open_core
from gnomon.disk import Disk
from gnomon.domain.errors import GnomonError
from gnomon.domain.records import RunClosed, SessionMessage, Spend, Turn
from gnomon.domain.records_observe import Observation
from gnomon.home import Home
from gnomon.ledger.verify import verify
from gnomon.simulate.virtual_time import VirtualTimeLoop
from gnomon.testing.clock import FakeClock, SequenceIds
from gnomon.testing.crash import CrashDisk, Fault, Kill, Killed, When
from tests.daemon_world import Machine, played_resident

TURNS = 2
BOUND = 20
"""Virtual seconds that one life may take: what waits for a dead disk is given up then."""


@dataclass
class World:
    """A home over several lives. `acknowledged` are the turns whose reply was given."""

    home: Home
    clock: FakeClock = field(default_factory=FakeClock)
    ids: SequenceIds = field(default_factory=SequenceIds)
    session: str | None = None
    acknowledged: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def machine(self, disk: Disk) -> Machine:
        played = {RESIDENT_MODULE: played_resident(self.ids)}
        return Machine(clock=self.clock, ids=self.ids, disk=disk, entries=played)

    async def live(self, disk: Disk, turns: int) -> None:
        """One life with some turns, ended in order if it is not killed."""
        async with (
            asyncio.timeout(BOUND),
            open_core(self.home, "main", self.machine(disk).platform()) as core,
        ):
            life = Life(core, boot="here")
            await life.begin()
            for _ in range(turns):
                await self.turn(core)
            await life.end()

    async def turn(self, core: Core) -> None:
        self.clock.advance(1)
        kind = core.broker.in_force.kind
        reply = await core.turns.take("hello", self.session, None, kind, None, lambda _: None)
        self.session = reply.session
        self.acknowledged.append((reply.session, reply.turn))

    async def recovered(self) -> None:
        """The next life, on a disk that works."""
        self.clock.advance(30)
        await self.live(CrashDisk(), turns=0)


async def check_once(world: World) -> None:
    """Every acknowledged turn stands in run-log, session, observations and spend once."""
    damaged = [ledger for ledger in verify(world.home).ledgers if not ledger.ok]
    assert damaged == []
    async with open_core(world.home, "main", world.machine(CrashDisk()).platform()) as core:
        runs = {run: list(core.stores.runs.get(run).read()) for run in core.stores.runs.ids()}
        turns = {
            run: line.body
            for run, lines in runs.items()
            for line in lines
            if isinstance(line.body, Turn)
        }
        committed = Counter((turn.session, turn.turn) for turn in turns.values())
        assert set(committed.values()) <= {1}
        for turn in world.acknowledged:
            assert committed[turn] == 1, f"{turn} was acknowledged and is gone"
        messages = Counter(
            (session, line.body.turn, line.body.role)
            for session in core.stores.sessions.ids()
            for line in core.stores.sessions.get(session).read()
            if isinstance(line.body, SessionMessage)
        )
        assert messages == {
            (*turn, role): 1 for turn in committed for role in ("user", "assistant")
        }
        observed = Counter(
            (line.body.session, line.body.turn)
            for line in core.stores.files["observations"].read()
            if isinstance(line.body, Observation)
        )
        assert observed == committed
        spent = Counter(
            line.body.run
            for line in core.stores.files["spend-ledger"].read()
            if isinstance(line.body, Spend)
        )
        for run, turn in turns.items():
            assert spent[run] == len(turn.spend) == 1
        for run, lines in runs.items():
            closed = any(isinstance(line.body, RunClosed) for line in lines)
            assert not lines or run in turns or closed, f"{run} is left open"


def run_killed(world: World, disk: CrashDisk, turns: int = TURNS) -> bool:
    """Live until the kill; whether it came."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        # What nobody took is of a life that is dead.
        runner.get_loop().set_exception_handler(lambda _loop, _context: None)
        try:
            runner.run(world.live(disk, turns))
        except (Killed, GnomonError, TimeoutError, OSError):
            assert disk.dead
        finally:
            disk.abandon()
    return disk.dead


def points(tmp_path: Path) -> int:
    disk = CrashDisk()
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(World(Home(tmp_path / "clean")).live(disk, TURNS))
    return len(disk.points)


@pytest.mark.parametrize(
    ("when", "lost"),
    [("before", "nothing"), ("after", "unsynced"), ("half", "nothing"), ("before", "holed")],
)
def test_a_kill_at_every_call_of_two_turns_loses_and_doubles_nothing(ram: Path, when: When, lost):
    total = points(ram)
    assert total > 40
    killed = 0
    for at in range(total):
        world = World(Home(ram / f"{at}"))
        killed += run_killed(world, CrashDisk(Kill(at, when, lost)))
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(world.recovered())
            runner.run(check_once(world))
    assert killed >= total - 2, "every point is a death"


def test_a_kill_at_every_call_of_the_recovery_itself_changes_nothing(ram: Path):
    total = points(ram)
    cases = 0
    for at in range(total // 2, total, 6):
        for second in range(0, 60, 5):
            world = World(Home(ram / f"{at}-{second}"))
            run_killed(world, CrashDisk(Kill(at, "after", "nothing")))
            world.clock.advance(30)
            run_killed(world, CrashDisk(Kill(second, "before", "nothing")), turns=0)
            with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
                runner.run(world.recovered())
                runner.run(check_once(world))
            cases += 1
    assert cases >= 60


@pytest.mark.parametrize("call", ["write", "sync"])
def test_a_disk_that_refuses_for_a_while_is_used_again_by_the_next_beat(ram: Path, call: str):
    async def live(world: World, at: int) -> bool:
        machine = world.machine(CrashDisk(Fault(call, errno=5, at=at, times=2)))
        failed = False
        try:
            async with open_core(world.home, "main", machine.platform()) as core:
                life = Life(core, boot="here")
                await life.begin()
                for _ in range(3):
                    try:
                        await world.turn(core)
                    except GnomonError:
                        failed = True
                        await life.act(["heartbeat"])
                await world.turn(core)
                await life.end()
        except GnomonError:
            return True  # it could not even start, or end; the next life can
        return failed

    failures = 0
    for at in range(24):
        world = World(Home(ram / f"{at}"))
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            failures += runner.run(live(world, at))
            runner.run(world.recovered())
            runner.run(check_once(world))
    assert failures >= 8, failures
