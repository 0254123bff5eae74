"""Walk every chain of a home, and compare it with the anchors and with what the referee cites:
`gnomon verify`.

Streams: memory is one block, one line, and 40 bytes a head that was anchored or cited, three an
hour. Reads only, and takes no lock; of a ledger that is being written it judges the lines that
were whole when it came.

What it proves: tampering by any jailed role, accidents and rollbacks are found. Whoever owns
the home can rewrite the past together with its anchors, up to an anchor copied elsewhere.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import merge

from gnomon.domain.errors import LedgerError
from gnomon.domain.ledgers import GENESIS, Line
from gnomon.domain.records import Anchor, AnchoredHead
from gnomon.domain.views import FirstBad, LedgerReport, Verification
from gnomon.home import Home
from gnomon.ledger.anchors import Anchored
from gnomon.ledger.bisect import FileSource, last_border
from gnomon.ledger.chain import Chain
from gnomon.ledger.citations import cited_heads
from gnomon.ledger.places import Place, agents, places
from gnomon.ledger.reading import LedgerReader, Span, opened
from gnomon.ledger.segments import Segment, segments, strays

SETTLE_SECONDS = 0.01
STILL_TRIES = 5
"""A line that is just being written grows; one that stays as it is this often is torn."""


@dataclass(frozen=True)
class Known:
    """Heads that must be in the chains, and how each is known."""

    anchored: Anchored = field(default_factory=Anchored)
    cited: Anchored = field(default_factory=Anchored)

    def of(self, key: str) -> Iterator["Expected"]:
        """Those of a ledger, lowest first."""
        anchored = ((seq, sha256, "anchored") for seq, sha256 in self.anchored.of(key))
        cited = ((seq, sha256, "cited") for seq, sha256 in self.cited.of(key))
        return merge(anchored, cited)

    def keys(self) -> set[str]:
        return {*self.anchored.all_keys(), *self.cited.all_keys()}


Expected = tuple[int, str, str]
"""`seq` and hash of a line, and whether it was anchored or cited."""


def verify(home: Home, kept: Mapping[str, AnchoredHead] | None = None) -> Verification:
    """Walk all ledgers. `ok` is false when any line is not what was acknowledged. `kept` are
    heads by key that somebody wrote down elsewhere.
    """
    known = _known(home)
    known.anchored.add(kept or {})
    reports = [verify_ledger(place, known) for place in places(home)]
    seen = {report.name for report in reports}
    reports += [_missing(key, known) for key in sorted(known.keys() - seen)]
    shown = tuple(_named(report, agents(home)) for report in reports)
    return Verification(ok=all(report.ok for report in shown), ledgers=shown)


def verify_ledger(place: Place, known: Known) -> LedgerReport:
    """Walk one chain. The anchors' own ledger, which comes first, adds to what is known."""
    chain = Chain()
    learn = known.anchored.add if place.key == "anchors" else None
    try:
        expected = known.of(place.key)
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
    known = _known(home)
    for place in places(home):
        if place.key in {"anchors", wanted}:
            report = verify_ledger(place, known)
            if place.key == wanted:
                return report.first_bad
    return None


def _known(home: Home) -> Known:
    known = Known()
    for key, head in cited_heads(home):
        known.cited.add_one(key, head)
    return known


def _walk(
    reader: LedgerReader,
    chain: Chain,
    expected: Iterator[Expected],
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
                _compare(reader, line, due)
                due = next(expected, None)
            if learn is not None and isinstance(line.body, Anchor):
                learn(line.body.heads)
        if whole < size:
            raise reader.corrupt(chain.seq + 1, f"{size - whole} bytes of an unfinished line")
    if due is not None:
        reason = f"the end is gone: line {due[0]} was {due[2]} as {due[1][:12]}"
        raise reader.corrupt(chain.seq + 1, reason)


def _compare(reader: LedgerReader, line: Line, due: Expected) -> None:
    if line.sha256 != due[1]:
        reason = f"it was {due[2]} as {due[1][:12]}, and another line stands in its place"
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


def _missing(key: str, known: Known) -> LedgerReport:
    seq, _, how = max(known.of(key))
    bad = FirstBad(line=1, reason=f"the file is gone; it was {how} up to line {seq}")
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
