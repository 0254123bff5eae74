"""Artifacts: Markdown whose frontmatter is a contract, checked against a schema by its kind.

The same check stands at both ends: where an agent made one, and where the gateway keeps it.
"""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any, cast

from gnomon.agent.frontmatter import Document, fault, take_apart, unwrapped

SCHEMA_FILE = "artifact.json"
SLUG_CHARACTERS = 60
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*@v[1-9][0-9]{0,5}")
"""An artifact's id, which is its file's name without `.md`: `plan-note-release@v3`."""


@dataclass(frozen=True)
class Artifact:
    """One that fits its schema. `text` is what is kept, to the byte."""

    kind: str
    title: str
    summary: str
    points: tuple[str, ...]
    text: str


def read_artifact(text: str, kind: str | None = None) -> Artifact:
    """The artifact that a text is; with `kind`, of that kind. Raises FrontmatterError."""
    document = take_apart(text)
    _check(document)
    head = cast("Mapping[str, Any]", document.head)
    if kind is not None and head["kind"] != kind:
        raise fault(f"kind must be {kind}")
    if not document.body:
        raise fault("nothing stands below the frontmatter")
    return Artifact(
        kind=head["kind"],
        title=head["title"],
        summary=" ".join(head["summary"].split()),
        points=tuple(head["points"]),
        text=unwrapped(text) + "\n",
    )


def is_news(points: Sequence[str], before: Sequence[str] | None) -> bool:
    """Whether an artifact says something that the last one of its title did not: a point of
    its contract that was not there, but for case, spaces and marks. No points are no progress.
    """
    known = {_folded(each) for each in before or ()}
    return any(_folded(each) not in known for each in points)


def slug(kind: str, title: str) -> str:
    """The name that all versions of one piece of work share. Titles that differ in what plain
    letters cannot hold keep apart by a piece of their hash.
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().casefold()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:SLUG_CHARACTERS].strip("-")
    lossless = (
        re.sub(r"[^a-z0-9]+", " ", plain).split()
        == re.sub(r"[\W_]+", " ", title.casefold()).split()
        and len(words) < SLUG_CHARACTERS
    )
    mark = "" if lossless and words else sha256(_folded(title).encode()).hexdigest()[:8]
    return "-".join(part for part in (kind, words, mark) if part)


def _folded(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"[\W_]+", " ", folded).split())


def _check(document: Document) -> None:
    error = next(iter(_validator().iter_errors(document.head)), None)
    if error is not None:
        where = ".".join(str(part) for part in error.absolute_path)
        raise fault(f"{where}: {error.message[:300]}" if where else error.message[:300])


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator  # heavy, and needed where artifacts are made

    return Draft202012Validator(schema())


def schema() -> Any:
    """The published JSON Schema of the frontmatter."""
    file = resources.files("gnomon.data").joinpath("schemas", SCHEMA_FILE)
    return json.loads(file.read_text(encoding="utf-8"))


def also_required(kind: str) -> tuple[str, ...]:
    """The names that a kind's frontmatter must hold besides what all kinds do."""
    rules = cast("Sequence[Any]", schema()["allOf"])
    found = (each for each in rules if each["if"]["properties"]["kind"]["const"] == kind)
    return tuple(name for each in found for name in each["then"]["required"])
