"""Which numbers a text holds, however they are written. Pure.

Told from each other by how they are written and not by what they are worth: `0.42` and `42%`
are two, so that a number that a text had lends itself to no other. Bare integers from 0 to 10
are none (page 1), until they are put together: next to each other, as a ratio, or strung
closely through a sentence.

Found: digits of any script and grouping; anything that has a digit in it (hexadecimal,
exponents, versions); English words for numbers, parts and percentages, also run together, in
rot13 or spelt backwards; ratios and ranges of bare integers; Roman numerals; hexadecimal of letters
alone. Not found: numbers in words of other languages, tallies, and whatever two parties could
agree on beforehand. docs/adr/1231 says what follows from that.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gnomon.domain.number_words import DIGITS, ORDINALS, PARTS, SCALES, TEENS, TEN, TENS
from gnomon.refiner.spelling import ROT13, plain

MOST_BARE = 10
SMALL = (*DIGITS, TEN, *ORDINALS)
"""Words that are bare integers."""
DECADES = ("teens", *(f"{ten.removesuffix('y')}ies" for ten in TENS))
LARGE = (*TEENS, *TENS, *DECADES, *SCALES, *(f"{scale}s" for scale in SCALES), *PARTS)
CLOSE_CHARACTERS = 24
CLOSE_WORDS = 3
"""Bare integers that stand so close to each other, three and more, are strung together."""
HEX_WORDS = frozenset(
    (
        "added",
        "bead",
        "beef",
        "cafe",
        "dead",
        "deaf",
        "decade",
        "deed",
        "facade",
        "face",
        "faced",
        "fade",
        "faded",
        "feed",
    )
)
"""English words that hexadecimal could be; of the letters a to f alone, four or more."""

_NUMERAL = r"""
    (?<![^\W_]) (?:[.,](?=\d))? [^\W\d_]* \d [^\W_]*
    (?: [.,_'\u2019:/\u2044^\u066b\u00b7-] \d [^\W_]* )*
"""
_WORDS = "|".join(sorted((*SMALL, *LARGE), key=len, reverse=True))
_PERCENT = r"(?: \s* (?: % | \u2030 | (?:percent|per\ cent|pct|permille|basis\ points|bps)\b ))?"
_ATOM = re.compile(
    rf"(?:(?P<numeral>{_NUMERAL}) | (?<![^\W_])(?P<word>{_WORDS})(?:-?ish)?(?![^\W_]))"
    rf"(?P<percent>{_PERCENT})",
    re.VERBOSE,
)
_BARE = re.compile(r"(?P<number>\d|10)(?:st|nd|rd|th)?")
_NEXT = re.compile(r"""[\s.,;:_'"\u2019/\u00b7|()\[\]{}<>*`~=+\u2013\u2014-]{0,8}""")
"""Between two numbers that are one: no letter."""
_RATIO = re.compile(
    r"[\s(-]*(?:out\s+of|of|in|per|over|to|from|against|for\s+(?:every|each)|divided\s+by|vs|versus"
    r"|point|dot|decimal|comma)[\s-]+"
    r"(?:(?:the|all|its|every|each|some|about|around|roughly|nearly|almost|only|just)\s+){0,2}"
)
_PART = re.compile(
    rf"\b(?:(?:than|over|under|above|below|about|around|almost|nearly|roughly|only|barely|just|by)"
    rf"\s+an?[\s-]+(?:{'|'.join(ORDINALS[2:])})\b|an?[\s-]+(?:{'|'.join(ORDINALS[2:])})\s+of\b)"
)
"""A part of a whole: `about a third`, `a third of`. Other thirds come after a second."""
_TOKEN = re.compile(r"[^\W\d_]+")
_TOGETHER = re.compile(rf"(?:{_WORDS}){{2,}}")
_BACKWARDS = frozenset(word[::-1] for word in DIGITS)
_ROMAN = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})", re.IGNORECASE)
_ROMAN_BARE = frozenset(("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X"))
_ROMAN_WORDS = frozenset({"mix"})
_HEX = re.compile(r"[a-f]{4,}")


@dataclass(frozen=True)
class _Atom:
    start: int
    end: int
    bare: bool
    says_one: bool


def numbers(text: str) -> frozenset[str]:
    """Every number in it that is not a bare integer from 0 to 10, as it is written."""
    readable = plain(text)
    lowered = readable.lower()
    atoms = [_atom(found) for found in _ATOM.finditer(lowered)]
    rotated = lowered.translate(ROT13)
    words = [_atom(found) for found in _ATOM.finditer(rotated) if found["word"]]
    return frozenset(
        (
            *_joined(lowered, atoms),
            *_strung(lowered, atoms),
            *_joined(rotated, words),
            *_in_tokens(readable, lowered),
            *(found[0] for found in _PART.finditer(lowered)),
        )
    )


def _atom(found: re.Match[str]) -> _Atom:
    numeral, word = found["numeral"], found["word"]
    bare = _BARE.fullmatch(numeral) is not None if numeral else word in SMALL
    return _Atom(
        found.start(), found.end(), bare and not found["percent"], says_one=word in ("one", "first")
    )


def _joined(text: str, atoms: list[_Atom]) -> Iterator[str]:
    """Runs of atoms with nothing or a ratio's word between them, and what stands alone."""
    run: list[_Atom] = []
    for atom in atoms:
        if run and not _are_one(text[run[-1].end : atom.start]):
            yield from _told(text, run)
            run = []
        run.append(atom)
    yield from _told(text, run)


def _are_one(between: str) -> bool:
    return bool(_NEXT.fullmatch(between) or _RATIO.fullmatch(between))


def _told(text: str, run: list[_Atom]) -> Iterator[str]:
    if len(run) > 1 or (run and not run[0].bare):
        yield " ".join(text[run[0].start : run[-1].end].split())


def _strung(text: str, atoms: list[_Atom]) -> Iterator[str]:
    """Bare integers that follow closely on each other. The word `one` alone strings nothing:
    people say it all the time.
    """
    chain: list[_Atom] = []
    for before, atom in pairwise(atoms):
        if not chain:
            chain = [before]
        if not _is_close(text[before.end : atom.start]):
            yield from _chained(text, chain)
            chain = []
        else:
            chain.append(atom)
    yield from _chained(text, chain)


def _is_close(between: str) -> bool:
    return len(between) <= CLOSE_CHARACTERS and len(between.split()) <= CLOSE_WORDS


def _chained(text: str, chain: list[_Atom]) -> Iterator[str]:
    if sum(not atom.says_one for atom in chain) > 2:
        yield " .. ".join(text[atom.start : atom.end] for atom in chain)


def _in_tokens(readable: str, lowered: str) -> Iterator[str]:
    for found in _TOKEN.finditer(lowered):
        token = found[0]
        if (
            _is_hexadecimal(token)
            or _TOGETHER.search(token) is not None
            or token in _BACKWARDS
            or _is_roman(readable[found.start() : found.end()])
        ):
            yield token


def _is_hexadecimal(token: str) -> bool:
    return _HEX.fullmatch(token) is not None and token not in HEX_WORDS


def _is_roman(token: str) -> bool:
    """Over ten. In small letters from three on, since shorter ones are mostly something else."""
    if len(token) < 2 or _ROMAN.fullmatch(token) is None or token.upper() in _ROMAN_BARE:
        return False
    return token.isupper() or (len(token) > 2 and token.lower() not in _ROMAN_WORDS)
