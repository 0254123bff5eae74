"""The resident in its real jail: it lives, ticks, talks and ends, and stays small."""

import asyncio
import re
from pathlib import Path

import pytest

from gnomon.domain.plain import fields, read
from gnomon.domain.records import Reflection, Started, Stopped, Turn
from gnomon.domain.views import JailLevel
from gnomon.resident.protocol import (
    ModelFacts,
    ScaffoldText,
    Spawn,
    TickArguments,
    TickReply,
    TurnArguments,
)
from gnomon.scaffold.defaults import packaged_defaults
from gnomon.testing.clock import START
from gnomon.testing.gateway import RESIDENT_MANIFEST, FakeGateway
from gnomon.testing.models import ScriptedModel
from gnomon.trust import jail
from tests.capabilities import has

pytestmark = pytest.mark.system
LEVELS: list[JailLevel] = [
    level for level in ("full", "partial") if level == "partial" or has("jail-full")
]

THOUGHT = (
    '{"focus":"f","desired_action":"rest","summary":"","concerns":[],"interests":[],'
    '"open_questions":[],"candidate_items":[],"active_item":null}'
)
SPAWN = Spawn(
    agent="agent-1",
    version="0",
    mode="soft",
    effective_mode="soft",
    model=ModelFacts(name="scripted", kind="local"),
    manifest=RESIDENT_MANIFEST,
    autonomy="full",
    scaffold=ScaffoldText(version="000001-0", files=packaged_defaults()),
    now=START,
)


@pytest.mark.parametrize("level", LEVELS)
async def test_it_lives_in_its_jail(level: JailLevel) -> None:
    gateway = FakeGateway(ScriptedModel([THOUGHT, "answered"]))
    async with asyncio.timeout(60):
        child = await jail.start(
            "resident",
            "gnomon.resident.main",
            fields(SPAWN),
            jail.Grants(),
            serve=gateway.answer,
            level=level,
        )
    try:
        await _live(gateway, child)
    finally:
        await child.stop(5)


async def _live(gateway: FakeGateway, child: jail.Child) -> None:
    tick = TickArguments(now=START, scaffold=None, skip_reason=None, operator_present=True)
    turn = TurnArguments(session="s", turn=1, text="hello", history=(), model_kind="local")
    async with asyncio.timeout(60):
        assert read(await child.peer.call("tick", fields(tick)), TickReply).reflected
        reply = await child.peer.call("turn", fields(turn), on_part=gateway.parts.append)
        assert isinstance(reply, dict)
        assert (reply["reply"], gateway.streamed()) == ("answered", "answered")
        status = Path(f"/proc/{child.pid}/smaps_rollup").read_text()
        await child.peer.call("stop", {"reason": "enough"})
    kinds = [type(line.body) for line in gateway.lines]
    assert kinds[0] is Started
    assert {Reflection, Turn} <= set(kinds)
    assert kinds[-1] is Stopped
    private = sum(
        int(kib) for kib in re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+)", status, re.MULTILINE)
    )
    assert private < 40 * 1024, f"{private} KiB of its own"
