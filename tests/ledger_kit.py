"""What the ledger's tests share: a ledger of ticks, and its lines as bytes."""

from pathlib import Path

from gnomon.disk import SYSTEM_DISK, Disk
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import GENESIS, Line
from gnomon.domain.ports import Clock
from gnomon.domain.records import AnchoredHead, DecisionBody, Tick
from gnomon.ledger.codec import encode_line, line_hash
from gnomon.ledger.file import LedgerFile
from gnomon.ledger.stretch import StretchCount
from gnomon.testing.clock import START, FakeClock

NAME = "decision-ledger"


def tick(number: int, filler: str = "") -> Tick:
    return Tick(scaffold_version=f"{number:06d}-{filler}")


def tick_lines(count: int, filler: str = "") -> list[bytes]:
    """A whole ledger's lines, each with its newline: ticks 1 to `count`, a minute apart."""
    prev, result = GENESIS, list[bytes]()
    for number in range(1, count + 1):
        at = Millis(START + 60_000 * (number - 1))
        raw = encode_line(number, at, prev, tick(number, filler))
        prev = line_hash(raw)
        result.append(raw + b"\n")
    return result


def versions(lines: list[Line]) -> list[int]:
    """Which ticks were read."""
    return [int(b.scaffold_version[:6]) for line in lines if isinstance(b := line.body, Tick)]


def open_ticks(
    path: Path,
    clock: Clock | None = None,
    *,
    said: list[str] | None = None,
    known: AnchoredHead | None = None,
    stretch: StretchCount | None = None,
    disk: Disk = SYSTEM_DISK,
) -> LedgerFile:
    said = [] if said is None else said
    return LedgerFile.open(
        path,
        NAME,
        DecisionBody,
        clock or FakeClock(),
        said.append,
        known=known,
        stretch=stretch,
        disk=disk,
    )
