"""The judge's process: a jailed job that reads the fitness-ledger and writes nothing.

It answers `work {case, holds, fitness, now, earlier}` with the judgment that is missing, if one
is, and with its reasons. The gateway appends it and does what it says; no model is asked.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import cast

import msgspec

from gnomon.domain.errors import UsageError
from gnomon.domain.instants import Millis
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.ledgers import BODIES, Head, LedgerName, Line
from gnomon.domain.plain import fields, read
from gnomon.domain.records import AnchoredHead
from gnomon.domain.records_change import Judgment
from gnomon.ledger.reading import LedgerReader
from gnomon.referee.config import Loaded, parse
from gnomon.referee.judge import Case, Holds, Windows, is_enough, judge, still_waits, weighed
from gnomon.trust.ipc import Peer

FITNESS: LedgerName = "fitness-ledger"
AT_ONCE = 128
"""Lines of one step back: at a window an hour some days."""
MOST_OLDER = 4_096
"""Lines from before the candidate's time that are looked through for the incumbent's windows:
about three months. What is older says little of how things are now."""


class JudgeArgument(msgspec.Struct, frozen=True, kw_only=True):
    """The first file of the fitness-ledger, and the text of fitness-config.json."""

    fitness: str
    config: str


class Hearing(msgspec.Struct, frozen=True, kw_only=True):
    """What the judge is asked: `fitness` is the acknowledged head of its ledger, `earlier` the
    last judgment that stands on this change.
    """

    case: Case
    holds: Holds
    fitness: Head
    now: Millis
    earlier: Judgment | None


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """`judgment` is the line to append, null when there is none. `reasons` stand either way."""

    judgment: Judgment | None
    reasons: tuple[str, ...]


class Judge:
    """Reads and decides; holds nothing between two answers."""

    def __init__(self, argument: JudgeArgument) -> None:
        self._loaded: Loaded = parse(argument.config)
        self._reader = LedgerReader(Path(argument.fitness), FITNESS, BODIES[FITNESS])

    async def answer(self, op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
        del send_part
        match op:
            case "work":
                return cast("Json", fields(self.ruling(read(args, Hearing))))
            case "stop":
                return {}
            case _:
                raise UsageError(f"The judge does not answer {op!r}.", op=op)

    def ruling(self, asked: Hearing) -> Ruling:
        """Raises LedgerCorruptError when the lines are not those that were acknowledged."""
        windows = self.windows(asked)
        head = AnchoredHead(seq=asked.fitness.seq, sha256=asked.fitness.sha256)
        given = (asked.case, asked.holds, windows, self._loaded, asked.now, head)
        found = judge(*given, asked.earlier)
        reasons = (found or weighed(*given)).reasons
        return Ruling(judgment=found, reasons=reasons)

    def windows(self, asked: Hearing) -> Windows:
        """The lines since the candidate came into force, and before them as far back as the
        baseline needs, at most `MOST_OLDER`. The cost goes with that range, not with the past.

        A window's first lines come in the order of the windows. So where those of the incumbent
        that count have all been read, the candidate's have been too. And where the lines reach
        back to what every surface has settled since, no window before them is still provisional,
        which would hold back the engagement of those after it.
        """
        case, head, config = asked.case, asked.fitness, self._loaded.config
        waits = still_waits(case, asked.earlier, asked.now, config)
        windows, settled = Windows(case), self._settled(asked.now)
        end, following, older, reached = head.seq, head.sha256, 0, False
        while end > 0 and older < MOST_OLDER:
            if reached and is_enough(windows, config, waits=waits):
                break
            start = max(0, end - AT_ONCE)
            lines = list(self._span(start, end, head))
            if lines[-1].sha256 != following:
                raise self._reader.corrupt(end, "the line after it does not follow it")
            if end == head.seq:  # what the writer has not seen yet is settled for nobody
                settled = self._settled(min(asked.now, lines[-1].at))
            for line in lines:
                windows.take(line)
                older += line.at < case.watched_at
            end, following, reached = start, lines[0].prev, lines[0].at < settled
        return windows

    def _settled(self, now: Millis) -> Millis:
        """A line from before this is of a window whose last surface is past its horizon, and
        whose last amendment has come.
        """
        config = self._loaded.config
        return Millis(now - config.wall_ms - 2 * config.window_ms)

    def _span(self, after: int, upto: int, head: Head) -> Iterator[Line]:
        return islice(self._reader.read(after_seq=after, until=head), upto - after)


async def serve(peer: Peer, argument: Fields) -> None:
    """Entry of the child process; returns when the gateway has gone."""
    chair = Judge(read(argument, JudgeArgument))
    peer.serve(chair.answer)
    await peer.closed()
