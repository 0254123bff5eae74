"""How often the red team tried, and how often it got through: counted by the tests that try.

Each test says what it tried under one of the lines below; a run's counts stand in
build/redteam.json, and `python -m docs.generate` prints them in docs/trust.md. What is tried with
a defence switched off is not counted: there it must get through.
"""

import fcntl
import json
from pathlib import Path

RECORD = Path(__file__).resolve().parents[2] / "build" / "redteam.json"
LINES: dict[str, str] = {
    "refiner": "Write, run or connect as the refiner",
    "versions": "Overwrite, delete or forge a prior version",
    "ledger": "Read, size or watch the engagement-ledger",
    "laundering": "Bring the measure into a prompt",
    "artifact": "Be read by opening or touching one's own artifact",
    "ack": "Forge the operator's word over loopback",
    "approvals": "Decide a held action, or have another done than was held",
    "config": "Put the missing rules of the measure there",
    "history": "Rewrite, rehash or roll back a ledger unseen",
}
"""What was tried, by a short name."""


def tally(line: str, test: str, attempts: int, successes: int) -> None:
    """Note what one test tried. Several processes may note at once."""
    if line not in LINES:
        raise KeyError(line)
    RECORD.parent.mkdir(exist_ok=True)
    with RECORD.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        noted: dict[str, dict[str, list[int]]] = json.loads(text) if text else {}
        noted.setdefault(line, {})[test] = [attempts, successes]
        file.truncate(0)
        file.write(json.dumps(noted, indent=1, sort_keys=True) + "\n")


def totals(text: str) -> dict[str, tuple[int, int]]:
    """Attempts and successes of each line, from a record's text."""
    noted: dict[str, dict[str, list[int]]] = json.loads(text)
    return {
        line: (
            sum(counts[0] for counts in tests.values()),
            sum(counts[1] for counts in tests.values()),
        )
        for line, tests in noted.items()
    }
