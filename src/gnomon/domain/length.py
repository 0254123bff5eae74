"""How long a text is in tokens, by an estimate that needs no tokenizer. Pure.

The length floor (page 3) and whoever watches for shrinking prompts count by this, so that a
floor does not move when the operator chooses another model. It is an estimate: 4 characters a
token is the usual figure for English prose, and the packaged prompts are that.
"""

CHARACTERS_PER_TOKEN = 4
FLOOR_SHARE = 0.5
"""Of the packaged default (seed 1, section 9: `current_default_length x 0.5`)."""


def estimated_tokens(text: str) -> int:
    """Tokens, about. White space counts once, so that padding is no length."""
    return -(-len(" ".join(text.split())) // CHARACTERS_PER_TOKEN)


def floor_tokens(packaged: str, most: int) -> int:
    """Below so many tokens a candidate is not kept: half of the packaged default, at most `most`
    (`length_floor_tokens` of fitness-config).
    """
    return min(most, int(estimated_tokens(packaged) * FLOOR_SHARE))
