"""Twenty real SIGKILLs of a process that appends and says which lines were acknowledged."""

import asyncio
import random
import subprocess
import sys
import time
from pathlib import Path

from gnomon.clock import SystemClock
from gnomon.domain.records import DecisionBody
from gnomon.home import Home
from gnomon.ledger.file import LedgerFile
from gnomon.ledger.opening import inspect
from gnomon.ledger.reading import LedgerReader
from gnomon.ledger.verify import verify
from gnomon.statefile import read_state
from tests.ledger_kit import versions

KILLS = 20
WRITER = """
import asyncio, itertools, os, sys
from pathlib import Path
from gnomon.clock import SystemClock
from gnomon.domain.records import DecisionBody, Tick
from gnomon.ledger.file import LedgerFile
from gnomon.statefile import write_state

def say(text):
    print(text, file=sys.stderr)

async def main():
    path, state = Path(sys.argv[1]), Path(sys.argv[2])
    ledger = LedgerFile.open(path, "decision-ledger", DecisionBody, SystemClock(), say)
    numbers = itertools.count(int(sys.argv[3]))

    async def write():
        while True:
            number = next(numbers)
            filler = "x" * (number % 5000)
            ack = await ledger.append(Tick(scaffold_version=f"{number:06d}-{filler}"))
            os.write(1, f"{number} {ack.seq} {ack.sha256}\\n".encode())
            if number % 10 == 0:
                write_state(state, {"acknowledged": number})

    await asyncio.gather(*(write() for _ in range(8)))

asyncio.run(main())
"""


def test_what_was_acknowledged_before_a_kill_is_there_once_and_nothing_else_is_doubled(
    home: Home,
) -> None:
    path = home.agent("ada").decision_ledger
    state = home.agent("ada").state / "progress.json"
    moments = random.Random(20)
    acknowledged: dict[int, tuple[int, str]] = {}
    for kill in range(KILLS):
        start = 40_000 * kill
        told = run_and_kill(path, state, start, moments.uniform(0.02, 0.2))
        acknowledged |= told
        check(home, path, acknowledged)
        progress = read_state(state, dict[str, int])
        assert progress is None or progress["acknowledged"] < start + 40_000
    assert len(acknowledged) > KILLS
    asyncio.run(opened_and_closed(path))
    check(home, path, acknowledged)
    assert verify(home).ok


async def opened_and_closed(path: Path) -> None:
    ledger = LedgerFile.open(path, "decision-ledger", DecisionBody, SystemClock(), print)
    await ledger.close()


def run_and_kill(path: Path, state: Path, start: int, after: float) -> dict[int, tuple[int, str]]:
    """Run a writer, kill it some time after its first acknowledgement; what it was told."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(state), str(start)], stdout=subprocess.PIPE
    )
    assert writer.stdout is not None
    first = writer.stdout.readline()
    assert first
    time.sleep(after)
    writer.kill()
    rest, _ = writer.communicate(timeout=30)
    *lines, _torn = (first + rest).split(b"\n")
    words = [line.split() for line in lines]
    return {int(number): (int(seq), sha.decode()) for number, seq, sha in words}


def check(home: Home, path: Path, acknowledged: dict[int, tuple[int, str]]) -> None:
    """Before anything is repaired: each line that was told of is whole and there. A kill in the
    midst of a write of several pages may leave a part of what nobody was told of.
    """
    reader = LedgerReader(path, "decision-ledger", DecisionBody)
    torn = inspect(reader).torn
    lines = list(reader.read())
    numbers = versions(lines)
    assert len(set(numbers)) == len(numbers)
    by_number = dict(zip(numbers, lines, strict=True))
    for number, (seq, sha256) in acknowledged.items():
        assert (by_number[number].seq, by_number[number].sha256) == (seq, sha256)
    assert verify(home).ok is (torn is None)
