"""What the tests of the jail share: a hostile child, and waiting for the end of things."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from gnomon.trust.jail import Child

HOSTILE, IDLE = "gnomon.testing.hostile_child", "gnomon.testing.idle_child"
BOUND = 30.0
"""Seconds that anything may take before it counts as hanging."""
Start = Callable[..., Awaitable[Child]]
"""`start(role, grants, module=, serve=, environment=)` at the level of the fixture `level`."""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def kernel() -> tuple[int, ...]:
    return tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])


async def shell(child: Child, command: str) -> dict[str, Any]:
    done: Any = await child.peer.call("do", {"does": "shell", "command": command}, timeout=BOUND)
    return done


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(BOUND):
        while not true():
            await asyncio.sleep(0.01)


async def ends(mark: Path) -> None:
    """Until a file that a program makes anew all the time stays away."""
    async with asyncio.timeout(BOUND):
        while True:
            mark.unlink(missing_ok=True)
            await asyncio.sleep(0.25)
            if not mark.exists():
                return
