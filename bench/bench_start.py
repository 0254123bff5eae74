"""From the command to the ready line, on a new home, beside a bare web server's start."""

import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.processes import daemon, running
from bench.row import Row, bounded

TIMES, QUICK_TIMES = 7, 3

BARE_WEB_SERVER = """
import asyncio
from aiohttp import web

async def main():
    runner = web.AppRunner(web.Application())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print("{}", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def rows(quick: bool) -> list[Row]:
    """Ours and the floor by turns, so that a busy moment meets both."""
    ours: list[float] = []
    floor: list[float] = []
    for _ in range(QUICK_TIMES if quick else TIMES):
        with tempfile.TemporaryDirectory() as folder:
            command = daemon(Path(folder) / "home")
            with running(command, {"GNOMON_MODEL": "none"}) as (_, _, seconds):
                ours.append(seconds)
        with running([sys.executable, "-P", "-c", BARE_WEB_SERVER]) as (_, _, seconds):
            floor.append(seconds)
    return [bounded("start to ready", median(ours), median(floor), 1.0, "s")]
