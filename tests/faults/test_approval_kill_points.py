"""Kill points over a held action's whole life: held, edited, decided, done, undone.

In process, over `open_core`, on a disk that dies at a chosen call. Whatever the moment: what was
decided is decided once, what was done is done once and whole, and a file holds what it held or
what was approved, never a third thing.
"""

import asyncio
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gnomon.daemon.acts import Acts
from gnomon.daemon.core import Core
from gnomon.daemon.operations import table
from gnomon.daemon.wire import open_core
from gnomon.disk import Disk
from gnomon.domain.errors import ConflictError, GnomonError
from gnomon.domain.messages import ToolCall
from gnomon.domain.records_change import Decided, Executed, Held, Redone, Refused, Undone
from gnomon.gateway.door import entered
from gnomon.home import Home
from gnomon.ledger.verify import verify
from gnomon.simulate.virtual_time import VirtualTimeLoop
from gnomon.testing.clock import FakeClock, SequenceIds
from gnomon.testing.crash import POINTS_WHEN, CrashDisk, Kill, Killed, Lost, When
from tests.daemon_world import Machine
from tests.world_kit import CLI

BOUND = 20
BEFORE, AFTER, MINE = "one\n", "two\n", "three\n"


@dataclass
class World:
    """A home over several lives, and a folder beside it. `said` are decisions acknowledged."""

    root: Path
    data: Path
    clock: FakeClock = field(default_factory=FakeClock)
    ids: SequenceIds = field(default_factory=SequenceIds)
    said: list[str] = field(default_factory=list[str])

    @property
    def old(self) -> Path:
        return self.data / "old.md"

    @property
    def new(self) -> Path:
        return self.data / "inner" / "new.md"

    def opened(self, disk: Disk) -> Any:
        home = Home(self.root / "home")
        machine = Machine(self.clock, self.ids, disk, environ={"GNOMON_MODEL": "none"})
        return open_core(home, "main", machine.platform())

    async def ask(self, core: Core, name: str, **arguments: Any) -> Any:
        operation = table(core, Acts(core))[name]
        with entered(CLI):
            given = msgspec.convert(arguments, operation.arguments)
            return await operation.run(given, lambda _: None)

    def begin(self) -> None:
        """The folder as it is at first."""
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir()
        self.old.write_text(BEFORE)

    async def grant(self) -> None:
        async with self.opened(CrashDisk()) as core:
            await self.ask(core, "folders.add", path=str(self.data))

    async def hold(self, core: Core, path: Path) -> str:
        text = msgspec.json.encode({"path": str(path), "content": AFTER}).decode()
        call = ToolCall(id="1", name="write", arguments=text)
        outcome = await core.tools.run("resident", "run-1", "resident", call)
        assert outcome.error == "HELD", outcome
        return outcome.text.split(": ")[1].split(".")[0]

    async def live(self, disk: Disk) -> None:
        """One is approved and undone; in the place of another the operator's text is done."""
        async with asyncio.timeout(BOUND), self.opened(disk) as core:
            name = await self.hold(core, self.old)
            await self.ask(core, "approvals.approve", id=name)
            self.said.append(name)
            name = await self.hold(core, self.new)
            mine = await self.ask(core, "approvals.edit", id=name, text=MINE)
            self.said.append(mine.approval.id)
            await self.ask(core, "approvals.undo", id=self.said[0])
            self.said.append("undone")

    async def settled(self) -> list[Any]:
        """The next life, on a disk that works: its lines once all is finished. What waits still
        can be decided then, and what is settled cannot.
        """
        self.clock.advance(30)
        async with self.opened(CrashDisk()) as core:
            await core.approving.beat()
            lines = [line.body for line in core.stores.files["approvals"].read()]
            check(self, lines)
            decided = {line.approval_id for line in lines if isinstance(line, Decided)}
            pending = await self.ask(core, "approvals.list", pending=True)
            newest = {each.target: each.id for each in pending}  # the others are stale then
            for name in newest.values():
                shown = await self.ask(core, "approvals.approve", id=name)
                assert shown.approval.status == "executed"
            for name in decided:
                with pytest.raises(ConflictError):
                    await self.ask(core, "approvals.approve", id=name)
        return lines


