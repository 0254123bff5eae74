"""What any transcript says, in one small language, and the protocol of its parsers.

`at` is in UTC milliseconds and null where the source gives no time. `session` is null where
the source names none. `side` marks what a sub-agent did.
"""

from typing import Protocol

import msgspec

from gnomon.domain.instants import Millis


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: Millis | None
    session: str | None
    side: bool = False


class Seen(Event, frozen=True, gc=False):
    """A record of the session stands at this time. `stamp` is the time as written."""

    stamp: str | None = None


class Context(Event, frozen=True, gc=False):
    """Where the session works, and with which model from here on."""

    project: str | None = None
    model: str | None = None


class UserTurn(Event, frozen=True, gc=False):
    """A person wrote. `id` is the source's name of the record, where it has one. `spoken` is
    false for a command of the agent's program (`/review`): no words of the user, but what the
    agent then does was asked for by it.
    """

    id: str | None
    text: str
    line: int
    spoken: bool = True


class Answer(Event, frozen=True, gc=False):
    """The agent wrote; in a turn, the last one stands."""

    text: str
    line: int


class ToolCall(Event, frozen=True, gc=False):
    """`step` names it in a procedure: the tool, for a shell also the program. `said` is its
    command or its input, bounded.
    """

    id: str | None
    name: str
    step: str
    said: str | None = None


class ToolResult(Event, frozen=True, gc=False):
    """`failed` is null where the text does not tell. `code` is the error's family.

    `said` is what the user wrote while rejecting the call, `error` the telling line of one that
    failed, which stands at `line`.
    """

    call: str | None
    failed: bool | None
    code: str = "error"
    error: str | None = None
    line: int | None = None
    rejected: bool = False
    said: str | None = None


class Usage(Event, frozen=True, gc=False):
    """Tokens of one API reply; the row with most output stands for an `id`."""

    id: str | None
    model: str | None
    input: int
    output: int
    cache_read: int
    cache_creation: int


class Totals(Event, frozen=True, gc=False):
    """Tokens of the session so far, where the source adds them up itself."""

    input: int
    output: int
    cache_read: int


class Interrupted(Event, frozen=True, gc=False):
    """The user stopped the agent."""

    id: str | None


class Trouble(Event, frozen=True, gc=False):
    """The agent could not go on: the model's service refused or failed."""


class Finished(Event, frozen=True, gc=False):
    """The source says that the turn ended by itself. Milliseconds, where it says them."""

    duration: int | None = None


class Todos(Event, frozen=True, gc=False):
    """The to-do list as it now stands."""

    open: int


class NotARecord(Event, frozen=True, gc=False):
    """Well-formed JSON that is no record of the format."""

    what: str


AnyEvent = (
    Seen
    | Context
    | UserTurn
    | Answer
    | ToolCall
    | ToolResult
    | Usage
    | Totals
    | Interrupted
    | Trouble
    | Finished
    | Todos
    | NotARecord
)


class Parser(Protocol):
    """Reads one format. Stateful for a file; a record at a time.

    `read` takes the bytes of one JSON value and raises `msgspec.DecodeError` (malformed) or
    `msgspec.ValidationError` (an object of another shape).
    """

    @property
    def source(self) -> str: ...

    @property
    def format(self) -> str: ...

    def read(self, data: bytes, line: int) -> list[AnyEvent]: ...
