"""Whether a new prompt breaks the reflections outright: undone early, without waiting for the
judge (page 6). Pure.

A reflection's reply that does not fit its schema is useless whatever it says, and shows within
the hour. So the first replies under a candidate are compared with the last ones before it.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gnomon.domain.ledgers import Line
from gnomon.domain.records import Reflection, Tick

ATTEMPTS = 12
"""Replies that are looked at on each side: the length of page 6's watch window."""
RISE = 0.05
"""Of the share of invalid replies, absolute: page 6's bound for tool failures."""
LEAST_INVALID = 3
"""One stray reply in twelve is already more than `RISE`; three are no accident."""
MOST_LINES = 400
"""Lines before a change in which its twelve replies are looked for."""


@dataclass(frozen=True)
class Replies:
    """What became of so many replies in a row."""

    valid: int = 0
    invalid: int = 0

    @property
    def total(self) -> int:
        return self.valid + self.invalid

    @property
    def share(self) -> float:
        return self.invalid / self.total if self.total else 0.0


@dataclass
class FirstReplies:
    """The first `ATTEMPTS` replies under one scaffold version, taken line by line as the
    decision-ledger grows. `began` is the `seq` of the first line under it.
    """

    version: str
    began: int | None = None
    _valid: list[bool] = field(default_factory=list[bool])

    def take(self, line: Line) -> None:
        if _version(line) != self.version or self.are_there:
            return
        self.began = line.seq if self.began is None else self.began
        self._valid.extend(_replies([line]))

    @property
    def are_there(self) -> bool:
        return len(self._valid) == ATTEMPTS

    @property
    def replies(self) -> Replies:
        return _counted(self._valid)


def last_replies(lines: Iterable[Line]) -> Replies:
    """The last `ATTEMPTS` replies among lines of the decision-ledger."""
    return _counted(deque(_replies(lines), maxlen=ATTEMPTS))


def _replies(lines: Iterable[Line]) -> Iterator[bool]:
    """Whether each reply was valid."""
    for line in lines:
        match line.body:
            case Reflection():
                yield True
            case Tick(skip_reason="invalid-output"):
                yield False
            case _:
                pass


def _version(line: Line) -> str | None:
    match line.body:
        case Reflection(scaffold_version=version) | Tick(scaffold_version=version):
            return version
        case _:
            return None


def _counted(valid: Iterable[bool]) -> Replies:
    found = list(valid)
    return Replies(valid=sum(found), invalid=len(found) - sum(found))


def undone_early(before: Replies, after: Replies) -> str | None:
    """Why it is undone now; null: it goes on to the judge, or it is too early to say."""
    if after.total < ATTEMPTS or after.invalid < LEAST_INVALID:
        return None
    if after.share <= before.share + RISE:
        return None
    return (
        f"{after.invalid} of its first {after.total} replies were unusable, "
        f"{before.invalid} of the last {before.total} before it"
    )
