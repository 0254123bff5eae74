"""At each beat: changes go on where they stand, and what breaks the replies is undone early."""

from dataclasses import dataclass
from itertools import takewhile

from gnomon.change.early import MOST_LINES, FirstReplies, last_replies, undone_early
from gnomon.change.life import ChangeLife
from gnomon.daemon.change.changes import Changes
from gnomon.daemon.store.stores import Stores

LOOK_BACK = 5_000
"""Decisions: a week of ticks, longer than a change is tested."""


@dataclass
class CarryOn:
    """Each change is looked at until it has had its first replies, and not again."""

    stores: Stores
    changes: Changes
    _change: str = ""
    _first: FirstReplies | None = None
    """Of the change `_change`; null once it was decided about."""
    _read: int = 0

    def is_due(self) -> bool:
        return next(self.changes.state().open(), None) is not None

    async def turn(self) -> None:
        """Finish what a kill cut off, apply the next in line, then look at what is tested."""
        await self.changes.look()
        await self.look()

    async def look(self) -> None:
        """Reads the decisions that are new since it last looked; of a change that it did not
        look at yet, the last `LOOK_BACK`. By number, not by time: a clock may be set back.
        """
        life = self.changes.state().under_judgment
        if life is None or life.watched is None or life.watched.scaffold_version is None:
            return
        ledger = self.stores.files["decision-ledger"]
        head = ledger.head
        if life.change_id != self._change:
            self._change = life.change_id
            self._first = FirstReplies(life.watched.scaffold_version)
            self._read = max(0, head.seq - LOOK_BACK)
        if self._first is None:
            return
        for line in ledger.read(after_seq=self._read, until=head):
            self._first.take(line)
        self._read = head.seq
        if self._first.are_there:
            first, self._first = self._first, None
            await self._decide(life, first)

    async def _decide(self, life: ChangeLife, first: FirstReplies) -> None:
        ledger = self.stores.files["decision-ledger"]
        began = first.began or 1
        near = ledger.read(after_seq=max(0, began - 1 - MOST_LINES), until=ledger.head)
        before = takewhile(lambda line: line.seq < began, near)
        reason = undone_early(last_replies(before), first.replies)
        if reason is not None:
            await self.changes.undo_early(life.change_id, reason)
