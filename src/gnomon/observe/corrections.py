"""Whether what a user wrote corrects what the agent did, by rules that can be read.

A turn corrects when it comes after work of the agent and one of these holds:

1. *Refusal*: it opens by taking back or forbidding ("no, ...", "stop", "don't", "undo that").
2. *Not what was asked*: it says that the result is not what was asked, meant or wanted.
3. *Wrong*: it calls the agent's result or act wrong, broken or made worse.
4. *Again*: it says that it was said before ("I told you", "as I said", "again you").
5. *This, not that*: it names what to use in place of what was used.
6. A call was rejected *with words*: those words correct.

Asking, agreeing, going on, reporting news and retrying are none of these. A rejection or an
interruption without words is evidence for the turn after it: there a rule of weaker words
("instead", "rather") is enough. No model is asked; the figures are in docs/corrections.md.
"""

import re
from dataclasses import dataclass
from typing import Literal

Rule = Literal["refusal", "not-asked", "wrong", "again", "this-not-that", "after-stop", "rejection"]
LOOKED_AT = 600
"""Characters of a turn that are looked at: a correction says so early; what is pasted after
it is somebody else's text."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What came before a turn in its session."""

    after_work: bool
    """The agent wrote or ran something."""
    after_stop: bool = False
    """The user interrupted or rejected the agent's last act."""


