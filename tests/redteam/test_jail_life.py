"""A child that dies, hangs, floods, fails or eats memory, and a gateway that is killed: in a
real jail, in this process.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gnomon.domain.errors import GnomonError, PipeError, TrustError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.views import JailLevel
from gnomon.trust import jail
from gnomon.trust.jail import Grants
from gnomon.trust.roles import MIB
from tests.jail_kit import BOUND, HOSTILE, IDLE, Start, alive, ends, until

pytestmark = pytest.mark.redteam


async def test_a_child_answers_with_what_it_was_started_with(start: Start) -> None:
    child = await start(module=IDLE)
    reply = await child.call("x", {"a": 1})
    assert reply == {"op": "x", "args": {"a": 1}, "argument": {"n": 1}}


async def test_an_argument_of_megabytes_arrives(level: JailLevel) -> None:
    argument = {"scaffold": "é" * (3 * MIB)}
    child = await jail.start("resident", IDLE, argument, Grants(), serve=None, level=level)
    reply: Any = await child.call("x", {})
    assert reply["argument"] == argument
    await child.stop(5)


async def test_a_child_ends_by_itself_when_the_pipe_does(start: Start) -> None:
    child = await start(module=IDLE)
    await child.stop(BOUND)
    assert await child.wait() == 0
    assert not alive(child.pid)


async def test_a_child_that_dies_is_an_error_of_its_callers_and_has_its_code(start: Start) -> None:
    child = await start()
    with pytest.raises(PipeError):
        await child.peer.call("do", {"does": "die"}, timeout=BOUND)
    async with asyncio.timeout(BOUND):
        assert await child.wait() == 7


async def test_a_child_that_is_killed_has_the_signal_as_its_code(start: Start) -> None:
    child = await start()
    call = asyncio.create_task(child.peer.call("do", {"does": "hang"}))
    os.kill(child.pid, signal.SIGKILL)
    async with asyncio.timeout(BOUND):
        assert await child.wait() == -signal.SIGKILL
        with pytest.raises(PipeError):
            await call


async def test_a_child_that_hangs_is_late_and_then_killed(start: Start) -> None:
    child = await start()
    with pytest.raises(PipeError) as caught:
        await child.peer.call("do", {"does": "hang"}, timeout=0.2)
    assert caught.value.facts["reason"] == "timeout"
    async with asyncio.timeout(BOUND):
        await child.stop(0.1)
    assert await child.wait() == -signal.SIGKILL


async def test_a_child_that_floods_is_read_as_fast_as_it_is_heard_and_can_be_stopped(
    start: Start,
) -> None:
    child = await start()
    heard = 0
    enough = asyncio.Event()

    def hear(part: Json) -> None:
        nonlocal heard
        heard += 1
        if heard >= 20:
            enough.set()

    call = asyncio.create_task(child.peer.call("do", {"does": "flood"}, on_part=hear))
    async with asyncio.timeout(BOUND):
        await asyncio.wait(
            {asyncio.create_task(enough.wait()), call}, return_when="FIRST_COMPLETED"
        )
        await child.stop(0.1)
        with pytest.raises(GnomonError):
            await call


async def test_memory_over_the_bound_of_the_role_is_refused(start: Start) -> None:
    child = await start()
    small = await child.call("do", {"does": "memory", "bytes": 64 * MIB})
    large = await child.call("do", {"does": "memory", "bytes": 1024 * MIB})
    assert (small, large) == (True, False)


async def test_what_a_role_may_not_ask_is_refused_before_anyone_answers(start: Start) -> None:
    asked: list[str] = []

    async def answer(op: str, _args: Fields, _part: Callable[[Json], None]) -> Json:
        asked.append(op)
        return {}

    child = await start("importer", serve=answer)
    for op, args in (
        ("ledger.append", {"name": "decision-ledger", "kind": "tick"}),
        ("model.complete", {}),
        ("engagement.emit", {}),
    ):
        with pytest.raises(TrustError):
            await child.call("ask", {"op": op, "args": args})
    resident = await start("resident", serve=answer)
    append = {"name": "engagement-ledger", "kind": "outcome"}
    with pytest.raises(TrustError):
        await resident.call("ask", {"op": "ledger.append", "args": append})
    assert asked == []
    await resident.call("ask", {"op": "recall", "args": {"query": "x"}})
    assert asked == ["recall"]


async def test_a_failure_inside_a_child_reaches_the_gateway_with_its_trace(start: Start) -> None:
    child = await start()
    with pytest.raises(GnomonError):
        await child.call("no-such-operation", {})
    async with asyncio.timeout(BOUND):
        while not child.faults:
            await child.call("do", {"does": "memory", "bytes": 1})
    assert "KeyError" in child.faults[0]


async def test_a_module_that_cannot_load_says_why(start: Start) -> None:
    child = await start(module="gnomon.no_such_module")
    async with asyncio.timeout(BOUND):
        assert await child.wait() == 1
    assert "No module named" in child.faults[0]


async def test_when_the_gateway_is_killed_nothing_of_it_lives_on(
    level: JailLevel, tmp_path: Path
) -> None:
    mark = tmp_path / "alive"
    code = f"""
import asyncio, sys
from importlib import resources
from pathlib import Path
from gnomon.trust import jail
async def main():
    grants = jail.Grants(write=(Path({str(tmp_path)!r}),))
    child = await jail.start("tool-host", {HOSTILE!r}, {{}}, grants, serve=None, level={level!r})
    idle = await jail.start("resident", {IDLE!r}, {{}}, jail.Grants(), serve=None, level={level!r})
    loop = "while :; do touch {mark}; sleep 0.02; done"
    background = f"(setsid sh -c '{{loop}}' &) >/dev/null 2>&1 </dev/null"
    await child.call("do", {{"does": "shell", "command": background}})
    print(child.pid, idle.pid, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
    gateway = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=subprocess.PIPE
    )
    assert gateway.stdout is not None
    pids = [int(number) for number in (await gateway.stdout.readline()).split()]
    await until(mark.exists)
    gateway.kill()
    await gateway.wait()
    await until(lambda: not any(map(alive, pids)))
    await ends(mark)
