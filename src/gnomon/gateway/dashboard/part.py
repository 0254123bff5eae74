"""What a part of a page is: what it asks, and when it is stale."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Query = Mapping[str, str]
"""What `pages.QUERY` names of the address of a page or a part; empty where not given."""
Facts = Mapping[str, Any]
"""What a part's template is given."""


class Ask(Protocol):
    """Runs an operation by name. Raises the GnomonError tree."""

    async def __call__(self, name: str, /, **fields: Any) -> Any: ...


Load = Callable[[Ask, Query], Awaitable[Facts]]


@dataclass(frozen=True)
class Part:
    """`needs`: the operations without which it is absent. `stale_on`: kinds of the event
    stream after which it is drawn anew. `at_once`: the page waits a moment for it; else it
    comes by itself, or (`on_press`) when the reader asks for it.
    """

    needs: tuple[str, ...]
    load: Load
    stale_on: tuple[str, ...] = ()
    at_once: bool = True
    on_press: bool = False
    every: int = 0
    """Seconds after which an open page that is looked at draws it anew; 0: never."""
