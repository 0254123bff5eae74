"""An idle Gnomon beside a bare asyncio server, over the same minute.

Idle: the dashboard listens and nobody is connected, no model is loaded, and the beat beats.
All processes count. The model is `none`, so that no reflection falls into the minute.
"""

import tempfile
import time
from pathlib import Path

from bench.processes import Cost, bare_server, cost, daemon, running
from bench.row import Row, bounded

SETTLE_SECONDS = 5.0
WINDOW_SECONDS = 60.0
QUICK_SECONDS = 15.0
MINUTE = 60.0
MEGABYTE = 1_000_000


def rows(quick: bool) -> list[Row]:
    """CPU, wake-ups and memory; budgets are page 9's."""
    window = QUICK_SECONDS if quick else WINDOW_SECONDS
    with (
        tempfile.TemporaryDirectory() as folder,
        running(daemon(Path(folder) / "home"), {"GNOMON_MODEL": "none"}) as (ours, _, _),
        running(bare_server()) as (floor, _, _),
    ):
        time.sleep(SETTLE_SECONDS)
        before = cost(ours), cost(floor)
        time.sleep(window)
        after = cost(ours), cost(floor)
    scale = MINUTE / window
    cpu = [(b.cpu_ns - a.cpu_ns) * scale / 1e6 for a, b in zip(before, after, strict=True)]
    wakes = [_wake_ups(a, b) * scale for a, b in zip(before, after, strict=True)]
    pss = [each.pss / MEGABYTE for each in after]
    return [
        bounded("idle, CPU a minute", cpu[0], cpu[1], 5.0, "ms"),
        bounded("idle, wake-ups a minute", wakes[0], wakes[1], 6.0, ""),
        bounded("idle, memory (PSS)", pss[0], pss[1], 64.0, "MB"),
    ]


def _wake_ups(before: Cost, after: Cost) -> int:
    return after.wake_ups - before.wake_ups
