"""The whole way of a tool call: the loop, the broker, a real host in a real jail."""

import asyncio
import os
import signal
from pathlib import Path

import msgspec
import pytest

from gnomon.agent import loop
from gnomon.agent.outcome import Outcome
from gnomon.agent.places import HostArgument
from gnomon.brokers.held_writes import HeldWrite
from gnomon.brokers.tool import ToolBroker, ToolGrant
from gnomon.brokers.tool_hosts import ToolHosts
from gnomon.brokers.tool_jail import start_tool_host
from gnomon.clock import SystemClock
from gnomon.domain.json_value import Fields
from gnomon.domain.messages import ToolCall
from gnomon.domain.views import Source
from gnomon.testing.agent import Bench
from gnomon.testing.models import ScriptedModel, calls, says
from gnomon.trust import jail

pytestmark = [pytest.mark.system, pytest.mark.needs("jail-full", "git")]

COUNT = "ls /proc | grep -c '^[0-9]'"
TOOLS = ("read", "write", "edit", "list", "search", "shell")


class Gateway:
    """The gateway's half: the broker, and the children it started."""

    def __init__(self, workspace: Path) -> None:
        self.children: list[jail.Child] = []
        self.broker = ToolBroker(
            ToolHosts(self._start, SystemClock()),
            lambda _: ToolGrant(frozenset(TOOLS), workspace),
            lambda: "off",
            self._recall,
            self._hold,
        )

    async def _start(self, argument: HostArgument) -> jail.Child:
        self.children.append(await start_tool_host(jail.start, argument))
        return self.children[-1]

    async def _hold(self, asked: HeldWrite) -> Outcome:
        raise AssertionError(f"nothing is granted for reading: {asked.target}")

    async def _recall(self, _query: str, _limit: int) -> tuple[Source, ...]:
        return ()

    async def run(self, name: str, arguments: Fields) -> Outcome:
        """As the agent's `Tools` port."""
        call = ToolCall(id="", name=name, arguments=msgspec.json.encode(arguments).decode())
        return await self.broker.run("resident", "run-1", "agent-1", call)


async def test_an_agent_works_in_its_workspace_and_its_host_ends_with_the_run(tmp_path: Path):
    gateway = Gateway(tmp_path)
    model = ScriptedModel(
        [
            calls(("write", {"path": "a.txt", "content": "one\n"})),
            calls(("edit", {"path": "a.txt", "old": "one", "new": "two"})),
            calls(
                ("shell", {"command": "git init -q . && git add a.txt && git commit -qm first"}),
                ("shell", {"command": "cat /etc/shadow"}),
            ),
            calls(("shell", {"command": "git log --format=%s; cat a.txt"})),
            says("Done."),
        ]
    )
    bench = Bench(model, gateway, grants=TOOLS)
    result = await asyncio.wait_for(loop.run(bench.working(), bench.ports()), 60)
    assert (result.text, result.stop_reason) == ("Done.", "done")
    assert result.tools == {"write": 1, "edit": 1, "shell": 3}
    assert [failure.code for failure in result.failures] == ["EXIT_NONZERO"]
    assert "first\ntwo" in model.requests[-1].messages[-1].content
    assert (tmp_path / "a.txt").read_text() == "two\n"
    (child,) = gateway.children
    assert child.level == "full"
    assert len([step for step in bench.log if "text" in step.entry]) == 5
    await gateway.broker.end_run("run-1")
    await asyncio.wait_for(child.wait(), 10)


async def test_a_host_that_is_killed_is_said_and_started_again_once(tmp_path: Path):
    gateway = Gateway(tmp_path)
    sleeping: Fields = {"command": "touch began; sleep 60"}
    for _ in range(2):
        (tmp_path / "began").unlink(missing_ok=True)
        under_way = asyncio.create_task(gateway.run("shell", sleeping))
        async with asyncio.timeout(20):
            while not (tmp_path / "began").exists():
                await asyncio.sleep(0.01)
        os.kill(gateway.children[-1].pid, signal.SIGKILL)
        assert (await asyncio.wait_for(under_way, 20)).error == "TOOL_DIED"
    assert (await gateway.run("list", {})).error == "TOOL_DIED"
    assert len(gateway.children) == 2
    await gateway.broker.close()


async def test_a_cancelled_run_ends_its_command_and_keeps_its_host(tmp_path: Path):
    gateway = Gateway(tmp_path)
    command = "touch began; sleep 60; touch late"
    bench = Bench(ScriptedModel([calls(("shell", {"command": command}))]), gateway, grants=TOOLS)
    working = bench.working()
    running = asyncio.create_task(loop.run(working, bench.ports()))
    async with asyncio.timeout(20):
        while not (tmp_path / "began").exists():
            await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    alone = "4"  # the host, the command, and its pipe's two
    async with asyncio.timeout(20):
        while (await gateway.run("shell", {"command": COUNT})).text != alone:
            await asyncio.sleep(0.01)
    assert working.result("cancelled", 1.0).tools == {"shell": 1}
    await gateway.broker.close()