def _rule(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_AGREES = _rule(
    r"no (?:problem|worries|need|rush|idea|thanks|objections?|changes? needed)\b",
    r"(?:nein|non|no),? (?:danke|merci|gracias)\b",
    r"do not (?:worry|forget|hesitate|bother)\b",
    r"never ?mind\b",
)
_REFUSAL = _rule(
    r"(?:no|nope|nah|nein|non|нет|いや|いいえ|不对|不是|不行|不要)"
    r"\s*(?:[,.!;:\u2014\u2013\uff0c\u3002\u3001\uff01-]|$)",
    r"(?:no|nope)[,.]?\s+(?:no|do not|not|that|this|it|you|i|the|wait|stop|please|just|"
    r"leave|keep|use|wrong|we|never)\b",
    r"(?:please )?(?:stop|halt|stopp|arrête|para|остановись)\b(?!\s+(?:words?|list|sign|loss))",
    r"(?:wait|hold on|hang on|whoa)[,.! ]+"
    r"(?:no|stop|do not|that|this|you|why|never|not)\b",
    r"(?:please |and )?(?:do not|never)\s+"
    r"(?!(?:know|think|see|understand|mind|care|you|we|i|they)\b)\w(?!.{0,40}\byet\b)",
    r"put [^.?!\n]{1,40} back\b|bring back\b",
    r"(?:sorry,? |ok(?:ay)?,? |please )*"
    r"(?:undo|revert|roll ?back|take back|put back|remove|drop)\s+"
    r"(?:it|that|this|those|these|your|everything|all(?: of)? (?:of )?(?:it|that|this|your)|"
    r"the (?:last )?(?:change|commit|edit)s?)\b",
    r"leave [^.?!\n]{1,60} alone\b",
    r"(?:mach|nimm) (?:das|es) (?:rückgängig|zurück)",
    r"annule|deshaz|отмени|верни|撤销|元に戻",
)
_NOT_ASKED = _rule(
    r"\bnot (?:what|the (?:one|thing|way|file|place)(?: that)?) (?:i|we) "
    r"(?:asked|wanted|meant|said|need|had in mind)",
    r"\b(?:did not|never|have not) (?:i )?"
    r"(?:ask(?:ed)?|want(?:ed)?|tell|told|say|said)(?: you| for| that| to)\b",
    r"\bi (?:meant|actually (?:meant|wanted|want|asked)|wanted (?:you to|it to)"
    r"|asked (?:you )?(?:for|to))\b",
    r"\bactually,? i (?:meant|wanted|asked)\b",
    r"\byou (?:misunderstood|misread|ignored|forgot|missed|skipped|overlooked)\b",
    r"\byou did not (?:fix|do|follow|read|run|check|update|add|change|use|answer)\b",
    r"\bthat'?s not (?:it|right|correct|true|how|what|the)\b",
    r"\b(?:this|that|it) (?:is|was) not (?:it|right|correct|true|how|what)\b",
    r"\bi do not want (?:a|an|any|you to)\b|\bwhere (?:did|are) my\b",
    r"das (?:ist|war) nicht (?:das|was|richtig)|ich (?:wollte|meinte|habe gesagt)",
    r"ce n'est pas (?:ce que|ça|correct)|je voulais|no es lo que|eso no es|quise decir",
    r"это не то|я (?:имел|просил|хотел)|我(?:说|要|指)的(?:是|不是)|不是这个|違う|そうじゃな",
)
_WRONG = _rule(
    r"\b(?:that|this|it|those|these|your \w+|you)(?:'s|'re| is| are| was| were| looks?| seems?)? "
    r"(?:still |all |just |completely |totally )?(?:wrong|incorrect|broken|backwards?|false)\b",
    r"\byou (?:just |have |'ve |also |keep |always )*(?:broke|break(?:ing)?|deleted|removed|"
    r"overwrote|changed the wrong|messed|ruined|undid|made (?:it|this|that) worse|hallucinat\w+|"
    r"made (?:that|this|it) up)\b",
    r"\b(?:that|this|your \w+) (?:just )?broke\b",
    r"\b(?:in|at|to|from|on|gave you|gave|edited|used|picked|changed|wrote|touched) "
    r"the wrong \w+",
    r"^(?:the )?wrong\b|^(?:still|again) (?:wrong|broken|not)\b",
    r"\bstill (?:(?:does not|is not|not) (?:work|compile|run|right|correct|fixed|pass)"
    r"|fail(?:s|ing)|get(?:ting)?|see(?:ing)?|broken|wrong|crash\w*)\b",
    r"\b(?:that|this|it) (?:just |only )?made (?:it|this|that|things|everything) \w+",
    r"^(?:does|did|do) not (?:work|compile|help)",
    r"^(?:way |much |far )?too \w+\s*(?:[,.;!]|$)",
    r"\bwhy (?:did|do|are|would) you\b(?!.{0,20}\b(?:think|suggest|recommend|prefer)\b)",
    r"\byou (?:should (?:not|have)|were (?:not )?supposed|must not)\b",
    r"\b(?:this|that) (?:does|did) not (?:work|compile|help|make sense)\b",
    r"warum hast du\b|pourquoi (?:as-tu|tu as)\b|por qué (?:has|hiciste)\b|зачем ты\b",
    r"(?:das|es) (?:ist|war) (?:falsch|kaputt)|c'est faux|está mal|неправильно|不对|错了|間違",
)
_REPROACH = _rule(
    r"you (?!(?:asked|mentioned|suggested|recommended|wanted|needed?|listed|proposed|offered|"
    r"named|explained|described|used to|can|could|may|might|decide|choose)\b)"
    r"(?:(?:just|have|also|again|still|keep|only) )?(?:\w+ed|are \w+ing|wrote|put|made|took|did)\b"
)
"""A turn that opens by telling the agent what it did is a reproach, or opens one."""
_AGAIN = _rule(
    r"\b(?:i|we)(?:'ve| have)? (?:already |just )?(?:told|asked|said|mentioned|explained)"
    r"(?: you)?(?: that| this| to| not| already| before| twice| \w+ times|,|:)",
    r"^again\s*[:,]",
    r"\bi (?:said|told you|asked for)\b[^.?!\n]{1,60},? not\b",
    r"\bas (?:i|we) (?:already )?(?:said|told|asked|mentioned)\b",
    r"\b(?:how many times|once again,? you|again,? (?:you|do not|no)|"
    r"you (?:did|do) it again|you keep)\b",
    r"wie (?:schon )?gesagt|ich habe (?:doch )?gesagt|je t'ai (?:déjà )?dit|ya te dije"
    r"|я же (?:сказал|просил)",
)
_THIS_NOT_THAT = _rule(
    r"^(?:please |just |and )?(?:use|run|call|keep|write|put|make|do|name)\b[^.?!\n]{1,80}"
    r"(?:,? (?:not|instead of|rather than|and not)\b|\binstead\b)",
    r"\b(?:should|must|needs to|has to|have to) (?:be|use|go|stay)\b[^.?!\n]{1,60}"
    r"(?:,? not\b|\binstead of\b|\brather than\b)",
    r"^(?:it|that|this|the \w+)(?:'s| is| are) [^?\n]{1,60}, not \w",
    r"^(?!i\b)[^?\n]{1,100}, not (?:a |an |the |in |to )?\w+[^,?\n]{0,30}$",
    r"^(?:actually,? |ok but |but )?not (?!sure|yet|really|bad|necessar)\w[^?\n]{0,80}$",
    r"\bthis time\b.{0,60}\b(?:read|use|do|check|run|without|only|properly|correctly)\b",
    r"\b(?:without|only|properly|correctly|carefully)\b.{0,40}\bthis time\b",
    r"\b(?:try again|redo|do it again)\b.{0,60}\b(?:but|without|this time|properly)\b",
)
_WEAK = _rule(
    r"\binstead\b|\brather\b|\bonly\b|\bfirst\b|\bnot\b|\bnever\b|\bleave\b|\bwithout\b",
    r"\bactually\b|\bstattdessen\b|\bplutôt\b|\ben (?:lugar|vez)\b|вместо|不要|ではなく",
)
_CANT = re.compile(r"\bcan'?t\b", re.IGNORECASE)
_CONTRACTED = re.compile(r"n't\b", re.IGNORECASE)
_NO_APOSTROPHE = re.compile(r"\b(do|did|does|is|was|are|have|should)nt\b", re.IGNORECASE)
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|^>[^\n]*$|`[^`\n]*`|\"[^\"\n]{40,}\"", re.DOTALL | re.MULTILINE
)
_GREETING = re.compile(
    r"^(?:(?:hm+|uh+|ah+|oh|hey|sorry|ok(?:ay)?|yes|yeah|well|so|and|but|please|look|hi|ach|äh)"
    r"[\s,.!:\u2026-]+)+", re.IGNORECASE
)  # fmt: skip


def own_words(text: str) -> str:
    """The beginning of a turn without code and quotes: what the user says themselves."""
    return _QUOTED.sub(" ", text[: LOOKED_AT * 4]).strip()[:LOOKED_AT]


def spelt_out(words: str) -> str:
    """`isn't` as `is not`, so that a rule need not know both."""
    plain = words.replace("\u2019", "'")
    return _CONTRACTED.sub(" not", _NO_APOSTROPHE.sub(r"\1 not", _CANT.sub("can not", plain)))


def correcting_rule(text: str, situation: Situation) -> Rule | None:
    """The rule by which the turn corrects; null when it does not."""
    if not situation.after_work:
        return None
    words = spelt_out(own_words(text))
    opening = _GREETING.sub("", words)
    if not words or _AGREES.match(opening):
        return None
    found = _by_opening(words, opening) or _by_any_place(words, opening)
    if found is None and situation.after_stop and _WEAK.search(words[:200]):
        return "after-stop"
    return found


def _by_opening(words: str, opening: str) -> Rule | None:
    if _REFUSAL.match(words) or _REFUSAL.match(opening):
        return "refusal"
    return "wrong" if _REPROACH.match(opening) else None


def _by_any_place(words: str, opening: str) -> Rule | None:
    if _NOT_ASKED.search(words):
        return "not-asked"
    if _WRONG.search(words) or _WRONG.match(opening):
        return "wrong"
    if _AGAIN.search(words):
        return "again"
    if _THIS_NOT_THAT.search(opening):
        return "this-not-that"
    return None
