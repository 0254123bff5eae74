"""A unified diff as rows that a page shows, with the words marked that differ. Pure.

Instructions are prose in long lines: without the words one would read the same paragraph twice
and search.
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, groupby, zip_longest
from typing import Literal

Kind = Literal["same", "added", "removed", "skip"]

WORDS = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")
LONGEST = 400
"""Words of a line that is compared word by word; the work grows with their square."""
AKIN = 0.4
"""How alike two lines are before the one is taken for a rewording of the other."""
BRIDGE = 4
"""Characters that are the same between two places that differ, and are marked with them: an
`and` that both happen to hold is no anchor for the eye."""


@dataclass(frozen=True)
class Piece:
    text: str
    differs: bool = False


@dataclass(frozen=True)
class DiffRow:
    """`skip` stands for lines that are the same and not shown."""

    kind: Kind
    pieces: Sequence[Piece] = ()


def diff_rows(diff: str) -> Sequence[DiffRow]:
    """The rows of a unified diff of one file."""
    rows: list[DiffRow] = []
    removed: list[str] = []
    for mark, lines in groupby(_body(diff), key=lambda line: line[:1]):
        texts = [line[1:] for line in lines]
        if mark == "-":
            removed = texts
            continue
        rows.extend(_reworded(removed, texts if mark == "+" else []))
        removed = []
        if mark == "@":
            rows.extend([DiffRow("skip")] if rows else [])
        elif mark != "+":
            rows.extend(DiffRow("same", (Piece(text),)) for text in texts)
    rows.extend(_reworded(removed, []))
    return rows


def _body(diff: str) -> Iterator[str]:
    """Its lines from the first hunk on: what stands before names the files. That a file ends
    without a newline is no news to a reader.
    """
    lines = dropwhile(lambda line: not line.startswith("@@"), diff.split("\n"))
    return (line for line in lines if line[:1] in {"@", "+", "-", " "})


def _reworded(removed: Sequence[str], added: Sequence[str]) -> Iterator[DiffRow]:
    """What went, then what came, line against line."""
    pairs = [_compared(old, new) for old, new in zip_longest(removed, added)]
    yield from (DiffRow("removed", old) for old, _ in pairs if old)
    yield from (DiffRow("added", new) for _, new in pairs if new)


def _compared(old: str | None, new: str | None) -> tuple[Sequence[Piece], Sequence[Piece]]:
    if old is None or new is None:
        return _whole(old), _whole(new)
    before, after = WORDS.findall(old), WORDS.findall(new)
    if max(len(before), len(after)) > LONGEST:
        return _whole(old), _whole(new)
    match = difflib.SequenceMatcher(None, before, after, autojunk=False)
    if match.ratio() < AKIN:
        return _whole(old), _whole(new)
    codes = match.get_opcodes()
    return (
        _pieces(before, [(code != "equal", start, end) for code, start, end, _, _ in codes]),
        _pieces(after, [(code != "equal", start, end) for code, _, _, start, end in codes]),
    )


def _whole(line: str | None) -> Sequence[Piece]:
    """A line without a counterpart; an empty one is still a line."""
    return () if line is None else (Piece(line),)


def _pieces(words: Sequence[str], spans: Sequence[tuple[bool, int, int]]) -> Sequence[Piece]:
    found = [
        Piece("".join(words[start:end]), differs) for differs, start, end in spans if end > start
    ]
    bridged = [
        piece.differs or (0 < at < len(found) - 1 and len(piece.text) <= BRIDGE)
        for at, piece in enumerate(found)
    ]
    merged: list[Piece] = []
    for differs, run in groupby(zip(found, bridged, strict=True), key=lambda pair: pair[1]):
        text = "".join(piece.text for piece, _ in run)
        end = len(text.rstrip()) if differs else len(text)
        merged.append(Piece(text[:end], differs))
        merged.append(Piece(text[end:]))
    return [piece for piece in merged if piece.text]
