"""The judge as a process of its own, in its real jail."""

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from gnomon.domain.json_value import Fields
from gnomon.domain.policy import Role
from gnomon.testing.hostile_home import SPARE, HomeTargets
from gnomon.testing.hostile_loopback import Door
from gnomon.trust import jail
from gnomon.trust.ipc import Serve
from gnomon.trust.jail import Grants
from tests.change_kit import CANDIDATE
from tests.court_kit import Court, a_court
from tests.jail_kit import HOSTILE

pytestmark = [pytest.mark.system, pytest.mark.needs("jail-full")]


@pytest_asyncio.fixture
async def court(tmp_path: Path) -> AsyncIterator[Court]:
    """A change that waits for its verdict, and a desk that starts real processes."""
    made = a_court(tmp_path / "home")

    async def start(
        role: Role, module: str, argument: Fields, grants: Grants, *, serve: Serve | None
    ) -> jail.Child:
        made.grants.append(grants)
        return await jail.start(role, module, argument, grants, serve=serve)

    made.desk._platform = replace(made.desk._platform, start_child=start)
    await made.tested(0.4, 0.6)
    yield made
    await made.close()


async def test_the_judge_decides_in_its_jail_and_cannot_read_the_engagement_ledger(
    court: Court,
) -> None:
    await court.run()
    assert (court.outcomes(), court.status) == (["kept"], "kept")
    assert court.lab.text() == CANDIDATE
    [grants] = court.grants
    agent = court.lab.stores.agent
    child = await jail.start("judge", HOSTILE, {}, grants, serve=None)
    try:
        granted = await attacked(child, agent.fitness_ledger)
        assert granted["ledger/path"]["open"], "what it may read, it reads"
        assert not granted["ledger/folder"]["open"]
        for path in (agent.engagement_ledger, agent.decision_ledger, agent.judgment_ledger):
            tried = await attacked(child, path)
            assert len(tried) > 10
            assert [name for name, came in tried.items() if came["open"]] == []
    finally:
        await child.stop(1)


async def attacked(child: jail.Child, path: Path) -> dict[str, Any]:
    """Every way to a ledger that there is: by path, by descriptor, by /proc, size and watch."""
    targets = HomeTargets(
        versions=("/nowhere",) * SPARE,
        seen="/nowhere",
        ledger=str(path),
        ledger_inode=path.stat().st_ino,
        folder_inode=path.parent.stat().st_ino,
        descriptor=0,
        config="/nowhere",
        artifact="/nowhere",
        gateway=os.getpid(),
        door=Door(port=9, surface="", cookie="", token_file="/nowhere", client=""),
    )
    asked: Fields = {"does": "home", "targets": msgspec.to_builtins(targets), "groups": ["ledger"]}
    found: Any = await child.peer.call("do", asked)
    return found
