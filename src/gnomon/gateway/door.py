"""By which door a question came in: what an operation may believe of whoever asks it.

Each door says so itself, before an operation runs: the admission of a request from its proof, a
verb of the CLI that has the home to itself. A caller can state none of it. An operation that
asks where nobody said anything is refused.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from gnomon.domain.errors import TrustError
from gnomon.gateway.operation import Authority

Way = Literal["cli", "dashboard"]
"""A bearer is the CLI's (it alone reads the operator's token), a cookie a browser's."""


@dataclass(frozen=True)
class Door:
    """Whom the proof let in, and which way."""

    authority: Authority
    way: Way


_DOOR: ContextVar[Door | None] = ContextVar("door", default=None)


@contextmanager
def entered(door: Door) -> Generator[None]:
    """What runs inside, tasks that it starts too, came in by this door."""
    token = _DOOR.set(door)
    try:
        yield
    finally:
        _DOOR.reset(token)


def operators_door() -> Door:
    """The door, when the operator came through it. Raises TrustError for anyone else."""
    door = _DOOR.get()
    if door is None or door.authority != "operator":
        raise TrustError(
            "Only the operator can do this.",
            next_step="Use the dashboard or the CLI.",
            role="client" if door else None,
        )
    return door


def by_a_page() -> bool:
    """Whether a browser asks."""
    door = _DOOR.get()
    return door is not None and door.way == "dashboard"
