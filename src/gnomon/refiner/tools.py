"""The refiner's four tools: what they are called, what they take, and how far they reach. Pure.

The scope is checked twice, by the same function: in the refiner's process, where a model's
call is refused before it goes anywhere, and in the gateway, which believes nothing that comes
from there (page 6).
"""

from functools import cache
from typing import Annotated, cast

import msgspec

from gnomon.agent.tool_specs import Arguments
from gnomon.domain.errors import (
    RecordError,
    ScopedToolViolationError,
    ToolNotFoundError,
    UsageError,
)
from gnomon.domain.json_value import Fields
from gnomon.domain.messages import ToolSpec
from gnomon.domain.plain import read
from gnomon.domain.records_change import Direction, Signal
from gnomon.refiner.check import TARGETS
from gnomon.refiner.trajectory import MOST_REFLECTIONS

READ_SCAFFOLD = "read_scaffold"
WRITE_SCAFFOLD = "write_scaffold"
READ_FITNESS = "read_fitness_ledger"
READ_TRAJECTORY = "read_trajectory_window"

MOST_RATIONALE = 1_500
MOST_CONTENT = 60_000
"""Characters. A paragraph; and of a file less than it may have at most."""

Target = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=200,
        description=f"One of: {', '.join(TARGETS)}.",
    ),
]


class ReadScaffold(Arguments, frozen=True):
    """Read one file of the instructions, as it is in force."""

    target: Target


class WriteScaffold(Arguments, frozen=True):
    """Propose one edit to one file: a passage to find, which stands there exactly once, and what
    replaces it; or the whole content. Only one proposal is taken.
    """

    target: Target
    rationale: Annotated[
        str,
        msgspec.Meta(
            min_length=1,
            max_length=MOST_RATIONALE,
            description="One paragraph: which failure, and why this would end it.",
        ),
    ]
    signal: Annotated[Signal, msgspec.Meta(description="What should move.")]
    direction: Annotated[Direction, msgspec.Meta(description="Which way.")]
    find: (
        Annotated[
            str,
            msgspec.Meta(max_length=MOST_CONTENT, description="The exact passage to replace."),
        ]
        | None
    ) = None
    replace: (
        Annotated[
            str, msgspec.Meta(max_length=MOST_CONTENT, description="What stands there instead.")
        ]
        | None
    ) = None
    content: (
        Annotated[
            str,
            msgspec.Meta(max_length=MOST_CONTENT, description="The whole file, in place of find."),
        ]
        | None
    ) = None


class ReadFitnessLedger(Arguments, frozen=True):
    """Read how the agent fared in the last days, and what became of earlier proposals."""


class ReadTrajectoryWindow(Arguments, frozen=True):
    """Read what the agent did lately, with its failures flagged beforehand."""

    reflections: Annotated[
        int, msgspec.Meta(ge=0, le=MOST_REFLECTIONS, description="How many, the newest.")
    ] = MOST_REFLECTIONS


ARGUMENTS: dict[str, type[Arguments]] = {
    READ_SCAFFOLD: ReadScaffold,
    WRITE_SCAFFOLD: WriteScaffold,
    READ_FITNESS: ReadFitnessLedger,
    READ_TRAJECTORY: ReadTrajectoryWindow,
}
"""The registry: exactly these."""


@cache
def specs() -> tuple[ToolSpec, ...]:
    """The four, as a model is told of them."""
    return tuple(_spec(name, arguments) for name, arguments in ARGUMENTS.items())


def _spec(name: str, arguments: type[Arguments]) -> ToolSpec:
    _, components = msgspec.json.schema_components([arguments])
    schema = cast("dict[str, object]", components[arguments.__name__])
    description = " ".join(str(schema.pop("description")).split())
    schema.pop("title", None)
    return ToolSpec(name=name, description=description, parameters=cast("Fields", schema))


def checked(name: str, arguments: Fields, *, written: bool) -> Arguments:
    """The call, if the refiner may make it. `written`: it has made its one proposal.

    Raises ToolNotFoundError for a tool that it does not have, RecordError for arguments that
    fit none, and ScopedToolViolationError (facts: `role`, `tool`, `reason`) for a file beyond
    its scope or a second proposal.
    """
    type_ = ARGUMENTS.get(name)
    if type_ is None:
        raise ToolNotFoundError("Tool not found.", tool=name[:64])
    call = read(arguments, type_)
    _check_text(call)
    if isinstance(call, ReadScaffold | WriteScaffold) and call.target not in TARGETS:
        raise violation(name, f"{call.target[:64]!r} is not in its scope")
    if isinstance(call, WriteScaffold) and written:
        raise violation(name, "a second proposal in one run")
    return call


def _check_text(call: Arguments) -> None:
    """What cannot be UTF-8 can stand in no file and on no ledger. Raises RecordError."""
    for value in msgspec.structs.asdict(call).values():
        try:
            str(value).encode()
        except UnicodeEncodeError as error:
            raise RecordError(
                "The arguments cannot be written as UTF-8.",
                kind=type(call).__name__,
                reason="not UTF-8",
            ) from error


def violation(tool: str, reason: str) -> ScopedToolViolationError:
    return ScopedToolViolationError(
        f"{tool} was refused: {reason}.",
        next_step=f"It reaches {', '.join(TARGETS)}, and takes one proposal a run.",
        role="refiner",
        tool=tool,
        reason=reason,
    )


def edited(asked: WriteScaffold, standing: str) -> str:
    """The whole text that is proposed. Raises UsageError where the call does not say one."""
    if asked.content is not None and asked.find is None and asked.replace is None:
        return asked.content
    if asked.content is not None or not asked.find or asked.replace is None:
        raise UsageError(
            "Nothing was proposed: the edit is not clear.",
            next_step="Give find and replace, or content alone.",
        )
    count = standing.count(asked.find)
    if count != 1:
        raise UsageError(
            f"Nothing was proposed: the passage to find stands there {count} times.",
            next_step="Copy a passage that stands there exactly once, character by character.",
        )
    return standing.replace(asked.find, asked.replace)
