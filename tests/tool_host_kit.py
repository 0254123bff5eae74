"""A real tool host in a real jail, run through a list of calls: `python -m tests.tool_host_kit`.

A program of its own, so that a test can run it as root and as an ordinary user. Reads a
`Plan` as JSON from its input and writes every call's `Result`.
"""

import asyncio
import os
import sys
from functools import partial
from pathlib import Path
from typing import cast

import msgspec

from gnomon.agent.outcome import Outcome
from gnomon.agent.places import HostArgument
from gnomon.brokers.tool_jail import start_tool_host
from gnomon.domain.json_value import Fields
from gnomon.domain.views import Folder, JailLevel
from gnomon.trust import jail


class Asked(msgspec.Struct, frozen=True):
    """`{gateway}` in a command is replaced by this program's process id."""

    key: str
    tool: str
    arguments: dict[str, object]


class Plan(msgspec.Struct, frozen=True):
    workspace: str
    folders: tuple[Folder, ...]
    level: JailLevel
    calls: tuple[Asked, ...]


class Result(msgspec.Struct, frozen=True):
    text: str
    error: str | None
    seconds: float


class Report(msgspec.Struct, frozen=True):
    level: JailLevel
    user: int
    results: dict[str, Result]
    most_kilobytes: int
    """The most memory that the host ever held."""
    strays: int
    """Processes with the marker of `sleep` that are alive once the host has ended."""


MARKER = "98761.25"
"""Seconds that the tests' sleeps last: no other program sleeps for so long."""


async def play(plan: Plan) -> Report:
    argument = HostArgument(workspace=plan.workspace, folders=plan.folders)
    host = await start_tool_host(partial(jail.start, level=plan.level), argument)
    results: dict[str, Result] = {}
    loop = asyncio.get_running_loop()
    for call in plan.calls:
        arguments = {
            name: value.replace("{gateway}", str(os.getpid())) if isinstance(value, str) else value
            for name, value in call.arguments.items()
        }
        began = loop.time()
        async with asyncio.timeout(60):
            request = cast(Fields, {"name": call.tool, "arguments": arguments})
            answer = msgspec.convert(await host.peer.call("tool", request), Outcome)
        results[call.key] = Result(answer.text, answer.error, loop.time() - began)
    most = _most_kilobytes(host.pid)
    await host.stop(1)
    return Report(plan.level, os.getuid(), results, most, sum(1 for _ in _sleeping()))


def _most_kilobytes(pid: int) -> int:
    for row in Path(f"/proc/{pid}/status").read_text().splitlines():
        if row.startswith("VmHWM:"):
            return int(row.split()[1])
    return 0


def _sleeping() -> list[int]:
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue  # it ended since it was listed
            if command.startswith(b"sleep\0" + MARKER.encode()):
                found.append(int(folder.name))
    return found


if __name__ == "__main__":
    report = asyncio.run(play(msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)))
    sys.stdout.buffer.write(msgspec.json.encode(report))
