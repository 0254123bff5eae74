"""What the gateway and the refiner's process say to each other, as types of both ends. Pure."""

from typing import Annotated

import msgspec

from gnomon.domain.manifest import Manifest
from gnomon.domain.records_change import Direction, Signal
from gnomon.domain.records_observe import Failure


class Said(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base: both ends are of one version, so an unknown field is an error."""


class RefinerArgument(Said, frozen=True):
    """A process begins."""

    manifest: Manifest


class Work(Said, frozen=True):
    """One run. `by_schema`: its model calls no tools, and is asked for a record instead."""

    run: str
    change_id: str
    by_schema: bool


class Ran(Said, frozen=True):
    """How a run ended. It is what the process says of itself, for people; the gateway counts
    and decides by what it saw.
    """

    stop_reason: str
    text: str
    tools: dict[str, int] = {}
    failures: tuple[Failure, ...] = ()
    error: str | None = None


class SchemaEdit(Said, frozen=True):
    """What a model that calls no tools answers with. Short, since a small model fills every
    field to its limit.
    """

    find: Annotated[str, msgspec.Meta(min_length=1, max_length=400)]
    replace: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    rationale: Annotated[str, msgspec.Meta(min_length=1, max_length=160)]
    signal: Signal
    direction: Direction
