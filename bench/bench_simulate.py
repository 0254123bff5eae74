"""How long simulated days take, with every stage: page 9's 30 days in at most 30 s.

The floor is a bare loop over the same ticks, each a chained line as a ledger has it: hash,
encode, write to a file, no sync.
"""

import hashlib
import json
import tempfile
import time

from bench.row import Row, bounded
from gnomon.domain.instants import DAY, MINUTE, Millis, iso
from gnomon.simulate.world import START, Plan, simulate

DAYS, QUICK_DAYS = 30, 3
TICK = 2 * MINUTE


def rows(quick: bool) -> list[Row]:
    """One seed, the ordinary operator, no faults."""
    days = QUICK_DAYS if quick else DAYS
    floor = _bare(days)
    lived = simulate(Plan(days=days, seed=1))
    assert not lived.violations, lived.violations
    return [bounded(f"{days} simulated days, every stage", lived.seconds, floor, float(days), "s")]


def _bare(days: int) -> float:
    began = time.perf_counter()
    prev = "0" * 64
    with tempfile.TemporaryFile() as file:
        for seq, at in enumerate(range(START, START + days * DAY, TICK), start=1):
            line = {"at": iso(Millis(at)), "kind": "tick", "prev": prev, "schema": 1, "seq": seq}
            raw = json.dumps(line, separators=(",", ":"), sort_keys=True).encode()
            prev = hashlib.sha256(raw).hexdigest()
            file.write(raw + b"\n")
    return time.perf_counter() - began
