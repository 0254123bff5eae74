"""Which of the found notes are shown, in which order, and how they are cut.

Pure. `Hit`s come from the index; `Source`s are what anyone sees: dated quotes that open.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from gnomon.domain.plain_text import boundary, cut
from gnomon.domain.views import Source
from gnomon.memory.query import Query

QUOTE = 320
"""Characters of a quote."""
MOST_QUOTED = 4_000
"""Characters of all quotes of one answer: about a thousand tokens."""
FEW = 3
"""All terms first; any term only when fewer than this match (page 9)."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A note that matched. A higher `score` is better."""

    note: int
    score: float
    source: str
    session: str
    at: str | None
    path: str | None
    line: int | None
    task: str
    answer: str
    session_at: str | None = None


def ordered(hits: Iterable[Hit]) -> list[Hit]:
    """Best score first; equal ones by the newer, then by the later note."""
    newest = sorted(hits, key=lambda hit: (hit.at or hit.session_at or "", hit.note), reverse=True)
    return sorted(newest, key=lambda hit: -round(hit.score, 6))


def sources(hits: Iterable[Hit], query: Query, limit: int) -> tuple[Source, ...]:
    """Dated quotes of the hits in their order, each text once, bounded together."""
    found: list[Source] = []
    said: set[str] = set()
    left = MOST_QUOTED
    for hit in hits:
        if len(found) >= limit or left <= 0:
            break
        quote = quoted(hit, query)
        if quote in said:
            continue
        said.add(quote)
        quote = cut(quote, left) if len(quote) > left else quote
        left -= len(quote)
        found.append(
            Source(
                source=hit.source,
                session=hit.session,
                at=hit.at,
                path=hit.path,
                line=hit.line,
                quote=quote,
                session_at=hit.session_at,
            )
        )
    return tuple(found)


def quoted(hit: Hit, query: Query) -> str:
    """What was asked, and the part of the answer around the words that match."""
    half = QUOTE // 2
    task = around(hit.task, query.terms, half if hit.answer else QUOTE)
    if not hit.answer:
        return task
    answer = around(hit.answer, query.terms, QUOTE - len(task))
    return f"{task} \N{RIGHTWARDS ARROW} {answer}"


def around(text: str, terms: tuple[str, ...], limit: int) -> str:
    """At most about `limit` characters in one line, with the first match inside, and cut
    inside no character.
    """
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    low = flat.lower()
    places = [place for place in (low.find(term) for term in terms) if place >= 0]
    first = min(places, default=0)
    if first < limit * 2 // 3:
        return cut(flat, limit)
    start = boundary(flat, first - limit // 3)
    space = flat.find(" ", start, first)
    start = space + 1 if space >= 0 else start
    return "…" + cut(flat[start:], limit - 1)
