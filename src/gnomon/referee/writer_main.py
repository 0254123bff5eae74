"""The fitness writer's process: a jailed job that reads three ledgers and writes none.

It answers `work {heads, tail, now, most}` with the lines that are due. It reads no further
than the heads, finds its place by bisection, and asks no model.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import cast

import msgspec

from gnomon.domain.errors import LedgerCorruptError, UsageError
from gnomon.domain.instants import Millis, parse_iso
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.ledgers import BODIES, Head, LedgerName, Line
from gnomon.domain.plain import fields, read
from gnomon.domain.records_referee import Amendment, Gap, Window
from gnomon.ledger.reading import LedgerReader
from gnomon.referee.config import Loaded, parse
from gnomon.referee.fitness_tail import DECISIONS, ENGAGEMENT, FitnessTail
from gnomon.referee.windows import Evidence, Stretches, plan
from gnomon.trust.ipc import Peer

MOST_LINES = 256
"""Lines of one answer: a few hundred kilobytes."""


class WriterArgument(msgspec.Struct, frozen=True, kw_only=True):
    """The first file of each ledger, and the text of fitness-config.json."""

    paths: dict[LedgerName, str]
    config: str


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """`heads` are acknowledged; `tail` is where the fitness-ledger stands."""

    heads: dict[LedgerName, Head]
    tail: FitnessTail
    now: Millis
    most: int = MOST_LINES


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """The lines to append, in order. `more`: ask again once they are."""

    lines: tuple[Window | Amendment | Gap, ...]
    more: bool


class Writer:
    """Reads and computes; holds nothing between two answers."""

    def __init__(self, argument: WriterArgument) -> None:
        self._loaded: Loaded = parse(argument.config)
        self._readers = {
            name: LedgerReader(Path(path), name, BODIES[name])
            for name, path in argument.paths.items()
        }

    async def answer(self, op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
        del send_part
        match op:
            case "work":
                return cast("Json", fields(self.due(read(args, Work))))
            case "stop":
                return {}
            case _:
                raise UsageError(f"The fitness writer does not answer {op!r}.", op=op)

    def due(self, work: Work) -> Due:
        """The lines that are due. Raises LedgerCorruptError when the decisions are unreadable
        from their first line on.
        """
        tail = work.tail
        decisions, cited_at, gone = self._decisions(work)
        engagement, unread = _up_to_damage(self._after(ENGAGEMENT, tail.after, work))
        evidence = Evidence(
            decisions=decisions,
            engagement=engagement,
            cited_at=cited_at,
            stretches=self._stretches(work),
            changed=gone or unread or self._lacks(engagement, tail),
        )
        planned = plan(tail, evidence, self._loaded, work.now)
        lines = tuple(islice(planned, max(1, work.most)))
        return Due(lines=lines, more=next(planned, None) is not None)

    def _stretches(self, work: Work) -> Stretches:
        starts = [
            self._readers[name].segment_starts(work.heads.get(name, Head()))
            for name in (DECISIONS, ENGAGEMENT)
        ]
        return Stretches(*starts)

    def _after(self, name: LedgerName, seq: int, work: Work) -> Iterator[Line]:
        head = work.heads.get(name, Head())
        return self._readers[name].read(after_seq=seq, until=head)

    def _decisions(self, work: Work) -> tuple[Iterator[Line], Millis | None, bool]:
        """The lines after the cited one, its time, and whether it is gone.

        Found and checked in one search: the chain leads from the cited line on.
        """
        cited, since = work.tail.decision, work.tail.last_end
        if cited.seq == 0 or since is None:
            return self._after(DECISIONS, 0, work), None, False
        lines = self._after(DECISIONS, cited.seq - 1, work)
        try:
            line = next(lines, None)
        except LedgerCorruptError:
            line = None
        if line is not None and line.sha256 == cited.sha256:
            return lines, line.at, False
        # Its number means nothing in a ledger that was replaced: go by time.
        head = work.heads.get(DECISIONS, Head())
        by_time = self._readers[DECISIONS].read_range(parse_iso(since), until=head)
        return by_time, None, True

    def _lacks(self, engagement: list[Line], tail: FitnessTail) -> bool:
        """Whether the engagement line that the fitness-ledger cites is not among those read."""
        cited = tail.engagement
        if cited.seq <= tail.after:
            return False
        return not any(line.seq == cited.seq and line.sha256 == cited.sha256 for line in engagement)


def _up_to_damage(lines: Iterator[Line]) -> tuple[list[Line], bool]:
    """The lines that can be read, and whether some cannot."""
    found: list[Line] = []
    try:
        found.extend(lines)
    except LedgerCorruptError:
        return found, True
    return found, False


async def serve(peer: Peer, argument: Fields) -> None:
    """Entry of the child process; returns when the gateway has gone."""
    writer = Writer(read(argument, WriterArgument))
    peer.serve(writer.answer)
    await peer.closed()
