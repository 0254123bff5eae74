"""The judge's desk over a laboratory's files, with its job in this process."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from gnomon.daemon.change.judging import JudgeDesk
from gnomon.daemon.platform import ChildProcess, Platform
from gnomon.disk import SYSTEM_DISK, Disk
from gnomon.domain.instants import HOUR, Millis, iso
from gnomon.domain.json_value import Fields
from gnomon.domain.policy import Role
from gnomon.domain.records import Body
from gnomon.domain.records_change import Judgment
from gnomon.domain.views_change import JobDone
from gnomon.referee import judge_main
from gnomon.referee.config import Loaded, parse
from gnomon.testing.clock import FakeClock, SequenceIds
from gnomon.testing.memory_child import MemoryChild
from gnomon.trust.ipc import Serve
from gnomon.trust.jail import Grants
from tests.change_kit import Laboratory, a_change, a_laboratory
from tests.judge_kit import a_window
from tests.referee_kit import MORNING

DEV = '{"dev_mode": true}'
"""Two windows a side, and any strict improvement."""


async def nothing_meanwhile() -> None: ...


@dataclass
class Court:
    """Hours go by, one window each; `desk` judges. `meanwhile` happens while its job runs."""

    lab: Laboratory
    clock: FakeClock
    loaded: Loaded
    meanwhile: Callable[[], Awaitable[None]] = nothing_meanwhile
    grants: list[Grants] = field(default_factory=list[Grants])
    desk: JudgeDesk = field(init=False)

    def __post_init__(self) -> None:
        self.lab.changes.config_sha256 = self.loaded.sha256
        self.desk = JudgeDesk(
            stores=self.lab.stores,
            changes=self.lab.changes,
            scaffold=self.lab.scaffold,
            look=self.lab.changes.look_at_scaffold,
            last_look=lambda: self.lab.scaffold.observe(self.now),
            loaded=self.loaded,
            platform=Platform(
                clock=self.clock,
                ids=SequenceIds(),
                environ={},
                start_child=self._start,
                jail_level=lambda: "none",
                power_bound=lambda: False,
            ),
        )
        self.lab.changes.judge = self.desk.turn

    @property
    def now(self) -> Millis:
        return self.clock.wall()

    async def _start(
        self, role: Role, module: str, argument: Fields, grants: Grants, *, serve: Serve | None
    ) -> ChildProcess:
        assert (role, module) == ("judge", judge_main.__name__)
        self.grants.append(grants)
        await self.meanwhile()
        return await MemoryChild.begin(role, judge_main.serve, argument, serve)

    async def hours(self, count: int, stall: float | None, engagement: float | None = None) -> None:
        """So many go by under what is in force, and are measured."""
        for _ in range(count):
            start = Millis(self.now // HOUR * HOUR)
            self.clock.advance((start + HOUR - self.now) / 1000)
            version = self.lab.scaffold.observe(self.now).version
            await self.measured(
                a_window(iso(start), stall, engagement, version=version, config=self.loaded.sha256)
            )

    async def measured(self, window: Body) -> None:
        await self.lab.stores.append("fitness-ledger", window)

    async def tested(self, stall: float, engagement: float | None = None) -> None:
        """A change that is in force after two hours of its parent (0.4 stuck, half used), and
        its own two hours.
        """
        await self.hours(2, 0.4, 0.5)
        await self.lab.changes.propose(a_change())
        await self.hours(2, stall, engagement)

    async def run(self) -> JobDone:
        return await self.desk.run(self.now)

    def judgments(self) -> list[Judgment]:
        lines = self.lab.stores.files["judgment-ledger"].read()
        return [line.body for line in lines if isinstance(line.body, Judgment)]

    def outcomes(self) -> list[str]:
        return [judgment.outcome for judgment in self.judgments()]

    @property
    def status(self) -> str:
        return self.lab.changes.known("change-0001").status

    async def close(self) -> None:
        await self.lab.close()


def a_court(
    root: Path, config: str = DEV, disk: Disk = SYSTEM_DISK, clock: FakeClock | None = None
) -> Court:
    """Open or make one."""
    clock = clock or FakeClock(MORNING)
    return Court(a_laboratory(root, disk, clock), clock, parse(config))
