"""The built-in tools: their names, what they take, and how a model is told of them.

One typed struct a tool is the only source: its JSON Schema is made from it, the loop checks
what a model wrote against it, and the tool host decodes it.
"""

from functools import cache
from typing import Annotated, cast

import msgspec

from gnomon.domain.json_value import Fields
from gnomon.domain.messages import ToolSpec

SHELL_SECONDS = 120
SHELL_SECONDS_MAX = 600
"""How long a command may take: unless said, and at most."""
READ_LINES = 500
"""Lines of one `read`, unless said."""
RECALL_LIMIT = 5
"""Quotes of one `recall`, unless said."""

Path = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=4096,
        description="Relative to the workspace, or absolute in a granted folder.",
    ),
]


class Arguments(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Base of all tools' arguments."""


class Read(Arguments, frozen=True):
    """Read a text file."""

    path: Path
    start: Annotated[int, msgspec.Meta(ge=1, description="First line, from 1.")] = 1
    lines: Annotated[int, msgspec.Meta(ge=1, le=10_000, description="How many.")] = READ_LINES


class Write(Arguments, frozen=True):
    """Create a file or replace all of it. Missing folders are made."""

    path: Path
    content: str


class Edit(Arguments, frozen=True):
    """Replace one passage of a file. `old` must stand there exactly once."""

    path: Path
    old: Annotated[str, msgspec.Meta(min_length=1, description="The exact text that is there.")]
    new: Annotated[str, msgspec.Meta(description="What is to stand in its place.")]


class List(Arguments, frozen=True):
    """List what a folder holds. Folders end with a slash."""

    path: Path = "."


class Search(Arguments, frozen=True):
    """Find lines that match a regular expression, in a file or all files of a folder."""

    pattern: Annotated[
        str, msgspec.Meta(min_length=1, max_length=1000, description="Python regular expression.")
    ]
    path: Path = "."
    files: Annotated[
        str, msgspec.Meta(max_length=200, description="Only files named so, for example *.py.")
    ] = "*"


class Shell(Arguments, frozen=True):
    """Run a shell command in the workspace and return its output. No network."""

    command: Annotated[str, msgspec.Meta(min_length=1, max_length=100_000)]
    timeout_seconds: Annotated[
        float, msgspec.Meta(ge=0.1, le=SHELL_SECONDS_MAX, description="Then it is ended.")
    ] = SHELL_SECONDS


class Recall(Arguments, frozen=True):
    """Search the owner's history and memory; returns dated quotes with their sources."""

    query: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    limit: Annotated[int, msgspec.Meta(ge=1, le=20)] = RECALL_LIMIT


ARGUMENTS: dict[str, type[Arguments]] = {
    "read": Read,
    "write": Write,
    "edit": Edit,
    "list": List,
    "search": Search,
    "shell": Shell,
    "recall": Recall,
}


@cache
def built_in() -> dict[str, ToolSpec]:
    """Every built-in tool by name."""
    return {name: _spec(name, arguments) for name, arguments in ARGUMENTS.items()}


def granted(names: tuple[str, ...]) -> tuple[ToolSpec, ...]:
    """The built-in ones of a manifest's `tools`, in its order."""
    known = built_in()
    return tuple(known[name] for name in names if name in known)


def _spec(name: str, arguments: type[Arguments]) -> ToolSpec:
    _, components = msgspec.json.schema_components([arguments])
    schema = cast(dict[str, object], components[arguments.__name__])
    description = str(schema.pop("description"))
    schema.pop("title", None)
    return ToolSpec(name=name, description=description, parameters=cast(Fields, schema))
