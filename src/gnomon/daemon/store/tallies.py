"""The tallies of a gateway's life: caught up at start, kept up with each line, saved at ease."""

import contextlib
from pathlib import Path

import msgspec

from gnomon.daemon.store.tally import SpendTally, Tally, fold, fold_spend
from gnomon.disk import Disk
from gnomon.domain.errors import StateError
from gnomon.domain.ports import Ledger
from gnomon.statefile import read_state, write_state

FILE = "tallies.json"


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    decisions: Tally = Tally()
    spend: SpendTally = SpendTally()


class Tallies:
    """Counts over two ledgers. A damaged file only costs a walk of the ledgers: it is derived."""

    def __init__(self, folder: Path, decisions: Ledger, spend: Ledger, disk: Disk) -> None:
        self._disk = disk
        self._path = folder / FILE
        self._decisions_ledger = decisions
        self._spend_ledger = spend
        try:
            saved = read_state(self._path, Saved) or Saved()
        except StateError:
            saved = Saved()
        ahead = (
            saved.decisions.up_to_seq > decisions.head.seq or saved.spend.up_to_seq > spend.head.seq
        )
        self._saved = Saved() if ahead else saved

    def _caught_up(self) -> Saved:
        """Fold what was appended since the last look: O(new lines)."""
        decisions, spend = self._saved.decisions, self._saved.spend
        if decisions.up_to_seq < self._decisions_ledger.head.seq:
            for line in self._decisions_ledger.read(after_seq=decisions.up_to_seq):
                decisions = fold(decisions, line)
        if spend.up_to_seq < self._spend_ledger.head.seq:
            for line in self._spend_ledger.read(after_seq=spend.up_to_seq):
                spend = fold_spend(spend, line)
        self._saved = Saved(decisions=decisions, spend=spend)
        return self._saved

    @property
    def decisions(self) -> Tally:
        return self._caught_up().decisions

    @property
    def spend(self) -> SpendTally:
        return self._caught_up().spend

    def save(self) -> None:
        """Derived from the ledgers: a disk that refuses only costs the next start a walk."""
        with contextlib.suppress(OSError):
            write_state(self._path, self._caught_up(), disk=self._disk)
