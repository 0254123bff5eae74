"""A ledger in memory: the same port, the same lines, no disk."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

from gnomon.domain.errors import LedgerCorruptError
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import Ack, Head, Line
from gnomon.domain.ports import Clock
from gnomon.domain.records import Body
from gnomon.ledger.codec import check_holds, decode_line, encode_line
from gnomon.ledger.reading import UNTIL_THE_END
from gnomon.ledger.stretch import StretchCount

P = ParamSpec("P")
R = TypeVar("R")


class MemoryLedger:
    """Stamps, chains and checks as a file does; passes the same contract tests."""

    def __init__(
        self, name: str, bodies: object, clock: Clock, stretch: StretchCount | None = None
    ) -> None:
        self.name = name
        self.lines: list[Line] = []
        self._bodies = bodies
        self._clock = clock
        self._heads: list[Head] = [Head()]
        self._stretch = stretch or StretchCount()
        self.segment_starts: tuple[int, ...] = ()
        """The `seq` from which on lines lie in the second segment, the third, and so on."""

    @property
    def head(self) -> Head:
        return self._heads[-1]

    @property
    def durable_head(self) -> Head:
        return self.head

    async def append(self, body: Body, *, durable: bool = True) -> Ack:
        del durable  # memory is as durable as it gets at once
        check_holds(self._bodies, body)
        at = self._stretch.date(self._clock.wall())
        while self.head.segment < self._stretch.number:
            self._next_segment()
        head = self.head
        raw = encode_line(head.seq + 1, at, head.sha256, body)
        line = decode_line(raw, self._bodies)
        self.lines.append(line)
        offset = head.offset + len(raw) + 1
        self._heads.append(
            Head(seq=line.seq, sha256=line.sha256, offset=offset, segment=head.segment)
        )
        return Ack(seq=line.seq, at=at, sha256=line.sha256)

    def read(self, *, after_seq: int = 0, until: Head | None = None) -> Iterator[Line]:
        end = self.head if until is None else until
        if end.seq > after_seq and (end.seq > len(self.lines) or self._heads[end.seq] != end):
            raise LedgerCorruptError(
                f"{self.name} does not reach the head that was acknowledged.",
                ledger=self.name,
                line=len(self.lines) + 1,
                reason="the ledger does not reach the head that was acknowledged",
            )
        yield from self.lines[after_seq : end.seq]

    def read_range(
        self, since: Millis, until_at: Millis = UNTIL_THE_END, *, until: Head | None = None
    ) -> Iterator[Line]:
        for line in self.read(until=until):
            if since <= line.at < until_at:
                yield line

    async def synced(self) -> None: ...

    async def close(self) -> None: ...

    def _next_segment(self) -> None:
        head = self.head
        self.segment_starts = (*self.segment_starts, head.seq + 1)
        self._heads[-1] = Head(seq=head.seq, sha256=head.sha256, segment=head.segment + 1)


class InlineThreads(Executor):
    """Runs at once what it is given: for event loops whose time is virtual."""

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        future: Future[R] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
            if not isinstance(error, Exception):
                raise
        return future
