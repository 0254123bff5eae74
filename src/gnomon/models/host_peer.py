"""The pipe as a model host and its adapter see it: the part of `trust.ipc.Peer` they use."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from gnomon.domain.json_value import Fields, Json

Serve = Callable[[str, Fields, Callable[[Json], None]], Awaitable[Json]]
"""Answers one operation: op, arguments, a function that sends a part; gives the result."""


class HostPeer(Protocol):
    """The host's side, and the gateway's."""

    async def call(
        self,
        op: str,
        args: Fields,
        *,
        on_part: Callable[[Json], None] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the pipe's own signature
    ) -> Json: ...
    def serve(self, serve: Serve) -> None: ...
    async def closed(self) -> None: ...


class HostChild(Protocol):
    """A started host, as `trust.jail.start` gives it."""

    @property
    def pid(self) -> int: ...
    @property
    def peer(self) -> HostPeer: ...
    async def wait(self) -> int: ...
    async def stop(self, grace: float) -> None: ...
