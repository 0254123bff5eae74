"""The lines of a unified diff of one file that say what differs. Pure."""

from collections.abc import Iterator
from itertools import dropwhile


def diff_body(diff: str) -> Iterator[str]:
    """Its lines from the first hunk on, each with its sign. Only what stands before names the
    files: within a hunk `+++` is a line that came and begins with `++`. Lines end at line feeds
    alone, so that no other sign of a text begins one.
    """
    return dropwhile(lambda line: not line.startswith("@@"), diff.removesuffix("\n").split("\n"))
