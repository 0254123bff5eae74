"""Reads one file: recognises it, parses it line by line, and says what could not be read."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from gnomon.domain.plain_text import clean, one_line
from gnomon.domain.views_history import BadLine, ImportRow, TokenCounts
from gnomon.observe.transcripts.events import AnyEvent, NotARecord, Parser
from gnomon.observe.transcripts.file_fold import Claims, FileFold, FoundSession, FoundTurn
from gnomon.observe.transcripts.lines import RawLine, lines_of
from gnomon.observe.transcripts.recognise import Recogniser, parser_for
from gnomon.observe.transcripts.records import salvage, why_unreadable
from gnomon.observe.transcripts.session_fold import written

MOST_BAD_LINES = 1_000
"""Bad lines that are named one by one; those after it are counted in one last entry."""
SLICE = 16 * 1024 * 1024
"""Bytes after which a reading says how far it is."""
NONE = TokenCounts(input=None, output=None, cache_read=None, cache_creation=None)


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a file is read, in bytes."""

    file: str
    read: int
    size: int


Found = FoundTurn | FoundSession | Progress


class _BadLines:
    def __init__(self) -> None:
        self._named: list[BadLine] = []
        self._more = 0
        self._last = 0

    def add(self, line: int, reason: str) -> None:
        if self._named and self._named[-1].line == line:
            return
        if len(self._named) < MOST_BAD_LINES:
            self._named.append(BadLine(line=line, reason=one_line(reason, 200)))
        else:
            self._more += 1
            self._last = line

    def all(self) -> tuple[BadLine, ...]:
        if not self._more:
            return tuple(self._named)
        more = BadLine(line=self._last, reason=f"the last of {self._more} more bad lines")
        return (*self._named, more)


def bare_row(file: str, *, note: str, unreadable: bool = False) -> ImportRow:
    """The row of a file that holds no transcript, or that could not be read at all: then
    nothing is known, which is not 0.
    """
    known = None if unreadable else 0
    return ImportRow(
        file=clean(file),
        format=None,
        sessions=0,
        user_turns=0,
        tool_calls={},
        tool_errors=known,
        interruptions=known,
        rejections=known,
        models=(),
        tokens=NONE,
        first_at=None,
        last_at=None,
        bad_lines=(),
        new_observations=0,
        note=note,
    )


def reason_of(error: OSError) -> str:
    """`unreadable: permission denied`."""
    code = error.errno
    words = os.strerror(code).lower() if code is not None else type(error).__name__
    return f"unreadable: {words}"


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; never waits on a pipe or a device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    file = os.fdopen(descriptor, "rb", buffering=1024 * 1024)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file")
    return file


