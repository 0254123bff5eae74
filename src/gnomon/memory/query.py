"""From what a person asks to what the index is asked. Pure."""

import re
from dataclasses import dataclass

MOST_TERMS = 12
_WORD = re.compile(r"[^\W_]+(?:[._/'-][^\W_]+)*", re.UNICODE)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
ASKING = frozenset(
    """
    a an the this that these those it its is are was were be been am i me my mine we us our you
    your he she they them of to in on at by for from with about into and or but so if then than
    as do does did done have has had how what when where why which who whom can could would
    should will shall may might please tell show find give know remember recall last time ever
    again there here any some thing things stuff wie was wann wo warum habe ich das der die ein
    eine comment quand pourquoi est le la les un une el los las que como cuando
    """.split()  # noqa: SIM905 - a list of quoted words is unreadable
)
"""Words by which a question is asked, not what it asks for."""


@dataclass(frozen=True, slots=True)
class Query:
    """`terms` are looked for; empty when the question holds nothing to look for."""

    terms: tuple[str, ...]

    @property
    def all_of(self) -> str:
        """Every term must stand there; the index's own query language."""
        return " ".join(_quoted(term) for term in self.terms)


def _quoted(term: str) -> str:
    """A term as data: nothing in it is an operator."""
    return '"' + term.replace('"', '""') + '"'


def parse(text: str) -> Query:
    """The words of a question that carry it; all of them where only asking words are left."""
    found = [word.lower() for word in _WORD.findall(text[:2_000])]
    wanted = [word for word in found if word not in ASKING]
    kept: dict[str, None] = {}
    for word in wanted or found:
        for term in _parts(word):
            kept.setdefault(term)
    return Query(tuple(kept)[:MOST_TERMS])


def indexed(text: str) -> str:
    """The text as the index takes it: where no spaces part words, pairs of characters are
    added, since those are what is asked for.
    """
    runs = _CJK_RUN.findall(text)
    if not runs:
        return text
    pairs = (run[at : at + 2] for run in runs for at in range(len(run) - 1))
    return f"{text}\n{' '.join(pairs)}"


def _parts(word: str) -> tuple[str, ...]:
    """Without spaces between words, pairs of characters are the terms."""
    if _CJK.search(word) and len(word) > 2:
        return tuple(word[at : at + 2] for at in range(len(word) - 1))
    return (word,)
