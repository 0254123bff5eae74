"""Watching 10^5 session files of another agent: an idle watch, and how soon an append is seen.

The floor is a process that sleeps in `read` on a bare inotify with the same watches.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench.processes import cost, running
from bench.row import Row, bounded
from gnomon.clock import SystemClock
from gnomon.daemon.watch.inotify import Change
from gnomon.daemon.watch.watching import Watching
from gnomon.domain.views_history import ImportRow

FOLDERS = 1_000
FILES = 100
SETTLE_SECONDS = 1.0
WINDOW_SECONDS = 60.0
QUICK_SECONDS = 10.0
MINUTE = 60.0
APPENDS = 50
CPU_BUDGET_MS = 7.0
"""A minute: twice what page 9 measured of a bare inotify (3.5 ms). Either may be nothing at all."""
SEEN_BUDGET_MS = 5.0

WATCHED = """
import asyncio, json, sys
from pathlib import Path
from gnomon.clock import SystemClock
from gnomon.daemon.watch.watching import Watching

async def main():
    watching = Watching(
        environ={}, user_home=Path(sys.argv[1]), read=None, now=SystemClock().wall,
        seen=lambda: None, say=print,
    )
    watching.start()
    print(json.dumps({"folders": watching.view().folders}), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
BARE = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
fd = libc.inotify_init1(0)
for root, _, _ in os.walk(sys.argv[1]):
    libc.inotify_add_watch(fd, os.fsencode(root), 0x2)
print("{}", flush=True)
while True:
    os.read(fd, 65536)
"""


def rows(quick: bool) -> list[Row]:
    """Budgets are page 9's."""
    window = QUICK_SECONDS if quick else WINDOW_SECONDS
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        sessions = histories(home)
        with (
            running([sys.executable, "-c", WATCHED, folder]) as (ours, told, _),
            running([sys.executable, "-S", "-c", BARE, folder]) as (floor, _, _),
        ):
            assert told["folders"] == FOLDERS + 1, told
            time.sleep(SETTLE_SECONDS)
            before = cost(ours), cost(floor)
            time.sleep(window)
            after = cost(ours), cost(floor)
        seen = asyncio.run(seen_after(home, sessions))
    scale = MINUTE / window
    cpu = [(b.cpu_ns - a.cpu_ns) * scale / 1e6 for a, b in zip(before, after, strict=True)]
    wakes = [(b.wake_ups - a.wake_ups) * scale for a, b in zip(before, after, strict=True)]
    return [
        bounded("watching 10^5 files, CPU a minute", cpu[0], cpu[1], CPU_BUDGET_MS, "ms"),
        bounded("watching 10^5 files, wake-ups a minute", wakes[0], wakes[1], 1.0, ""),
        bounded("an append to one of them is seen in", seen, 0.0, SEEN_BUDGET_MS, "ms"),
    ]


def histories(home: Path) -> list[Path]:
    """A history of 10^5 sessions, in a thousand projects; one session of each."""
    found: list[Path] = []
    for number in range(FOLDERS):
        project = home / ".claude" / "projects" / f"-project-{number}"
        project.mkdir(parents=True)
        for each in range(FILES):
            (project / f"{each}.jsonl").touch()
        found.append(project / "0.jsonl")
    return found


class _Heard(Watching):
    """Tells when it heard of a change."""

    def _changed(self, change: Change) -> None:
        super()._changed(change)
        self.heard.set()

    heard: asyncio.Event


async def seen_after(home: Path, sessions: list[Path]) -> float:
    """Milliseconds from an append to its being known here, the median of many."""

    async def read(paths: list[str]) -> list[ImportRow]:
        del paths
        return []

    watching = _Heard(
        environ={},
        user_home=home,
        read=read,
        now=SystemClock().wall,
        seen=lambda: None,
        say=print,
    )
    watching.heard = asyncio.Event()
    watching.start()
    times: list[float] = []
    for session in sessions[:APPENDS]:
        watching.heard.clear()
        began = time.perf_counter()
        with session.open("a") as file:
            file.write("{}\n")
        await watching.heard.wait()
        times.append((time.perf_counter() - began) * 1000)
    watching.stop()
    return statistics.median(times)
