"""A unified diff as rows that a page shows, with the words marked that differ. Pure, and bounded:
both texts may be made to be hard to compare, and pages are drawn where everything else runs.

Instructions are prose in long lines: without the words one would read the same paragraph twice
and search.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from typing import Literal

from gnomon.domain.unseen import is_crowded
from gnomon.gateway.dashboard.exact_text import exact

Kind = Literal["same", "added", "removed", "skip", "more"]

WORDS = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")
LONGEST = 400
"""Words of a line that is compared word by word."""
LONGEST_TEXT = 4_000
"""Characters of the same."""
WORK = 60_000
"""Steps of comparing that one diff may cost, each about 0.1 µs: a character cut into words, or a
word held against another. Lines that come when they are spent are shown whole."""
SHOWN = 600
"""Rows of one diff that a page shows."""
SHOWN_AT_ONCE = 250
"""Lines that went, or came, on end: a long block taken out leaves room for what is put in."""
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
    """`skip` stands for lines that are the same and not shown, `more` for `lines` lines that the
    page has no room for.
    """

    kind: Kind
    pieces: Sequence[Piece] = ()
    lines: int = 0


@dataclass
class _Purse:
    """The work that is left, and whether joiners are too many to look at each."""

    crowded: bool
    left: int = WORK

    def pays(self, steps: int) -> bool:
        self.left -= steps
        return self.left >= 0


@dataclass(frozen=True)
class _Run:
    """Lines on end with one sign: where they lie in the diff."""

    sign: str
    text: str
    end: int

    def lines(self, room: int) -> Sequence[str]:
        return [line[1:] for line in self.text.split("\n", room)[:room]]

    def left(self, shown: int) -> int:
        return self.text.count("\n") + 1 - shown


@dataclass
class _Block:
    """Lines on end that went, and the ones that came for them; of each how many more did."""

    removed: list[str] = field(default_factory=list[str])
    added: list[str] = field(default_factory=list[str])
    removed_more: int = 0
    added_more: int = 0


def diff_rows(diff: str) -> Sequence[DiffRow]:
    """The rows of a unified diff of one file."""
    rows: list[DiffRow] = []
    purse, block, room = _Purse(is_crowded(diff)), _Block(), SHOWN
    for run in _runs(diff):
        if run.sign != "+" and (run.sign != "-" or block.added or block.added_more):
            rows += _drawn(block, purse)
            block = _Block()
        lines = run.lines(max(1, min(room, SHOWN_AT_ONCE)))
        left = run.left(len(lines))
        match run.sign:
            case "-":
                block.removed += lines
                block.removed_more += left
            case "+":
                block.added += lines
                block.added_more += left
            case " ":
                rows += [
                    DiffRow("same", (Piece(exact(line, crowded=purse.crowded)),)) for line in lines
                ]
                rows += _more(left)
            case _:
                rows += [DiffRow("skip")] if rows else []
        room -= len(lines)
        if room <= 0:
            rest = sum(diff.count(f"\n{sign}", run.end) for sign in "+- ")
            return [*rows, *_drawn(block, purse), *_more(rest)]
    return [*rows, *_drawn(block, purse)]


_ENDS = {sign: re.compile(rf"\n(?!{re.escape(sign)})") for sign in "+- @"}
_LINE_END = re.compile("\n")


def _runs(diff: str) -> Iterator[_Run]:
    """From the first hunk on: what stands before names the files. That a file ends without a
    newline is no news to a reader.
    """
    diff = diff.removesuffix("\n")
    at = 0 if diff.startswith("@@") else diff.find("\n@@") + 1 or len(diff)
    while at < len(diff):
        sign = diff[at]
        found = _ENDS.get(sign, _LINE_END).search(diff, at)
        end = found.start() if found else len(diff)
        if sign in _ENDS:
            yield _Run(sign, diff[at:end], end)
        at = end + 1


def _drawn(block: _Block, purse: _Purse) -> Iterator[DiffRow]:
    """What went, then what came, line against line."""
    removed = [exact(line, crowded=purse.crowded) for line in block.removed]
    added = [exact(line, crowded=purse.crowded) for line in block.added]
    pairs = [_compared(old, new, purse) for old, new in zip_longest(removed, added)]
    yield from (DiffRow("removed", old) for old, _ in pairs if old)
    yield from _more(block.removed_more)
    yield from (DiffRow("added", new) for _, new in pairs if new)
    yield from _more(block.added_more)


def _more(lines: int) -> Sequence[DiffRow]:
    return [DiffRow("more", lines=lines)] if lines else []


Pair = tuple[Sequence[Piece], Sequence[Piece]]
Span = tuple[bool, int, int]
"""Whether they differ, and from which word to which."""


def _compared(old: str | None, new: str | None, purse: _Purse) -> Pair:
    if old is None or new is None or old == new:
        return _whole(old), _whole(new)
    whole = _whole(old), _whole(new)
    if max(len(old), len(new)) > LONGEST_TEXT or not purse.pays(len(old) + len(new)):
        return whole
    before, after = WORDS.findall(old), WORDS.findall(new)
    if max(len(before), len(after)) > LONGEST:
        return whole
    blocks = _blocks(before, after, purse)
    same = sum(size for _, _, size in blocks or ())
    if blocks is None or 2 * same < AKIN * (len(before) + len(after)):
        return whole
    return (
        _pieces(before, _spans([(at, size) for at, _, size in blocks], len(before))),
        _pieces(after, _spans([(at, size) for _, at, size in blocks], len(after))),
    )


Block = tuple[int, int, int]
"""Words that are the same: from where in the old line, from where in the new one, how many."""


def _blocks(before: Sequence[str], after: Sequence[str], purse: _Purse) -> Sequence[Block] | None:
    """In order; None where the work that is left does not do. As difflib's matching blocks, of
    which each search is paid for first.
    """
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    commonest = max(Counter(after).values(), default=0)
    found: list[Block] = []
    open_: list[tuple[int, int, int, int]] = [(0, len(before), 0, len(after))]
    while open_:
        low, high, from_, to = open_.pop()
        if low >= high or from_ >= to:
            continue
        if not purse.pays((high - low) * (2 + min(commonest, to))):
            return None
        match = matcher.find_longest_match(low, high, from_, to)
        if match.size:
            found.append((match.a, match.b, match.size))
            open_.append((low, match.a, from_, match.b))
            open_.append((match.a + match.size, high, match.b + match.size, to))
    return sorted(found)


def _spans(same: Sequence[tuple[int, int]], end: int) -> Sequence[Span]:
    """The words that are the same, and those between."""
    spans: list[Span] = []
    at = 0
    for start, size in same:
        spans += [(True, at, start), (False, start, start + size)]
        at = start + size
    return [*spans, (True, at, end)]


def _whole(line: str | None) -> Sequence[Piece]:
    """A line without a counterpart; an empty one is still a line."""
    return () if line is None else (Piece(line),)


def _pieces(words: Sequence[str], spans: Sequence[Span]) -> Sequence[Piece]:
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
