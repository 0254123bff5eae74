"""When two sentences say nearly the same: the house rule for "same wording".

They share at least 3 words and 45% of the smaller one's; words of grammar do not count.
Two that have fewer than 3 such words are the same only when the words are equal.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

SHARED = 3
SHARE = 0.45
MOST_WORDS = 64
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?", re.UNICODE)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
GRAMMAR = frozenset(
    """
    a an the this that these those it its is are was were be been am i me my we us our you your
    he she they them his her their and or but so if then than as of to in on at by for from with
    into out up off over under again please just also very can could would should will shall do
    does did done have has had there here what which who when where why how all any some no yes
    ok okay hey sorry well now still too der die das ein eine und oder ist sind war ich du es
    bitte mal doch le la les un une des et ou est je tu il el los las y o es que de
    """.split()  # noqa: SIM905 - a list of quoted words is unreadable
)
"""Negations and "use", "instead" are not among them: in a correction they carry meaning."""


def words(text: str) -> frozenset[str]:
    """The words that count, in lower case; where no spaces part words, pairs of characters."""
    found: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if _CJK.search(word):
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif word not in GRAMMAR:
            found.add(word.replace("\u2019", "'"))
        if len(found) >= MOST_WORDS:
            break
    return frozenset(found)


def same_wording(shared: int, left: int, right: int) -> bool:
    """By the number of shared words and the two numbers of words."""
    smaller = min(left, right)
    if smaller < SHARED:
        return shared == left == right and shared > 0
    return shared >= SHARED and shared >= SHARE * smaller


def groups(texts: Iterable[str]) -> list[list[int]]:
    """Positions of texts that say the same, each group by its first text.

    A text joins the group whose first text it shares most words with, so groups do not
    drift. O(texts x groups that share a word).
    """
    members: list[list[int]] = []
    heads: list[frozenset[str]] = []
    holding: defaultdict[str, list[int]] = defaultdict(list)
    for position, text in enumerate(texts):
        own = words(text)
        shared = Counter(group for word in own for group in holding[word])
        best = [
            group
            for group, count in shared.most_common(8)
            if same_wording(count, len(own), len(heads[group]))
        ]
        if best:
            members[best[0]].append(position)
        elif own:
            for word in own:
                holding[word].append(len(members))
            members.append([position])
            heads.append(own)
    return members
