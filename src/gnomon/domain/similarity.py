"""When two wordings name one thing: a measure that the referee's config holds. Pure."""

from typing import Annotated

import msgspec
from msgspec import Meta


class Similarity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """They share so many words, and so much of the smaller set of words."""

    shared_words: Annotated[int, Meta(ge=1)] = 3
    shared_part: Annotated[float, Meta(gt=0, le=1)] = 0.45


HOUSE = Similarity()
"""As page 5 has it: 3 words and 45%."""
