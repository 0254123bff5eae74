"""At most so many surfaces a day (page 7: `notify.max_per_day`); the rest wait for a day with
room, and count as not yet emitted until then.

What waits is on the disk. It is let go when it has waited for two days, when the line is full, or
when a model's text was written under instructions that are in force no more: what is brought late
must not be charged to a prompt that did not write it.
"""

from collections.abc import Callable

import msgspec

from gnomon.daemon.store.memo import Memo
from gnomon.domain.instants import DAY, Millis
from gnomon.domain.json_value import Json
from gnomon.domain.records import Origin, SurfaceKind, SurfaceMode
from gnomon.domain.records_referee import SurfaceEmitted
from gnomon.ledger.file import LedgerFile

FILE = "surfaces-waiting.json"
LOST = "What waited to be brought to you is lost."
MOST = 20
"""Surfaces that wait."""
KEPT = 2 * DAY


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """What a surface says. Its canonical JSON has the hash that the ledger holds."""

    kind: SurfaceKind
    title: str
    body: str
    artifact: str | None = None


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Something to bring. Without a `dedupe_key` it is always news. `at_once`: it cannot wait for
    another day.
    """

    payload: Payload
    origin: Origin
    scaffold_version: str
    dedupe_key: str | None = None
    material: Json = None
    mode: SurfaceMode = "queue"
    synthetic: bool = False
    at_once: bool = False


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    asked: Asked
    since: Millis


class DayQueue:
    """`shown` is the ledger that says what was brought; `wall` the time by UTC."""

    def __init__(
        self, memo: Memo, shown: LedgerFile, wall: Callable[[], Millis], max_per_day: int
    ) -> None:
        self._memo = memo
        self._shown = shown
        self._wall = wall
        self._max_per_day = max_per_day
        self._waiting = memo.load_or_set_aside(FILE, tuple[Waits, ...], LOST) or ()
        self._day = -1
        self._today = 0
        self._counted_to = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def has_room(self) -> bool:
        """Whether today may bring one more."""
        return self._brought_today() < self._max_per_day

    def put(self, asked: Asked) -> None:
        """Let it wait. A newer one of the same key takes the older one's place. Raises OSError."""
        key = asked.dedupe_key
        others = [each for each in self._waiting if key is None or each.asked.dedupe_key != key]
        self._keep((*others, Waits(asked=asked, since=self._wall()))[-MOST:])

    def take(self, scaffold_version: str) -> Asked | None:
        """The oldest that may still be brought now, off the line; null while there is none, or no
        room. It leaves before it is brought: what a crash comes between is lost, and never comes
        twice. Raises OSError.
        """
        fresh = tuple(each for each in self._waiting if self._stands(each, scaffold_version))
        first = fresh[:1] if self.has_room() else ()
        if len(fresh) != len(self._waiting) or first:
            self._keep(fresh[len(first) :])
        return first[0].asked if first else None

    def _stands(self, waits: Waits, scaffold_version: str) -> bool:
        in_time = self._wall() - waits.since < KEPT
        asked = waits.asked
        return in_time and (asked.origin == "rule" or asked.scaffold_version == scaffold_version)

    def _keep(self, waiting: tuple[Waits, ...]) -> None:
        self._memo.save(FILE, waiting)
        self._waiting = waiting

    def _brought_today(self) -> int:
        """Counted from the ledger: O(lines since it was asked last), and of a day at the first
        time. A clock that is set to another day counts that day anew.
        """
        today = self._wall() // DAY
        head = self._shown.head.seq
        if today != self._day:
            self._day, self._today = today, 0
            lines = self._shown.read_range(Millis(today * DAY))
        elif head == self._counted_to:
            return self._today
        else:
            lines = self._shown.read(after_seq=self._counted_to)
        self._today += sum(
            isinstance(line.body, SurfaceEmitted)
            and takes_room(line.body)
            and line.at // DAY == today
            for line in lines
        )
        self._counted_to = head
        return self._today


def takes_room(surface: SurfaceEmitted) -> bool:
    """Whether it counts among a day's: the operator's own tests do not, nor what a rule asks them
    to decide. Pure.
    """
    asks = surface.origin == "rule" and surface.surface_kind == "pending"
    return not (surface.synthetic or asks)
