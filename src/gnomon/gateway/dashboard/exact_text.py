"""Texts that somebody decides on, as a page shows them. Pure."""

from gnomon.domain.unseen import is_crowded, unseen_shown


def exact(text: str, *, crowded: bool = False) -> str:
    """A text that somebody decides on: what cannot be seen is shown by its code, `⟨U+202E⟩`,
    and what only looks like such a code is not.
    With `crowded` the text is part of one that holds too many joiners to look at each.
    """
    joined = not (crowded or is_crowded(text))
    return unseen_shown(text.replace("⟨U+", "⟨U+27E8⟩U+"), _code, joined=joined)


def _code(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩"
