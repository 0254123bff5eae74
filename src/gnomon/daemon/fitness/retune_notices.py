"""After 30 and after 90 days of numbers: do the measure's rules still fit? Asked once each, by a
rule (page 3; seed 1, sections 9 and 13).
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from gnomon.daemon.inbox.surfaces import Asked, Payload, Surfaces
from gnomon.daemon.store.memo import Memo
from gnomon.domain.errors import StateError
from gnomon.domain.instants import DAY, Millis
from gnomon.domain.ports import Ledger
from gnomon.domain.views_referee import Retuned

FILE = "retune-notices.json"
DAYS = (30, 90)


class AskedAfter(msgspec.Struct, frozen=True, kw_only=True):
    """After how many days it was asked."""

    days: tuple[int, ...] = ()


def next_notice(first: Millis | None, now: Millis, told: Sequence[int]) -> int | None:
    """After how many days it is to be asked now; null: not yet, or it was. Of two that are due
    the later one counts for both, also after the clock was set back. Pure.
    """
    if first is None:
        return None
    due = [days for days in DAYS if now - first >= days * DAY]
    return due[-1] if due and due[-1] > max(told, default=0) else None


@dataclass
class RetuneNotices:
    """`fitness` is the fitness-ledger: its first line is the first day. `answers` are those of
    `gnomon fitness --retune`.
    """

    memo: Memo
    surfaces: Surfaces
    fitness: Ledger
    answers: Callable[[], Awaitable[Retuned]]
    may_speak: Callable[[], bool]
    scaffold_version: Callable[[], str]
    now: Callable[[], Millis]
    _first: Millis | None = None
    _told: AskedAfter = field(init=False)

    def __post_init__(self) -> None:
        try:
            self._told = self.memo.load(FILE, AskedAfter) or AskedAfter()
        except StateError:
            self._told = AskedAfter()

    def is_due(self) -> bool:
        """Cheap: of the ledger the first line is read, once."""
        return self._due() is not None

    async def turn(self) -> None:
        """Ask, if it may speak. Raises what the ledger or the disk raised."""
        days = self._due()
        if days is None or not self.may_speak():
            return
        answers = (await self.answers()).answers
        rows = "\n".join(
            f"- {each.question} {each.answer.capitalize()}. {each.advice}".rstrip()
            for each in answers
        )
        await self.surfaces.emit(
            Asked(
                payload=Payload(
                    kind="notification",
                    title=f"{days} days of numbers: do they match what you see?",
                    body=f"{rows}\n\nThe rules stand in `agents/main/kernel/fitness-config.json` "
                    "of the home; the same answers at any time: `gnomon fitness --retune`.",
                ),
                origin="rule",
                scaffold_version=self.scaffold_version(),
                dedupe_key=f"retune:{days}",
                material={"days": days},
            )
        )
        told = AskedAfter(days=(*self._told.days, days))
        self.memo.save(FILE, told)
        self._told = told

    def _due(self) -> int | None:
        if self._first is None and self.fitness.head.seq:
            line = next(self.fitness.read(until=self.fitness.head), None)
            self._first = None if line is None else line.at
        return next_notice(self._first, self.now(), self._told.days)
