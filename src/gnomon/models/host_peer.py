"""The pipe as a model host sees it: the part of `trust.ipc.Peer` that it uses."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from gnomon.domain.json_value import Fields, Json

Serve = Callable[[str, Fields, Callable[[Json], None]], Awaitable[Json]]
"""Answers one operation: op, arguments, a function that sends a part; gives the result."""


class HostPeer(Protocol):
    def serve(self, serve: Serve) -> None: ...
    async def closed(self) -> None: ...
