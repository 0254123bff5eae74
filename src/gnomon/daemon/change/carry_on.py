"""At each beat: changes go on where they stand, and what breaks the replies is undone early."""

from dataclasses import dataclass
from itertools import takewhile

from gnomon.change.early import (
    ATTEMPTS,
    MOST_LINES,
    first_replies,
    last_replies,
    undone_early,
)
from gnomon.change.life import ChangeLife
from gnomon.daemon.change.changes import Changes
from gnomon.daemon.store.stores import Stores
from gnomon.domain.ledgers import Head


@dataclass
class CarryOn:
    """Each change is looked at until it has had its first replies, and not again."""

    stores: Stores
    changes: Changes
    _passed: str = ""
    _seen: Head | None = None

    def is_due(self) -> bool:
        return next(self.changes.state().open(), None) is not None

    async def turn(self) -> None:
        """Finish what a kill cut off, apply the next in line, then look at what is tested."""
        await self.changes.look()
        await self.look()

    async def look(self) -> None:
        """Reads the decisions since the change came into force, and only when there are new
        ones: at most as many as its first replies take.
        """
        life = self.changes.state().under_judgment
        head = self.stores.files["decision-ledger"].head
        if life is None or life.change_id == self._passed or head == self._seen:
            return
        self._seen = head
        await self._look_at(life, head)

    async def _look_at(self, life: ChangeLife, head: Head) -> None:
        ledger = self.stores.files["decision-ledger"]
        version = life.watched.scaffold_version if life.watched is not None else None
        if version is None or life.applied_at is None:
            return
        after = first_replies(ledger.read_range(life.applied_at, until=head), version)
        if after.total < ATTEMPTS:
            return
        self._passed = life.change_id
        first = next(ledger.read_range(life.applied_at, until=head))
        near = ledger.read(after_seq=max(0, first.seq - 1 - MOST_LINES), until=head)
        before = takewhile(lambda line: line.seq < first.seq, near)
        reason = undone_early(last_replies(before), after)
        if reason is not None:
            await self.changes.undo_early(life.change_id, reason)