class Reading:
    """One file's reading. Iterate `run` to its end, then ask `row`."""

    def __init__(self, path: Path, claims: Claims) -> None:
        self._path = path
        self._claims = claims
        self._bad = _BadLines()
        self._fused: list[int] = []
        self._fold: FileFold | None = None
        self._parser: Parser | None = None
        self._note: str | None = None
        self._unreadable = False
        self._read = 0

    def run(self) -> Iterator[Found]:
        try:
            with open_regular(self._path) as file:
                yield from self._file(file)
        except OSError as error:
            self._note = reason_of(error)
            self._unreadable = True
        yield from self._finish()

    def _file(self, file: BinaryIO) -> Iterator[Found]:
        size = os.fstat(file.fileno()).st_size
        self._parser = self._recognised(file)
        if self._parser is None:
            return
        self._fold = FileFold(
            source=self._parser.source,
            path=str(self._path),
            stem=self._path.stem,
            claims=self._claims,
        )
        file.seek(0)
        since = 0
        for line in lines_of(file):
            self._line(line, self._parser, self._fold)
            yield from self._fold.turns()
            since += len(line.data) + 1
            if since >= SLICE:
                since = 0
                yield Progress(file=clean(str(self._path)), read=file.tell(), size=size)

    def _recognised(self, file: BinaryIO) -> Parser | None:
        recogniser = Recogniser()
        lines = 0
        for line in lines_of(file):
            lines += 1
            recogniser.look(line)
            if recogniser.done or (lines > 200 and self._path.suffix != ".jsonl"):
                break
        if recogniser.kind is not None:
            file.seek(0)
            return parser_for(recogniser.kind, file)
        if lines == 0:
            self._note = "empty"
        elif recogniser.strangers == 0 and not recogniser.document and self._is_jsonl():
            self._note = "no line could be read"
            self._name_all(file)
        else:
            self._note = "not a transcript of a format that is read"
        return None

    def _is_jsonl(self) -> bool:
        return self._path.suffix == ".jsonl"

    def _name_all(self, file: BinaryIO) -> None:
        file.seek(0)
        for line in lines_of(file):
            if line.data.strip() or line.too_long or line.nul:
                self._bad.add(
                    line.number, why_unreadable(line) or salvage(line).reason or "not JSON"
                )

    def _line(self, line: RawLine, parser: Parser, fold: FileFold) -> None:
        reason = why_unreadable(line)
        if reason is not None:
            self._bad.add(line.number, reason)
        if reason is not None or not line.data.strip():
            return
        try:
            events = parser.read(line.data, line.number)
        except (msgspec.DecodeError, RecursionError) as error:
            self._damaged(line, parser, fold, error)
            return
        for event in events:
            fold.take(event)

    def _damaged(self, line: RawLine, parser: Parser, fold: FileFold, error: Exception) -> None:
        """A line that is not one record of the format as it stands."""
        if isinstance(error, msgspec.ValidationError) and not line.data.lstrip().startswith(b"{"):
            fold.take(NotARecord(at=None, session=None, what="not an object"))
            return
        found = salvage(line)
        if found.reason is not None:
            self._bad.add(line.number, found.reason)
        elif len(found.values) > 1:
            self._fused.append(line.number)
        for value in found.values:
            for event in self._value(value, line, parser):
                fold.take(event)

    def _value(self, value: object, line: RawLine, parser: Parser) -> list[AnyEvent]:
        if not isinstance(value, dict):
            return [NotARecord(at=None, session=None, what="not an object")]
        try:
            return parser.read(msgspec.json.encode(value), line.number)
        except (msgspec.DecodeError, msgspec.MsgspecError, OverflowError, RecursionError) as error:
            self._bad.add(line.number, f"a record of another shape: {error}")
            return []

    def _finish(self) -> Iterator[Found]:
        if self._fold is None:
            return
        self._fold.end()
        yield from self._fold.turns()
        yield from self._fold.sessions()

    @property
    def whole(self) -> bool:
        """Whether all of the file could be read from the disk."""
        return not self._unreadable

    def row(self, new_observations: int) -> ImportRow:
        """The file's facts, once `run` has ended."""
        name = clean(str(self._path))
        fold, parser = self._fold, self._parser
        if fold is None or parser is None:
            row = bare_row(name, note=self._note or "", unreadable=self._unreadable)
            return msgspec.structs.replace(row, bad_lines=self._bad.all())
        folds = fold.folds()
        span = fold.span
        errors = fold.tool_errors()
        return ImportRow(
            file=name,
            format=parser.format,
            sessions=len(folds),
            user_turns=sum(each.turns for each in folds),
            tool_calls=dict(fold.calls),
            tool_errors=errors,
            interruptions=sum(each.interruptions for each in folds),
            rejections=None if errors is None else sum(each.rejections for each in folds),
            models=tuple(sorted({model for each in folds for model in each.models})),
            tokens=fold.token_counts(),
            first_at=written(span.first, span.first_stamp),
            last_at=written(span.last, span.last_stamp),
            bad_lines=self._bad.all(),
            new_observations=new_observations,
            fused_lines=tuple(self._fused[:MOST_BAD_LINES]),
            not_records=dict(fold.not_records),
            note=self._note,
        )
