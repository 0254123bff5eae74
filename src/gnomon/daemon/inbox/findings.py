"""Surfaces that a rule makes: what the history says, told once, a few a day, by no model."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from gnomon.daemon.inbox.surfaces import Asked, Payload, Surfaces
from gnomon.daemon.store.memo import Memo
from gnomon.domain.errors import StateError
from gnomon.domain.instants import DAY, HOUR, Millis
from gnomon.domain.views_history import Report
from gnomon.observe.findings import Finding, findings

FILE = "findings.json"
A_DAY = 5
APART = HOUR
"""A look walks all of the history, beside the event loop: about a second for each 20,000 turns.
So it is bounded: at a beat at most once in this time, only when a ledger of observations grew,
and only while the day has room for what it might find.
"""
REMEMBERED = 5_000


class ToldFindings(msgspec.Struct, frozen=True, kw_only=True):
    """`fingerprints` of what was told, newest last; `today` of them on day `day` since 1970.
    `observed` is how many observations there were at the last look.
    """

    fingerprints: tuple[str, ...] = ()
    day: int = 0
    today: int = 0
    observed: int = 0
    looked_at: Millis = Millis(0)


@dataclass
class RuleSurfaces:
    """`observed` counts the observations there are; `may_speak` is the mode's word and the
    pause's. A damaged memory means that something may be told again.
    """

    memo: Memo
    surfaces: Surfaces
    report: Callable[[], Awaitable[Report]]
    observed: Callable[[], int]
    may_speak: Callable[[], bool]
    scaffold_version: Callable[[], str]
    now: Callable[[], Millis]
    _looking: bool = False
    _told: ToldFindings = field(init=False)

    def __post_init__(self) -> None:
        try:
            self._told = self.memo.load(FILE, ToldFindings) or ToldFindings()
        except StateError:
            self._told = ToldFindings()

    def is_due(self) -> bool:
        """Whether a beat should look: the history grew, and the last look is an hour past."""
        told, now = self._told, self.now()
        rested = not 0 <= now - told.looked_at < APART
        return rested and self.observed() != told.observed and self._room(now) > 0

    async def look(self) -> int:
        """Tell what was not told yet; how much that was. One look at a time."""
        if self._looking or not self.may_speak() or not self._room(self.now()):
            return 0
        self._looking = True
        try:
            observed = self.observed()
            report = await self.report()
            found = findings(report, self.now(), frozenset(self._told.fingerprints))
            found = found[: self._room(self.now())]
            for each in found:
                await self._tell(each)
            more = len(found) > 0  # what is left over is told at a later look
            self._keep(observed=self._told.observed if more else observed, looked_at=self.now())
            return len(found)
        finally:
            self._looking = False

    async def _tell(self, finding: Finding) -> None:
        await self.surfaces.emit(
            Asked(
                payload=Payload(kind="notification", title=finding.title, body=finding.body),
                origin="rule",
                scaffold_version=self.scaffold_version(),
                dedupe_key=f"{finding.key}:{finding.fingerprint}",
                material=finding.material,
            )
        )
        now = self.now()
        self._keep(
            fingerprints=(*self._told.fingerprints, finding.fingerprint)[-REMEMBERED:],
            day=now // DAY,
            today=A_DAY - self._room(now) + 1,
        )

    def _room(self, now: Millis) -> int:
        """How many more today."""
        told = self._told
        return A_DAY if told.day != now // DAY else max(0, A_DAY - told.today)

    def _keep(self, **changes: object) -> None:
        self._told = msgspec.structs.replace(self._told, **changes)
        self.memo.save(FILE, self._told)
