"""Whether an edit tells the agent that it may do more. Pure.

No text widens what the agent may do: tools, scopes, budgets and gates are the gateway's. But an
instruction to try costs calls and the operator's trust, so it is refused, and so is taking out
a sentence that forbids something (page 6). The rules are few, in English, and cautious: an edit
that they refuse wrongly is only one that was not tried.
"""

import re
from collections.abc import Mapping

from gnomon.refiner.spelling import plain

_GOODS = (
    r"(?:tools?|shells?|terminals?|commands?|networks?|internet|web|e-?mails?|messages?|"
    r"files?|folders?|programs?|code|scripts?|credentials?|secrets?|keys?|passwords?|"
    r"sub-?agents?|workspaces?|outside)"
)
_BOUNDS = (
    r"(?:limits?|bounds?|budgets?|quotas?|restrictions?|permissions?|rules?|instructions?|"
    r"gates?|polic(?:y|ies)|checks?|guards?|safety|safeguards?|cooldowns?|duty cycles?|"
    r"sandbox|jail|autonomy|thresholds?|approvals?|configs?|configuration|settings?|manifests?)"
)
_NEAR = r"[^.!?\n]{0,60}?"

RULES: Mapping[str, str] = {
    "gives leave": rf"\b(?:you|agent) (?:may|can|could|should|must|are (?:now )?(?:allowed|"
    rf"permitted|free|able|authori[sz]ed) to)\b(?! (?:not|never|no|only)\b){_NEAR}\b{_GOODS}\b",
    "gives leave in other words": rf"\b(?:feel free|allowed|permitted|permission|authori[sz]ed|"
    rf"entitled|granted?|access) (?:to|for|of){_NEAR}\b{_GOODS}\b",
    "lifts a limit": r"\b(?:ignore|disregard|override|overrule|bypass|circumvent|evade|lift|raise|"
    r"relax|remove|drop|exceed|disable|skip|turn off|loosen|extend|increase|change|edit|rewrite)"
    rf"\b{_NEAR}\b{_BOUNDS}\b",
    "orders a tool": r"\b(?:use|call|run|invoke|execute|start|open|try) "
    rf"(?:any|all|every|whatever|whichever|more|other|new|another|additional|the)\b{_NEAR}"
    r"\b(?:tools?|shells?|terminals?|commands?|programs?|scripts?|networks?)\b",
    "goes without the operator": r"\bwithout (?:\w+ ){0,3}(?:asking|approvals?|permissions?|"
    r"confirmation|confirming|consent|telling|waiting|the operator)\b",
    "names an address or a command": r"\b(?:https?|ftp|ssh)://|\b(?:sudo|curl|wget|ssh|chmod|"
    r"rm -rf|bash|/bin/|/etc/)\b",
}
"""By what an edit that matches does."""

_FORBIDS = re.compile(
    r"\b(?:cannot|can't|can not|may not|must not|mustn't|never|do not|don't|no outward|only the|"
    r"only text|nothing that|nobody)\b"
)
_CONCERNS = re.compile(rf"\b(?:{_GOODS}|{_BOUNDS}|operator|orders?|promise|transcripts?)\b")
"""What a sentence must be about for its loss to be refused: others may be reworded."""
_SENTENCE = re.compile(r"[^.!?\n]+")


def widening(candidate: str, incumbent: str) -> str | None:
    """What the edit does that it must not, in words; null where nothing was found."""
    after, before = _flat(candidate), _flat(incumbent)
    for does, pattern in RULES.items():
        if _matches(pattern, after) - _matches(pattern, before):
            return does
    if _forbidding(before) - _forbidding(after):
        return "takes out a sentence that forbids something"
    return None


def _flat(text: str) -> str:
    """Lower case; a line break inside a paragraph is a space, as it is to who reads it."""
    lowered = plain(text).lower().replace("\u2019", "'")
    return re.sub(r"[^\S\n]+|\n(?![\n#*-]|\d+\.)[^\S\n]*", " ", lowered)


def _matches(pattern: str, text: str) -> set[str]:
    return {found[0] for found in re.finditer(pattern, text)}


def _forbidding(text: str) -> set[str]:
    return {
        " ".join(re.findall(r"\w+", sentence))
        for sentence in _SENTENCE.findall(text)
        if _FORBIDS.search(sentence) and _CONCERNS.search(sentence)
    }
