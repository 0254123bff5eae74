"""Prompts by name: no prompt text lives in code (page 4, AK-6).

A reference is `name@label`. Under the label `production` the scaffold's file `<name>.md` is
in force, and the packaged default where the scaffold has none; the label `packaged` always
names the packaged default. What was resolved is `name@label#<12 hex>`, which every trace and
spend line carries, so that a reply can be traced to the exact words that led to it.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from gnomon.domain.errors import UsageError

_REFERENCE = re.compile(
    r"(?P<name>[a-z0-9]+(?:[-/][a-z0-9]+)*)@(?P<label>[a-z0-9]+(?:-[a-z0-9]+)*)"
)
_PACKAGED = "packaged"


@dataclass(frozen=True)
class Prompt:
    """A resolved prompt: its words, and `name@label#sha12` of exactly these words."""

    text: str
    reference: str


def resolve(reference: str, scaffold: Mapping[str, str] | None = None) -> Prompt:
    """Find the words of `name@label`. `scaffold` maps file names (`inner-loop-prompt.md`) to
    the texts in force.

    Raises UsageError (facts: `prompt`) when the reference is malformed or names nothing.
    """
    parts = _REFERENCE.fullmatch(reference)
    if parts is None:
        raise UsageError(
            f"{reference!r} is not a prompt's name.",
            next_step="Write it as name@label, for example inner-loop-prompt@production.",
            prompt=reference,
        )
    name, label = parts["name"], parts["label"]
    text = (scaffold or {}).get(f"{name}.md") if label != _PACKAGED else None
    if text is None:
        text = _packaged(name, reference)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return Prompt(text=text, reference=f"{reference}#{digest}")


def _packaged(name: str, reference: str) -> str:
    file = resources.files("gnomon.data").joinpath("prompts", f"{name}.md")
    if not file.is_file():
        raise UsageError(
            f"There is no prompt {name!r}, neither in the scaffold nor in the package.",
            next_step="Check the manifest's prompts.",
            prompt=reference,
        )
    return file.read_text(encoding="utf-8")
