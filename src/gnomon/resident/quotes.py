"""Answers made of dated quotes and nothing else. Pure.

Where no model can be believed, what was really said, with its date and place, is the answer.
"""

from collections.abc import Sequence

from gnomon.domain.views import Source
from gnomon.resident.turn_text import source_name

QUOTE_CHARACTERS = 400
NOTHING = "Nothing in your history matches that."
IMPORT = "`gnomon import --from claude-code` reads what your other agents left."
BETTER = "A better model can answer more than quotes: `gnomon model list`."


def answer_from(question: str, hits: Sequence[Source], imported: bool) -> str:
    """What the history says, the best match first. `question` is not repeated. `imported` says
    whether other agents' history was read: if not, that comes first.
    """
    if hits and question.strip():
        return describe(hits)
    return " ".join((NOTHING, *(() if imported else (IMPORT,)), BETTER))


def describe(hits: Sequence[Source]) -> str:
    """Each hit as a dated quote with its source; also how the recall tool tells a model."""
    return "\n\n".join(_quote(hit) for hit in hits) or "Nothing was found."


def _quote(hit: Source) -> str:
    quote = " ".join(hit.quote.split())
    if len(quote) > QUOTE_CHARACTERS:
        quote = quote[: QUOTE_CHARACTERS - 1] + "…"
    return f"{hit.dated} · {hit.source}: “{quote}”\n  {source_name(hit)}"
