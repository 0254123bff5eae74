"""A Markdown document of an agent, as a page shows it: facts, then text. Pure.

The frontmatter is a contract between programs; people read it as a list of facts. What cannot
be taken apart is shown whole, so that nothing is hidden by being malformed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gnomon.agent.frontmatter import FrontmatterError, take_apart
from gnomon.domain.json_value import Json

MAX_FACT = 600
"""Characters of one fact."""


@dataclass(frozen=True)
class Fact:
    """A name of the frontmatter with its value in words; a list keeps its items apart."""

    name: str
    values: Sequence[str]


@dataclass(frozen=True)
class Shown:
    """`fault` says why there are no facts, where the text should have some."""

    facts: Sequence[Fact]
    body: str
    fault: str | None = None


def read_document(text: str) -> Shown:
    """Take a document apart for reading."""
    try:
        found = take_apart(text)
    except FrontmatterError as error:
        return Shown(facts=(), body=text, fault=error.message)
    facts = [Fact(name.replace("_", " "), _values(value)) for name, value in found.head.items()]
    return Shown(facts=[fact for fact in facts if fact.values], body=found.body)


def _values(value: Json) -> Sequence[str]:
    match value:
        case None:
            return ()
        case str():
            return (value[:MAX_FACT],) if value.strip() else ()
        case bool():
            return ("yes" if value else "no",)
        case int() | float():
            return (f"{value:g}" if isinstance(value, float) else str(value),)
        case Mapping():
            return [f"{name}: {', '.join(_values(each))}" for name, each in value.items()]
        case _:
            return [", ".join(_values(each)) for each in value]
