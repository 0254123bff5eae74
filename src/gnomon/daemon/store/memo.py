"""An agent's small persisted facts: `state/*.json`, each read once and written whole."""

import contextlib
import os
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import TypeVar

import msgspec

from gnomon.daemon.store.remembered import Remembered
from gnomon.disk import Disk
from gnomon.domain.canonical import canonical
from gnomon.domain.errors import StateError
from gnomon.domain.instants import Millis
from gnomon.gateway.authority import Session
from gnomon.statefile import read_state, write_state

T = TypeVar("T")

FACTS = "gateway.json"
PAUSED_WORDS = (
    "Whether it was paused is not known, so it is, until `gnomon resume`; browsers sign in anew."
)


class Memo:
    """`facts` are the gateway's own. A damaged file is set aside, and the journal says so. A pause
    must not be forgotten by that: where it is not known whether one holds, one holds.
    """

    def __init__(self, folder: Path, disk: Disk, journal: Callable[[str], None]) -> None:
        self._folder = folder
        self._disk = disk
        self._journal = journal
        there = self.has(FACTS)
        facts = self.load_or_set_aside(FACTS, Remembered, PAUSED_WORDS)
        if facts is None and there:
            facts = paused(Remembered(), None)
            self.save(FACTS, facts)
        self.facts = facts or Remembered()

    def load_or_set_aside(self, name: str, type_: type[T], then: str) -> T | None:
        """As `load`; a damaged file is moved away, and null given. `then` says what follows.

        Raises StateError when it cannot be moved either.
        """
        try:
            return self.load(name, type_)
        except StateError as error:
            aside = self._free_name(name)
            try:
                (self._folder / name).rename(aside)
            except OSError:
                raise error from None
            self._journal(f"{name} was damaged and moved to {aside.name}. {then}")
            return None

    def has(self, name: str) -> bool:
        return (self._folder / name).exists()

    def _free_name(self, name: str) -> Path:
        numbers = (f".{number}" if number > 1 else "" for number in count(1))
        tried = (self._folder / f"{name}.damaged{number}" for number in numbers)
        return next(path for path in tried if not path.exists())

    def load(self, name: str, type_: type[T]) -> T | None:
        return read_state(self._folder / name, type_)

    def save(self, name: str, value: object, *, durable: bool = True) -> None:
        """Replace a file. Raises OSError. `durable=False`: whole or not at all, but not synced,
        and left as it was where the disk refuses; for counters that a crash of the machine may
        set back by a call.
        """
        if durable:
            write_state(self._folder / name, value, disk=self._disk)
            return
        temporary = self._folder / f".{name}.tmp"
        with contextlib.suppress(OSError):
            temporary.write_bytes(canonical(value) + b"\n")
            os.replace(temporary, self._folder / name)  # noqa: PTH105 - its own call is the point

    def change(self, facts: Remembered) -> None:
        """Take new facts, on the disk first."""
        if facts != self.facts:
            self.save(FACTS, facts)
            self.facts = facts

    def keep_browsers(self, sessions: Sequence[Session]) -> None:
        self.change(msgspec.structs.replace(self.facts, browser_sessions=tuple(sessions)))

    def facts_paused(self, now: Millis) -> bool:
        return self.facts.is_paused(now)


def paused(facts: Remembered, until: Millis | None) -> Remembered:
    """Pure: paused, until an instant or until resumed."""
    return msgspec.structs.replace(facts, paused=True, paused_until=until)


def resumed(facts: Remembered) -> Remembered:
    return msgspec.structs.replace(facts, paused=False, paused_until=None)


def with_card_hidden(facts: Remembered, card: str) -> Remembered:
    hidden = tuple(dict.fromkeys([*facts.hidden_cards, card]))
    return msgspec.structs.replace(facts, hidden_cards=hidden)
