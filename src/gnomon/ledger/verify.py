"""Walk every chain of a home and compare it with the anchors: `gnomon verify`.

Streams: memory is one block, one line, and 40 bytes an anchored head. Reads only, and takes
no lock; of a ledger that is being written it judges the lines that were whole when it came.

What it proves: tampering by any jailed role, accidents and rollbacks are found. Whoever owns
the home can rewrite the past together with its anchors, up to an anchor copied elsewhere.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping

from gnomon.domain.errors import LedgerError
from gnomon.domain.ledgers import GENESIS, Line
from gnomon.domain.records import Anchor, AnchoredHead
from gnomon.domain.views import FirstBad, LedgerReport, Verification
from gnomon.home import Home
from gnomon.ledger.anchors import Anchored
from gnomon.ledger.bisect import FileSource, last_border
from gnomon.ledger.chain import Chain
from gnomon.ledger.places import Place, agents, places
from gnomon.ledger.reading import LedgerReader, Span, opened
from gnomon.ledger.segments import Segment, segments, strays

SETTLE_SECONDS = 0.01
STILL_TRIES = 5
"""A line that is just being written grows; one that stays as it is this often is torn."""

Cited = Mapping[str, AnchoredHead]
"""Heads that lines of other ledgers cite, by key: they must be in the chain too."""


def verify(home: Home, cited: Cited | None = None) -> Verification:
    """Walk all ledgers. `ok` is false when any line is not what was acknowledged."""
    anchored = Anchored()
    anchored.add(cited or {})
    reports = [verify_ledger(place, anchored) for place in places(home)]
    seen = {report.name for report in reports}
    reports += [_missing(key, anchored) for key in anchored.all_keys() if key not in seen]
    shown = tuple(_named(report, agents(home)) for report in reports)
    return Verification(ok=all(report.ok for report in shown), ledgers=shown)


def verify_ledger(place: Place, anchored: Anchored) -> LedgerReport:
    """Walk one chain. The anchors' own ledger, which comes first, fills `anchored`."""
    chain = Chain()
    learn = anchored.add if place.key == "anchors" else None
    try:
        expected = iter(anchored.of(place.key))
        _walk(LedgerReader(place.path, place.key, place.bodies), chain, expected, learn)
    except LedgerError as error:
        reason = error.facts.get("reason", error.message)
        line = error.facts.get("line", chain.seq + 1)
        assert isinstance(line, int)
        return _report(place.key, chain, FirstBad(line=line, reason=str(reason)))
    return _report(place.key, chain, None)


def first_bad(home: Home, wanted: str) -> FirstBad | None:
    """The line of one ledger, by its key, that `verify` would name; null when it is whole. Walks
    all of it: for a ledger that is known to be bad.
    """
    anchored = Anchored()
    for place in places(home):
        if place.key in {"anchors", wanted}:
            report = verify_ledger(place, anchored)
            if place.key == wanted:
                return report.first_bad
    return None


def _walk(
    reader: LedgerReader,
    chain: Chain,
    expected: Iterator[tuple[int, str]],
    learn: Callable[[Mapping[str, AnchoredHead]], None] | None,
) -> None:
    gone = strays(reader.first)
    if gone:
        raise reader.corrupt(1, f"{gone[0].name} is there, and a file before it is not")
    due = next(expected, None)
    for segment in segments(reader.first):
        whole, size = _whole_lines(segment, reader.name)
        for line in reader.walk(Span(segment, 0, whole), chain):
            while due is not None and due[0] == line.seq:
                _compare(reader, line, due[1])
                due = next(expected, None)
            if learn is not None and isinstance(line.body, Anchor):
                learn(line.body.heads)
        if whole < size:
            raise reader.corrupt(chain.seq + 1, f"{size - whole} bytes of an unfinished line")
    if due is not None:
        reason = f"the end is gone: line {due[0]} was anchored as {due[1][:12]}"
        raise reader.corrupt(chain.seq + 1, reason)


def _compare(reader: LedgerReader, line: Line, sha256: str) -> None:
    if line.sha256 != sha256:
        reason = f"it was anchored as {sha256[:12]}, and another line stands in its place"
        raise reader.corrupt(line.seq, reason)


def _whole_lines(segment: Segment, name: str) -> tuple[int, int]:
    """Bytes of whole lines, and of all; waits a moment for a line in the writing."""
    still = 0
    border, size = _look(segment, name)
    while border < size and still < STILL_TRIES:
        time.sleep(SETTLE_SECONDS)
        before = size
        border, size = _look(segment, name)
        still = still + 1 if size == before else 0
    return border, size


def _look(segment: Segment, name: str) -> tuple[int, int]:
    with opened(segment.path, name) as fd:
        size = os.fstat(fd).st_size
        return last_border(FileSource(fd, size), size), size


def _report(name: str, chain: Chain, bad: FirstBad | None) -> LedgerReport:
    return LedgerReport(
        name=name, lines=chain.seq, head=chain.sha256, ok=bad is None, first_bad=bad
    )


def _missing(key: str, anchored: Anchored) -> LedgerReport:
    seq = max(seq for seq, _ in anchored.of(key))
    bad = FirstBad(line=1, reason=f"the file is gone; it was anchored up to line {seq}")
    return LedgerReport(name=key, lines=0, head=GENESIS, ok=False, first_bad=bad)


def _named(report: LedgerReport, of: tuple[str, ...]) -> LedgerReport:
    """Where there is one agent, its ledgers go by their plain names."""
    if len(of) != 1 or not report.name.startswith(f"{of[0]}/"):
        return report
    return LedgerReport(
        name=report.name.removeprefix(f"{of[0]}/"),
        lines=report.lines,
        head=report.head,
        ok=report.ok,
        first_bad=report.first_bad,
    )
