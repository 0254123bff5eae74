"""[Keep watching] on a real core: what another agent writes is heard, read in the jail, and counts
as somebody's being here.
"""

import asyncio
import json
from pathlib import Path

import pytest

from gnomon.daemon.acts import Acts
from gnomon.daemon.operations import table
from gnomon.domain.errors import UsageError
from gnomon.domain.instants import iso
from gnomon.gateway.door import Door, entered
from gnomon.gateway.operation import Nothing
from gnomon.gateway.request import arguments_of_fields
from tests.live_kit import LiveGateway, a_live_gateway
from tests.world_kit import alive

pytestmark = pytest.mark.system
BOUND = 20.0


def said(at: str, text: str) -> str:
    record = {
        "type": "user",
        "uuid": f"u-{text}",
        "sessionId": "s",
        "timestamp": at,
        "message": {"role": "user", "content": text},
    }
    return json.dumps(record) + "\n"


async def acted(live: LiveGateway, *, on: bool) -> str:
    operation = table(live.core, Acts(live.core, alive()))["history.watch"]
    with entered(Door("operator", "dashboard")):
        done = await operation.run(arguments_of_fields(operation, {"on": on}), lambda _: None)
    return done.detail


def turns(live: LiveGateway) -> list[str]:
    lines = live.lines(live.core.agent.observations_imported)
    return [line["task"] for line in lines if line["kind"] == "observation"]


async def test_a_turn_that_another_agent_was_given_is_heard_read_and_means_presence(
    tmp_path: Path,
) -> None:
    async with a_live_gateway(tmp_path / "home") as live:
        core = live.core
        before = core.home.config.read_text()
        core.watching.user_home = tmp_path
        with pytest.raises(UsageError, match="no history"):
            await acted(live, on=True)
        assert core.home.config.read_text() == before
        session = tmp_path / ".claude" / "projects" / "-p" / "s.jsonl"
        session.parent.mkdir(parents=True)
        now = iso(core.platform.clock.wall())
        session.write_text(said(now, "an old question"))
        assert await acted(live, on=True) == "Other agents' histories are read on as they grow."
        assert "watch = true" in core.home.config.read_text()
        await core.watching.read_changed()
        assert turns(live) == ["an old question"]
        core.watching._read_at = None
        core.presence = core.presence.seen(core.presence.last_at, "command")
        with session.open("a") as file:
            file.write(said(now, "no, use pnpm"))
        async with asyncio.timeout(BOUND):
            while not core.watching.is_due():
                await asyncio.sleep(0.001)
        await core.watching.read_changed()
        assert turns(live) == ["an old question", "no, use pnpm"]
        assert core.presence.last_sign == "other-agent"
        assert "Other agents went on: 1 new turns were read." in core.agent.journal.read_text()
        assert live.outcomes() == []
        looks = table(core, Acts(core))["history.watching"]
        assert (await looks.run(Nothing(), lambda _: None)).on
        await acted(live, on=False)
        assert "watch = false" in core.home.config.read_text()
        assert not core.watching.is_on


async def test_what_the_operator_said_once_holds_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".codex" / "sessions").mkdir(parents=True)
    root = tmp_path / "home"
    root.mkdir()
    (root / "config.toml").write_text("[observe]\nwatch = true\n")
    async with a_live_gateway(root) as live:
        assert live.core.watching.view().folders == 1
    assert not live.core.watching.is_on
