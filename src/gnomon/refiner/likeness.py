"""Whether an edit is one that failed before, in other words or another place. Pure.

The measure: of each edit, the words that it adds and those that it takes away, each as often
as it does; two edits are alike when what they share is at least 60% of what they come to
together (the Jaccard index of the two multisets, Jaccard 1901). Where a word stands does not
count, so that a sentence moved is the same edit.
"""

import re
from collections import Counter
from dataclasses import dataclass

from gnomon.domain.diff_body import diff_body
from gnomon.domain.records import Sha256

ALIKE = 0.6
_WORD = re.compile(r"\w+")
_PAIR = re.compile(r'"\w+"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[^,}\s]+)')
"""A name and its value in JSON: `4` alone would be the same for every threshold."""


@dataclass(frozen=True)
class Edit:
    """What an edit to a file changes: words with `+` or `-` before them, counted."""

    target: str
    words: Counter[str]


@dataclass(frozen=True)
class Failed:
    """A proposal that was not good enough: its file, its unified diff, its whole text's hash."""

    target: str
    diff: str
    candidate_sha256: Sha256


def edit_between(target: str, before: str, after: str) -> Edit:
    return _edit(target, _words(target, before), _words(target, after))


def edit_of_diff(target: str, diff: str) -> Edit:
    """The same from a unified diff: what stands on both sides of it cancels out."""
    lines = list(diff_body(diff))
    gone = "\n".join(line[1:] for line in lines if line.startswith("-"))
    come = "\n".join(line[1:] for line in lines if line.startswith("+"))
    return _edit(target, _words(target, gone), _words(target, come))


def likeness(one: Edit, other: Edit) -> float:
    """From 0, nothing in common, to 1. Two edits that change no word are not alike by it."""
    if one.target != other.target:
        return 0.0
    together = (one.words | other.words).total()
    return (one.words & other.words).total() / together if together else 0.0


def _edit(target: str, before: Counter[str], after: Counter[str]) -> Edit:
    words = Counter({f"+{word}": count for word, count in (after - before).items()})
    words.update({f"-{word}": count for word, count in (before - after).items()})
    return Edit(target, words)


def _words(target: str, text: str) -> Counter[str]:
    pattern = _PAIR if target.endswith(".json") else _WORD
    return Counter(re.sub(r"\s+", "", word) for word in pattern.findall(text.lower()))
