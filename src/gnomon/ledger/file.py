"""The ledger as files: the one writer of page 2's append.

An append is stamped, written by one `os.write`, synced off the event loop, and only then
acknowledged. Appends that wait at the same time share a write and a sync. Nothing here
retries: a write that fails is cut back and said; a sync that fails closes the ledger.
"""

import asyncio
import functools
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path

from gnomon.disk import SYSTEM_DISK, Disk
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import Ack, Head, Line
from gnomon.domain.ports import Clock
from gnomon.domain.records import AnchoredHead, Body
from gnomon.ledger.batch import Waiting, acknowledge, refuse, release, stamp
from gnomon.ledger.codec import check_holds, prepare
from gnomon.ledger.flusher import Done, Flusher, Job, borrow, give_back
from gnomon.ledger.opening import create, inspect, set_aside
from gnomon.ledger.reading import UNTIL_THE_END, LedgerReader
from gnomon.ledger.refusals import closed, refused
from gnomon.ledger.segments import segment_path
from gnomon.ledger.stretch import StretchCount

SYNC_WITHIN = 0.5
"""Seconds until lines that were acknowledged before their sync are synced; page 2: one."""
Journal = Callable[[str], None]
"""Takes one sentence for the journal."""


class LedgerFile:
    """One ledger, open for appending. All methods belong to one event loop.

    `open` is the only way to make one. The home's lock makes this process the only writer.
    """

    def __init__(
        self,
        reader: LedgerReader,
        clock: Clock,
        stretch: StretchCount,
        disk: Disk,
        threads: Executor | None,
    ) -> None:
        self._reader = reader
        self._clock = clock
        self._stretch = stretch
        self._disk = disk
        self._threads = threads
        self._flusher: Flusher | None = None
        self._fd = -1
        self._closed_because: str | None = "it is not open yet"
        self._written = Head()  # the last line in the file
        self._acknowledged = Head()  # what readers may see
        self._durable = Head()  # the last line on the medium
        self._waiting: list[Waiting] = []  # not written yet
        self._unsynced: list[Waiting] = []  # written, waiting for the next sync
        self._arranged = False
        self._syncing = False
        self._sync_ended: list[asyncio.Future[None]] = []
        self._late: asyncio.TimerHandle | None = None
        self._idle: list[asyncio.Future[None]] = []

    @classmethod
    def open(  # noqa: PLR0913 - the wiring hands over each part
        cls,
        path: Path,
        name: str,
        bodies: object,
        clock: Clock,
        journal: Journal,
        *,
        known: AnchoredHead | None = None,
        stretch: StretchCount | None = None,
        disk: Disk = SYSTEM_DISK,
        threads: Executor | None = None,
    ) -> "LedgerFile":
        """Open or create the ledger that begins in `path`.

        `known` is its last anchored head: the chain is checked from there on. `stretch` counts
        when the clock was set back, together with other ledgers. A torn tail is set aside and
        told to the journal. Syncs run in `threads` (the loop's flusher if null).
        Raises LedgerCorruptError for any other bad line, LedgerError when the disk refuses.
        """
        reader = LedgerReader(path, name, bodies)
        ledger = cls(reader, clock, stretch or StretchCount(), disk, threads)
        ledger._open(journal, known)
        return ledger

    @property
    def name(self) -> str:
        return self._reader.name

    @property
    def head(self) -> Head:
        """The last acknowledged line."""
        return self._acknowledged

    @property
    def durable_head(self) -> Head:
        """The last line that is known to be on the medium: what anchors and jobs may cite."""
        return self._durable

    @property
    def closed_because(self) -> str | None:
        """Why it accepts nothing; null while it does."""
        return self._closed_because

    @property
    def busy(self) -> bool:
        """Whether lines wait to be written or synced."""
        return bool(self._waiting or self._syncing) or self._written != self._durable

    async def append(self, body: Body, *, durable: bool = True) -> Ack:
        """Write one line and return once it is on the medium (see `Ledger.append`).

        Raises RecordError when the body is none of this ledger's, is not of its type or has
        no canonical form (nothing is written),
        LedgerError when the disk took no more (cut back; a later append may succeed),
        LedgerClosedError when it is closed. Cancelled in time, it leaves no line.
        """
        self._check_open()
        check_holds(self._reader.bodies, body)
        answer: asyncio.Future[Ack] = asyncio.get_running_loop().create_future()
        self._waiting.append(Waiting(prepare(body), durable, answer))
        self._arrange()
        return await answer

    def read(self, *, after_seq: int = 0, until: Head | None = None) -> Iterator[Line]:
        """See `Ledger.read`; without `until` it ends at `head`."""
        return self._reader.read(after_seq=after_seq, until=until or self._acknowledged)

    def read_range(
        self, since: Millis, until_at: Millis = UNTIL_THE_END, *, until: Head | None = None
    ) -> Iterator[Line]:
        """Lines with `since <= at < until_at`. O(log n + lines read), over all segments."""
        return self._reader.read_range(since, until_at, until=until or self._acknowledged)

    async def synced(self) -> None:
        """Return once every line written so far is on the medium."""
        self._check_open()
        if not self.busy:
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._idle.append(done)
        self._arrange()
        await done

    async def close(self) -> None:
        """Sync what waits, then close the file. A ledger that has failed just closes."""
        try:
            if self._closed_because is None:
                await self.synced()
        finally:
            self._release("it was closed")

    async def reopen_verified(self, journal: Journal, known: AnchoredHead | None = None) -> None:
        """After a failure: cut back to the last line known to be on the medium, and open anew.

        What was written after it was never acknowledged as durable. Raises as `open` does;
        then the ledger stays closed.
        """
        if self._closed_because is None:
            return
        if self._syncing:
            ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._sync_ended.append(ended)
            await ended
        durable = self._durable
        known = known or AnchoredHead(seq=durable.seq, sha256=durable.sha256)
        await asyncio.get_running_loop().run_in_executor(self._threads, self._cut_to, durable)
        self._open(journal, known)

    # --- opening and closing ---------------------------------------------------------------

    def _open(self, journal: Journal, known: AnchoredHead | None) -> None:
        first = self._reader.first
        try:
            found = inspect(self._reader, known)
            if not first.exists():
                create(first, 1, self._disk)
            if found.torn is not None:
                journal(set_aside(found.torn, first, self.name, self._disk))
            self._fd = self._disk.open_append(segment_path(first, found.head.segment))
        except OSError as error:
            raise refused(self.name, error) from error
        self._written = self._acknowledged = self._durable = found.head
        self._stretch.join(found.head.segment, found.last_at)
        self._closed_because = None

    def _cut_to(self, head: Head) -> None:
        try:
            fd = self._disk.open_append(segment_path(self._reader.first, head.segment))
            try:
                self._disk.truncate(fd, head.offset)
                self._disk.sync(fd)
                self._disk.forget(fd)  # what is verified next comes from the medium
            finally:
                self._disk.close(fd)
        except OSError as error:
            raise refused(self.name, error) from error

    def _release(self, reason: str) -> None:
        self._closed_because = self._closed_because or reason
        if self._late is not None:
            self._late.cancel()
            self._late = None
        if self._fd >= 0 and not self._syncing:
            self._disk.close(self._fd)
            self._fd = -1
            if self._flusher is not None:
                give_back(self._flusher)
                self._flusher = None

    def _check_open(self) -> None:
        if self._closed_because is not None:
            raise closed(self.name, self._closed_because)

    # --- writing: one turn of the loop gathers all that wait ----------------------------------

    def _arrange(self) -> None:
        """See to the waiting once, after all who are about to run now have asked."""
        if not self._arranged:
            self._arranged = True
            asyncio.get_running_loop().call_soon(self._see_to_waiting)

    def _see_to_waiting(self) -> None:
        self._arranged = False
        try:
            self._write_waiting()
            self._start_sync()
        except BaseException as error:  # whatever it is: nothing is acknowledged after it
            self._fail(error)
            raise

    def _write_waiting(self) -> None:
        while self._closed_because is None and self._waiting:
            at = self._stretch.date(self._clock.wall())
            if self._written.segment == self._stretch.number:
                self._write_batch(at)
            elif self._syncing or self._written != self._durable:
                return  # the old segment is closed only once it is whole on the medium
            else:
                self._next_segment()
                self._arrange()  # the loop gets a turn between them: each syncs its folder
                return

    def _write_batch(self, at: Millis) -> None:
        batch = stamp(self._waiting, self._written, at)
        if not batch.items:
            return
        try:
            error = self._write(batch.data)
        except BaseException:
            self._waiting[:0] = batch.items  # whoever catches this refuses all who wait
            raise
        if error is not None:
            refuse(batch.items, refused(self.name, error))
            return
        self._written = batch.head
        self._unsynced += [item for item in batch.items if item.durable]
        early = [item for item in batch.items if not item.durable]
        if early:
            self._acknowledged = batch.head
            acknowledge(early)
            self._sync_late()

    def _write(self, data: bytes) -> OSError | None:
        """One write, all of it or none: what got through of a short one is cut back."""
        try:
            count = self._disk.write(self._fd, data)
            if count == len(data):
                return None
            error = OSError(None, f"only {count} of {len(data)} bytes were taken")
        except OSError as refusal:
            error = refusal
        try:
            self._disk.truncate(self._fd, self._written.offset)
        except OSError as worse:
            self._close(f"a short write could not be cut back ({worse.strerror})", worse)
        return error

    def _next_segment(self) -> None:
        """Begin the next file, `prev` carried over: `at` may start lower there."""
        number = self._written.segment + 1
        try:
            create(self._reader.first, number, self._disk)
            fd = self._disk.open_append(segment_path(self._reader.first, number))
        except OSError as error:
            self._close(f"its next segment could not be begun ({error.strerror})")
            return
        self._disk.close(self._fd)
        self._fd = fd
        head = Head(seq=self._written.seq, sha256=self._written.sha256, segment=number)
        self._written = self._acknowledged = self._durable = head

    # --- syncing ---------------------------------------------------------------------------

    def _sync_late(self) -> None:
        if self._late is None:
            loop = asyncio.get_running_loop()
            self._late = loop.call_later(SYNC_WITHIN, self._sync_is_late)

    def _sync_is_late(self) -> None:
        self._late = None
        self._start_sync(forced=True)

    def _start_sync(self, *, forced: bool = False) -> None:
        if self._closed_because is not None or self._syncing:
            return
        if self._written == self._durable:
            if not self._waiting:
                release(self._idle)
            return
        if not (forced or self._unsynced or self._waiting or self._idle):
            return  # only lines that were acknowledged early: their timer runs
        if self._late is not None:
            self._late.cancel()
            self._late = None
        covered, head = self._unsynced, self._written
        self._in_thread(
            functools.partial(self._disk.sync, self._fd),
            lambda error: self._sync_done(error, covered, head),
        )
        self._unsynced, self._syncing = [], True  # only now: starting it may have failed

    def _in_thread(self, sync: Job, done: Done) -> None:
        loop = asyncio.get_running_loop()
        if self._threads is not None:
            running = loop.run_in_executor(self._threads, sync)
            running.add_done_callback(lambda ended: done(_error_of(ended)))
            return
        if self._flusher is None:
            self._flusher = borrow(loop)
        self._flusher.run(sync, done)

    def _sync_done(self, error: BaseException | None, covered: list[Waiting], head: Head) -> None:
        self._syncing = False
        release(self._sync_ended)
        if error is not None:
            self._unsynced = covered + self._unsynced
            self._fail(error)
            return
        self._durable = head
        if head.seq > self._acknowledged.seq:
            self._acknowledged = head
        acknowledge(covered)
        if self._closed_because is not None:
            self._release(self._closed_because)
        else:
            # Whoever was just answered appends first; then all share the next sync.
            self._arrange()

    # --- failing ---------------------------------------------------------------------------

    def _fail(self, error: BaseException) -> None:
        """A sync failed, or something that must not: nothing more is acknowledged."""
        said = error.strerror if isinstance(error, OSError) else type(error).__name__
        self._close(f"a write or sync failed ({said})", error)

    def _close(self, reason: str, error: BaseException | None = None) -> None:
        self._closed_because = reason
        answer = closed(self.name, reason)
        answer.__cause__ = error
        # A death of the process (tests raise one) is no disk's word: it goes to the waiting.
        said = answer if error is None or isinstance(error, Exception) else error
        refuse(self._waiting + self._unsynced, said)
        self._waiting, self._unsynced = [], []
        release(self._idle, said)
        self._release(reason)


def _error_of(ended: asyncio.Future[None]) -> BaseException | None:
    return asyncio.CancelledError() if ended.cancelled() else ended.exception()
