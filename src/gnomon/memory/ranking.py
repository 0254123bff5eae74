"""The score of a note for a question: BM25 over what was found, in a bounded time. Pure.

The index's own BM25 counts every note that holds a term before it ranks one, which takes
longer the more common a word is. Here the score is computed over the candidates alone, and
how common a term is is estimated from how close together its newest notes lie.
"""

import math
from collections.abc import Mapping, Sequence

K1 = 1.2
B = 0.75
"""BM25's usual constants (Robertson and Zaragoza, 2009)."""
TYPICAL_LENGTH = 600
"""Characters of a typical note."""
TASK_WEIGHT = 2.0
"""A word in what was asked tells more than one in what was answered."""


def stem(term: str) -> str:
    """What English forms of a word share; the index itself stems by Porter's rules."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if term.endswith(ending) and len(term) - len(ending) >= 3:
            return term.removesuffix(ending)
    return term


def estimated_notes(newest: Sequence[int], sampled: int, last: int) -> float:
    """In how many notes a term stands, from its newest ones (numbers, falling).

    Fewer than `sampled` are all there are; else they lie as close together everywhere.
    """
    if len(newest) < sampled:
        return float(len(newest))
    span = max(1, last - newest[-1] + 1)
    return len(newest) / span * last


def weight(notes_with_term: float, notes: int) -> float:
    """Inverse document frequency, never negative."""
    return math.log(1 + (notes - notes_with_term + 0.5) / (notes_with_term + 0.5))


def score(task: str, answer: str, weights: Mapping[str, float]) -> float:
    """Higher is better. A term counts wherever its stem stands, also inside a word."""
    low_task, low_answer = task.lower(), answer.lower()
    length = (len(task) + len(answer)) / TYPICAL_LENGTH
    norm = K1 * (1 - B + B * length)
    total = 0.0
    for term, idf in weights.items():
        root = stem(term)
        times = TASK_WEIGHT * low_task.count(root) + low_answer.count(root)
        if times:
            total += max(idf, 0.0) * times * (K1 + 1) / (times + norm)
    return total
