"""The gateway's side of the fitness writer: when it is due, what it is given, what is appended.

The job computes; only the gateway appends. What the job says is a function of what it was
given, so a run that was killed anywhere is simply made again.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gnomon.domain.errors import LedgerClosedError, LedgerCorruptError
from gnomon.domain.instants import Millis, iso
from gnomon.domain.json_value import Fields
from gnomon.domain.ledgers import Head, LedgerName, Line
from gnomon.domain.plain import fields, read
from gnomon.domain.ports import Child, Ledger
from gnomon.domain.records_referee import Amendment, FitnessBody, Gap, Window
from gnomon.ledger.segments import segments
from gnomon.referee import asking
from gnomon.referee.backoff import Backoff
from gnomon.referee.config import Loaded
from gnomon.referee.fitness import window_start
from gnomon.referee.fitness_tail import DECISIONS, ENGAGEMENT, FitnessTail, StandingLine
from gnomon.referee.windows import SETTLES_AFTER
from gnomon.referee.writer_main import Due, Work, WriterArgument
from gnomon.trust.jail import Grants
from gnomon.trust.roles import check_append

WRITER_MODULE = "gnomon.referee.writer_main"
ARTIFACTS: LedgerName = "artifact-ledger"
FITNESS: LedgerName = "fitness-ledger"
READ: tuple[LedgerName, ...] = (DECISIONS, ARTIFACTS, ENGAGEMENT)
"""What the writer may read (page 1)."""
GRACE_SECONDS = 2.0
YIELD_EVERY = 100
"""Lines read between two turns of the event loop, while the gateway reads a whole ledger."""


Heads = dict[LedgerName, Head]


class CitedLedger(Ledger, Protocol):
    """A ledger whose end may be handed to a job."""

    @property
    def durable_head(self) -> Head: ...
    async def synced(self) -> None: ...


StartWriter = Callable[[Fields, Grants], Awaitable[Child]]
"""Starts `WRITER_MODULE` in the role `fitness-writer` with an argument and grants."""


@dataclass(frozen=True)
class Written:
    """What one run appended, by kind."""

    windows: int = 0
    amendments: int = 0
    gaps: int = 0

    @property
    def lines(self) -> int:
        return self.windows + self.amendments + self.gaps


class FitnessWriting:
    """`ledgers` are open: the three that are read, and `fitness-ledger`. `paths` are their
    first files.
    """

    def __init__(
        self,
        ledgers: Mapping[LedgerName, CitedLedger],
        paths: Mapping[LedgerName, Path],
        loaded: Loaded,
        start: StartWriter,
    ) -> None:
        self._ledgers = ledgers
        self._paths = paths
        self._loaded = loaded
        self._start = start
        self._tail: FitnessTail | None = None
        self._ran_for: Millis | None = None
        self._backoff = Backoff()
        self._running = asyncio.Lock()

    def is_due(self, now: Millis) -> bool:
        """Whether a window has closed, 60 s ago or more, since the last run. Cheap.

        After a failure it is due again in a minute, then in two, four and so on.
        """
        if self._running.locked() or self._backoff.waits(now):
            return False
        return self.closed(now) != self._ran_for

    @property
    def is_failing(self) -> bool:
        """Whether its last two runs failed."""
        return self._backoff.is_failing(running=self._running.locked())

    async def run(self, now: Millis) -> Written:
        """Append every line that is due at `now`. One run at a time; a second one waits.

        Raises what the job or the ledger raised; asked again, it goes on where it stopped.
        """
        async with self._running:
            self._backoff.begin(now)
            child = await self._start(*self._handed())
            try:
                kinds = [type(body) for body in await self._written(child, now)]
            finally:
                await child.stop(GRACE_SECONDS)
            self._backoff.succeed()
            self._ran_for = self.closed(now)
            return Written(kinds.count(Window), kinds.count(Amendment), kinds.count(Gap))

    def closed(self, now: Millis) -> Millis:
        """The end of the last window that is to be measured at `now`."""
        return window_start(Millis(now - SETTLES_AFTER), self._loaded.config.window_ms)

    def _handed(self) -> tuple[Fields, Grants]:
        argument = WriterArgument(
            paths={name: str(self._paths[name]) for name in READ}, config=self._loaded.text
        )
        files = (segment.path for name in READ for segment in segments(self._paths[name]))
        return fields(argument), Grants(read=tuple(files))

    async def _written(self, child: Child, now: Millis) -> list[FitnessBody]:
        """Ask and append until nothing is due any more."""
        written: list[FitnessBody] = []
        more = True
        while more:
            heads = await self._heads()  # first: what comes in meanwhile is for the next answer
            tail = await self._current_tail(heads)
            work = Work(heads=heads, tail=tail, now=now)
            due = read(await asking.work(child.peer, fields(work)), Due)
            await self._append(due.lines)
            for body in due.lines:
                tail.take(body)
            written += due.lines
            more = due.more
        return written

    async def _heads(self) -> Heads:
        """Where the ledgers end once all that was written so far is on the medium: where the clock
        was set back, the one must not be seen further than the other.
        """
        for name in READ:
            with suppress(LedgerClosedError):
                await self._ledgers[name].synced()
        return {name: self._ledgers[name].durable_head for name in READ}

    def _read(self, name: LedgerName, after: int, heads: Heads) -> Iterator[Line]:
        """What the job will be shown of a ledger, and no line more."""
        return self._ledgers[name].read(after_seq=after, until=heads[name])

    async def _append(self, bodies: tuple[FitnessBody, ...]) -> None:
        """All of an answer with one sync; what got through of it before a failure counts."""
        for body in bodies:
            check_append("fitness-writer", FITNESS, body.kind())
        tail, self._tail = self._tail, None  # until all is there; else it is read anew
        appends = (self._ledgers[FITNESS].append(body) for body in bodies)
        results = await asyncio.gather(*appends, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        self._tail = tail

    async def _current_tail(self, heads: Heads) -> FitnessTail:
        if self._tail is None:
            tail = FitnessTail()
            async for body in self._fitness():
                tail.take(body)
                if len(tail.standing) > YIELD_EVERY:
                    tail.settle()
            self._tail = tail
        self._tail.settle()
        await self._hand_lived(self._tail, heads)
        return self._tail

    async def _fitness(self) -> AsyncIterator[FitnessBody]:
        """The fitness-ledger from its first line, without holding up the event loop."""
        for number, line in enumerate(self._ledgers[FITNESS].read()):
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
            assert isinstance(line.body, Window | Amendment | Gap)
            yield line.body

    # --- windows that are lived again -----------------------------------------------------------

    async def _hand_lived(self, tail: FitnessTail, heads: Heads) -> None:
        """After the clock was set back: add the standing lines of the windows that are entered
        again, which the writer must not measure as if they were new.
        """
        lived = set(filter(tail.is_lived, await self._to_be_measured(tail, heads)))
        if not lived:
            return
        found, folded = dict[str, StandingLine](), FitnessTail()
        async for body in self._fitness():
            folded.take(body)
            if body.window_start in lived and not isinstance(body, Gap):
                found[body.window_start] = folded.standing[body.window_start]
            if len(folded.standing) > YIELD_EVERY:
                folded.settle()
                folded.standing.update(found)
        tail.standing = {**found, **tail.standing}

    async def _to_be_measured(self, tail: FitnessTail, heads: Heads) -> set[str]:
        """The windows of the decision lines that none has used: those that are measured next."""
        starts: set[str] = set()
        lines = self._read(DECISIONS, tail.decision.seq, heads)
        try:
            for number, line in enumerate(lines):
                if number % YIELD_EVERY == 0:
                    await asyncio.sleep(0)
                starts.add(iso(window_start(line.at, self._loaded.config.window_ms)))
        except LedgerCorruptError:
            return starts  # the job says which windows that voids
        return starts
