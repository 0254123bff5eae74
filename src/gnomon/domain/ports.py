"""The ports: what a stage may ask of the world. `daemon/wire.py` hands over the real ones,
`gnomon.testing` the fakes; each port's fake and real one pass the same contract tests.
"""

from collections.abc import Awaitable, Callable, Iterator
from typing import Protocol

from gnomon.domain.events import Event
from gnomon.domain.instants import Millis
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.ledgers import Ack, Head, Line
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.domain.records import Body


class Clock(Protocol):
    """Three clocks. Nothing else asks the system for a time."""

    def wall(self) -> Millis: ...

    def monotonic(self) -> float:
        """Seconds; stands still while the machine sleeps."""
        ...

    def boottime(self) -> float:
        """Seconds since boot; goes on while the machine sleeps."""
        ...


class Ids(Protocol):
    """New identifiers: a prefix and a time-sorted random part."""

    def new(self, prefix: str) -> str: ...


class Ledger(Protocol):
    """One append-only file with one author role (page 2)."""

    @property
    def name(self) -> str: ...

    @property
    def head(self) -> Head: ...

    async def append(self, body: Body, *, durable: bool = True) -> Ack:
        """Stamp, write and acknowledge. `durable=False` acknowledges before the sync, which
        follows within a second: only for lines that a durable one can rebuild.
        """
        ...

    def read(self, *, after_seq: int = 0, until: Head | None = None) -> Iterator[Line]:
        """Lines in order, with `seq` above `after_seq`, up to a head. O(log n + lines read)."""
        ...


class Model(Protocol):
    """The only door to a model. Raises the `ModelError` tree; cancellable."""

    async def complete(
        self, request: ModelRequest, on_text: Callable[[str], None] | None = None
    ) -> ModelReply: ...


class Tools(Protocol):
    """Runs a granted tool; the result is text, bounded and marked as data."""

    async def run(self, name: str, arguments: Fields) -> "ToolResult": ...


class ToolResult(Protocol):
    """What came back from a tool."""

    @property
    def text(self) -> str: ...
    @property
    def error(self) -> str | None:
        """A stable code (`FILE_NOT_FOUND`, `EXIT_NONZERO`, `DENIED`), or null."""
        ...


class Pipe(Protocol):
    """The pipe to another process (`gnomon.trust.ipc.Peer`), for whoever asks over it."""

    async def call(
        self, op: str, args: Fields, *, on_part: Callable[[Json], None] | None = None
    ) -> Json:
        """Raises the GnomonError that the other side raised; PipeError when it is gone."""
        ...


class Child(Protocol):
    """A process that the gateway started (`gnomon.trust.jail.Child`), or what plays one."""

    @property
    def pid(self) -> int: ...
    @property
    def peer(self) -> Pipe: ...

    async def wait(self) -> int:
        """Its exit code once it has ended; negative for a signal."""
        ...

    async def stop(self, grace: float) -> None:
        """End it; it has `grace` seconds to end by itself."""
        ...


Emit = Callable[[Event], None]
"""Takes one event of the agent's stream."""

Call = Callable[[str, Fields], Awaitable[Json]]
"""Asks the process on the other side of the pipe: operation, arguments."""
