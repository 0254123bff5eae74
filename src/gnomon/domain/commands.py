"""Commands that a sentence names, so that following it acts where one stands. Pure."""

import re

COMMAND = re.compile(r"(“[^”\n]*”)|(?<![\w./-])gnomon (?=[a-z](?![^`\n]*--(?:home|help)))")
"""`gnomon` before a verb: not within a quotation, which is somebody else's, and not where the
sentence says itself which home it means.
"""


def completed(text: str, options: str) -> str:
    """`text`, each command in it with `options` (` --home DIR`), which every verb takes first."""
    if not options:
        return text
    return COMMAND.sub(lambda found: found[1] or f"gnomon{options} ", text)
