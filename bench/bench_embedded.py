"""How long the embedded model takes for three reflections of a real daemon that looks around every
5 s, from its ready line on. The floor is three ticks.
"""

import tempfile
import time
from pathlib import Path

from bench.processes import daemon, running
from bench.row import Row, bounded
from gnomon.home import Home

TICK_SECONDS = 5.0
REFLECTIONS = 3
BUDGET_SECONDS = 90.0
"""The first issue: three within 90 s of ready."""
PATIENCE = 600.0
REFLECTION = b'"kind":"reflection"'


def rows(quick: bool) -> list[Row]:
    """One life: the model is loaded in it."""
    del quick
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        home.root.mkdir()
        config = f"[kernel]\ntick_ms = {TICK_SECONDS * 1_000:.0f}\n"
        (home.root / "config.toml").write_text(config)
        ledger = home.agent("main").decision_ledger
        with running(daemon(home.root), {"GNOMON_MODEL": "embedded"}):
            seconds = _until(ledger)
    floor = TICK_SECONDS * REFLECTIONS
    what = "three reflections, embedded model"
    return [bounded(what, seconds, floor, BUDGET_SECONDS, "s")]


def _until(ledger: Path) -> float:
    began = time.monotonic()
    while ledger.read_bytes().count(REFLECTION) < REFLECTIONS:
        if time.monotonic() - began > PATIENCE:
            raise TimeoutError(f"not {REFLECTIONS} reflections within {PATIENCE:.0f} s")
        time.sleep(0.2)
    return time.monotonic() - began
