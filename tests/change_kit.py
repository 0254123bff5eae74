"""A scaffold, its ledgers and `Changes` over them, without a gateway; a disk that may die."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from gnomon.daemon.change.changes import Changes
from gnomon.daemon.store.create import ensure_home
from gnomon.daemon.store.stores import Stores, open_stores
from gnomon.disk import SYSTEM_DISK, Disk
from gnomon.domain.records import AnchoredHead
from gnomon.domain.records_change import (
    Change,
    ChangeAuthor,
    Delta,
    Judgment,
    Means,
    Prediction,
    VerdictOutcome,
)
from gnomon.domain.unified_diff import unified
from gnomon.home import Home
from gnomon.scaffold.defaults import packaged_defaults
from gnomon.scaffold.versions import Scaffold, ScaffoldState
from gnomon.testing.clock import FakeClock
from gnomon.testing.ledger import InlineThreads

PROMPT = "inner-loop-prompt.md"
PARENT = packaged_defaults()[PROMPT]
CANDIDATE = PARENT + "\nBegin with the open question that is oldest.\n"
CONFIG = "c" * 64


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def a_change(
    number: int = 1, candidate: str = CANDIDATE, base: str = PARENT, target: str = PROMPT
) -> Change:
    return Change(
        change_id=f"change-{number:04d}",
        tier="T2",
        author=ChangeAuthor(role="refiner", model="scripted", prompt="refiner@packaged#0"),
        target=target,
        base_sha256=sha(base),
        candidate_sha256=sha(candidate),
        candidate=candidate,
        diff=unified(base, candidate, target),
        rationale="The oldest question waits longest.",
        prediction=Prediction(signal="stall", direction="down"),
    )


def a_judgment(outcome: VerdictOutcome, number: int = 1) -> Judgment:
    return Judgment(
        change_id=f"change-{number:04d}",
        outcome=outcome,
        rule="seed",
        basis="both",
        stall=Means(),
        engagement=Means(),
        delta=Delta(),
        reasons=("engagement-better",) if outcome == "kept" else ("engagement-not-better",),
        prediction_held=None,
        restored_version=None,
        config_sha256=CONFIG,
        fitness_head=AnchoredHead(seq=0, sha256="0" * 64),
    )


@dataclass
class Laboratory:
    """`changes` over real files under `root`. `open` it again after a kill."""

    root: Path
    stores: Stores
    scaffold: Scaffold
    changes: Changes
    told: int = 0

    @property
    def prompt(self) -> Path:
        return self.stores.agent.scaffold / PROMPT

    def text(self) -> str:
        return self.prompt.read_text()

    async def judged(self, outcome: VerdictOutcome, number: int = 1) -> None:
        """As the judge's desk does: the verdict's line first, then what it says."""
        await self.stores.append("judgment-ledger", a_judgment(outcome, number))
        await self.changes.settle()

    async def close(self) -> None:
        await self.stores.close()


def a_laboratory(
    root: Path, disk: Disk = SYSTEM_DISK, clock: FakeClock | None = None
) -> Laboratory:
    """Open or make one."""
    clock = clock or FakeClock()
    home = Home(root)
    agent = home.agent("main")
    ensure_home(home, agent)
    stores = open_stores(home, agent, clock, disk, InlineThreads())
    scaffold = Scaffold(
        agent.scaffold,
        agent.scaffold_versions,
        agent.state / "scaffold-seen.json",
        packaged_defaults(),
        disk,
    )

    def look(now: object) -> ScaffoldState:
        del now
        return scaffold.observe(clock.wall())

    look(None)
    changes = Changes(
        stores=stores,
        scaffold=scaffold,
        look_at_scaffold=look,
        config_sha256=CONFIG,
        changed=lambda: None,
        autonomy=lambda: "full",
    )
    return Laboratory(root, stores, scaffold, changes)