def check(world: World, lines: list[Any]) -> None:
    """One of two states, for each file, and the ledger tells which."""
    assert [ledger for ledger in verify(Home(world.root / "home")).ledgers if not ledger.ok] == []
    decided = Counter(line.approval_id for line in lines if isinstance(line, Decided))
    ends = {line.approval_id: line for line in lines if isinstance(line, Executed | Refused)}
    ended = Counter(line.approval_id for line in lines if isinstance(line, Executed | Refused))
    assert set(decided.values()) | set(ended.values()) <= {1}, "once"
    assert set(ended) == set(decided), "what was decided has its end"
    undone = {line.approval_id for line in lines if isinstance(line, Undone)}
    held = [line for line in lines if isinstance(line, Held)]
    gone = {line.approval_id for line in lines if isinstance(line, Redone)}
    assert gone.isdisjoint(decided), "of an edited one the agent's text is never done"
    for path, wanted, before in ((world.old, AFTER, BEFORE), (world.new, MINE, None)):
        came = [ends.get(line.approval_id) for line in held if line.target == str(path)]
        done = [end for end in came if isinstance(end, Executed)]
        assert [end.error for end in done] in ([], [None])
        now = path.read_text() if path.exists() else None
        if not done or done[0].approval_id in undone:
            assert now == before
        else:
            taken_back = path == world.old and now == BEFORE  # killed before its line
            assert now == wanted or taken_back
    for name in world.said:
        assert name in decided or name == "undone", f"{name} was acknowledged and is gone"
    assert ("undone" in world.said) <= bool(undone)
    left = {path.name for path in world.data.rglob("*") if path.is_file()}
    assert left <= {"old.md", "new.md"}, "nothing is left beside them"


def run(work: Any) -> Any:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.get_loop().set_exception_handler(lambda _loop, _context: None)
        return runner.run(work)


def killed(world: World, disk: CrashDisk) -> bool:
    try:
        run(world.live(disk))
    except (Killed, GnomonError, TimeoutError, OSError):
        assert disk.dead
    finally:
        disk.abandon()
    return disk.dead


WAYS: list[tuple[When, Lost]] = [
    ("before", "nothing"), ("after", "unsynced"), ("half", "nothing")
]  # fmt: skip


@pytest.mark.parametrize(("when", "lost"), WAYS)
def test_a_kill_at_a_call_decides_and_does_nothing_twice(
    ram: Path, tmp_path: Path, when: When, lost: Lost
) -> None:
    sweep(ram, tmp_path, when, lost, stride=4)


@pytest.mark.soak
@pytest.mark.parametrize(("when", "lost"), WAYS)
def test_a_kill_at_each_call_decides_and_does_nothing_twice(
    ram: Path, tmp_path: Path, when: When, lost: Lost
) -> None:
    sweep(ram, tmp_path, when, lost, stride=1)


def sweep(ram: Path, tmp_path: Path, when: When, lost: Lost, *, stride: int) -> None:
    """Every way begins at another call, so that together they meet more of them."""
    clean, disk = World(ram / "clean", tmp_path / "data"), CrashDisk()
    clean.begin()
    run(clean.grant())
    shutil.copytree(clean.root, ram / "granted")
    run(clean.live(disk))
    assert len(disk.points) > 100
    assert run(clean.settled())
    points = [at for at, name in enumerate(disk.points) if when != "half" or name == "write"]
    points = points[POINTS_WHEN.index(when) % stride :: stride]
    deaths = 0
    for at in points:
        world = World(ram / "home", clean.data)
        world.begin()
        shutil.rmtree(world.root, ignore_errors=True)
        shutil.copytree(ram / "granted", world.root)
        deaths += killed(world, CrashDisk(Kill(at, when, lost)))
        run(world.settled())
    assert deaths >= len(points) - 2
