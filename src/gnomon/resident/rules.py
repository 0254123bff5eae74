"""The rules of lower stages that a turn uses, handed over as callables.

The real ones are pure functions of `observe` and `memory`; `gnomon.resident.main` names them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gnomon.domain.messages import Message
from gnomon.domain.views import Source


@dataclass(frozen=True)
class Rules:
    """`corrected(text, history)`: whether a turn corrects what went before it.

    `answer(question, hits, imported)` is a reply made of dated quotes and nothing else;
    `describe(hits)` the same hits as the text of a tool's result.
    """

    corrected: Callable[[str, Sequence[Message]], bool]
    answer: Callable[[str, Sequence[Source], bool], str]
    describe: Callable[[Sequence[Source]], str]
