"""The gateway's side of an import: starts the importer, writes what it found, remembers.

What is written can be read again from the transcripts, so lines are acknowledged before
their sync and the last of each save is durable.
"""

import base64
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import chain
from pathlib import Path

import msgspec

from gnomon.domain.errors import PipeError, UsageError
from gnomon.domain.json_value import Fields
from gnomon.domain.ledgers import GENESIS
from gnomon.domain.plain_text import clean
from gnomon.domain.ports import Call, Ledger
from gnomon.domain.views_history import ImportRow
from gnomon.observe.cursors import Cursors, ReadFile, encode, from_lines, load, turn_key
from gnomon.observe.exchange import Batch
from gnomon.observe.identity import compacted
from gnomon.statefile import write_atomic

StartImporter = Callable[[tuple[Path, ...]], AbstractAsyncContextManager[Call]]
"""Starts the jailed importer with read grants for these paths, and gives its pipe."""
OnProgress = Callable[[Fields], None]

SAVE_EVERY = 2_000
"""Statements after which the cursors are written in between."""


def checked(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The paths, absolute. Raises UsageError for one that is not there."""
    if not paths:
        raise UsageError("Nothing to import was named.", next_step="Name a file or a folder.")
    absolute = tuple(Path(path).expanduser().absolute() for path in paths)
    for path in absolute:
        try:
            there = path.exists()
        except OSError:
            there = True  # its row will say why it cannot be read
        if str(path) != clean(str(path)):
            raise UsageError("A path that is not UTF-8 cannot be named; name its folder.")
        if not there:
            raise UsageError(
                f"{path} does not exist.", next_step="Name a file or a folder.", path=str(path)
            )
    return absolute


def reconciled(cursors: Cursors, ledger: Ledger) -> Cursors:
    """The cursors as far as this ledger bears them out, and with what it holds beyond them."""
    head = ledger.head
    if cursors.seq > head.seq or not _same_line(cursors, ledger):
        cursors = Cursors()
    if cursors.seq == head.seq:
        return cursors
    more = from_lines(ledger.read(after_seq=cursors.seq, until=head))
    return msgspec.structs.replace(
        cursors, entries=cursors.entries + more, seq=head.seq, sha256=head.sha256
    )


def _same_line(cursors: Cursors, ledger: Ledger) -> bool:
    if cursors.seq == 0:
        return cursors.sha256 == GENESIS
    line = next(iter(ledger.read(after_seq=cursors.seq - 1, until=ledger.head)), None)
    return line is not None and line.seq == cursors.seq and line.sha256 == cursors.sha256


class _Import:
    def __init__(self, ledger: Ledger, file: Path, cursors: Cursors, progress: OnProgress) -> None:
        self._ledger = ledger
        self._file = file
        self._entries = bytearray(cursors.entries)
        self._files: dict[str, ReadFile] = dict(cursors.rows)
        self._progress = progress
        self._unsaved = 0
        self.rows: list[ImportRow] = []

    async def take(self, batch: Batch) -> None:
        statements = (*batch.observations, *batch.sessions)
        self._unsaved += len(statements)
        save = batch.done or self._unsaved >= SAVE_EVERY
        last = len(statements) - 1
        for index, body in enumerate(statements):
            await self._ledger.append(body, durable=save and index == last)
        self._entries += base64.b64decode(batch.entries)
        for done in batch.files:
            self.rows.append(done.row)
            if done.fingerprint is None:
                self._files.pop(done.row.file, None)
            else:
                self._files[done.row.file] = ReadFile(done.fingerprint, done.row)
        self._tell(batch)
        if save:
            self._unsaved = 0
            self.save()

    def _tell(self, batch: Batch) -> None:
        before = len(self.rows) - len(batch.files)
        for number, done in enumerate(batch.files, before + 1):
            self._progress({"file": done.row.file, "files": number})
        if batch.progress is not None:
            told: Fields = msgspec.to_builtins(batch.progress)
            self._progress(told)

    def save(self) -> None:
        head = self._ledger.head
        cursors = Cursors(
            seq=head.seq,
            sha256=head.sha256,
            entries=compacted(bytes(self._entries)),
            rows=self._files,
        )
        write_atomic(self._file, encode(cursors))


async def import_paths(
    paths: Sequence[Path],
    ledger: Ledger,
    cursors_file: Path,
    start_importer: StartImporter,
    progress: OnProgress,
    *,
    dry_run: bool = False,
) -> list[ImportRow]:
    """Read files and folders into the ledger of imported observations: a row a file.

    Importing again writes nothing that is there. `dry_run` reads, and writes no
    observation. Raises
    UsageError for a path that is not there, PipeError when the importer died; what was
    written until then stays, and counts once when it is read again.
    """
    wanted = checked(paths)
    cursors = _brought_up(cursors_file, ledger)
    async with start_importer((*wanted, cursors_file)) as call:
        names = [str(path) for path in wanted]
        await call("import", {"paths": names, "cursors": str(cursors_file)})
        if dry_run:
            return await _only_rows(call)
        running = _Import(ledger, cursors_file, cursors, progress)
        while True:
            batch = await _next(call)
            await running.take(batch)
            if batch.done:
                return running.rows


def _brought_up(file: Path, ledger: Ledger) -> Cursors:
    """The cursors that hold now, in their file, which is there afterwards."""
    before = load(file)
    cursors = reconciled(before, ledger)
    if cursors is not before or not file.exists():
        write_atomic(file, encode(cursors))
    return cursors


async def _next(call: Call) -> Batch:
    """Raises PipeError for what an importer in its right mind does not say."""
    try:
        batch = msgspec.convert(await call("next", {}), Batch)
        base64.b64decode(batch.entries, validate=True)
    except (msgspec.ValidationError, ValueError) as error:
        raise PipeError(f"The importer sent what is no batch: {error}") from error
    for seen in batch.observations:
        if seen.turn_id is not None and turn_key(seen.turn_id) is None:
            raise PipeError("The importer sent a turn whose id is none.", reason="turn-id")
    return batch


async def _only_rows(call: Call) -> list[ImportRow]:
    batches = [await _next(call)]
    while not batches[-1].done:
        batches.append(msgspec.structs.replace(await _next(call), observations=(), sessions=()))
    return [done.row for done in chain.from_iterable(batch.files for batch in batches)]
