"""Gnomon's core in this process, for when no gateway runs: it has the home's lock meanwhile."""

import asyncio
import contextlib
from typing import TypeVar

from gnomon.cli.asks import Ask
from gnomon.cli.connection import OnPart
from gnomon.domain.errors import UsageError
from gnomon.domain.json_value import Fields
from gnomon.home import Home

R = TypeVar("R")


class LocalConnection:
    """One event loop that runs while a call does. The core lives in a task of its own, so that
    it is opened and closed by the same one, whatever is cancelled meanwhile.
    """

    running = False

    def __init__(self, home: Home, agent: str) -> None:
        self._home = home
        self._agent = agent
        self._runner = asyncio.Runner()
        self._owner: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Take the home. Raises HomeLockedError, HomeError, ConfigError."""
        self._runner.run(self._open())

    def call(self, ask: Ask[R], arguments: Fields, on_part: OnPart | None = None) -> R:
        return self._runner.run(self._call(ask, arguments, on_part))

    def close(self) -> None:
        """End the core in order and give the home back."""
        self._runner.run(self._end())
        self._runner.close()

    async def _open(self) -> None:
        self._opened = asyncio.Event()
        self._closing = asyncio.Event()
        self._owner = asyncio.create_task(self._own())
        waiting = asyncio.create_task(self._opened.wait())
        await asyncio.wait({waiting, self._owner}, return_when=asyncio.FIRST_COMPLETED)
        if self._owner.done():
            waiting.cancel()
            self._owner.result()

    async def _own(self) -> None:
        from gnomon.daemon.local import open_operations
        from gnomon.daemon.this_machine import this_machine

        async with open_operations(self._home, self._agent, this_machine()) as operations:
            self._operations = operations
            self._opened.set()
            await self._closing.wait()

    async def _call(self, ask: Ask[R], arguments: Fields, on_part: OnPart | None) -> R:
        from gnomon.gateway.door import Door, entered
        from gnomon.gateway.request import arguments_of_fields

        try:
            operation = self._operations[ask.name]
        except KeyError:
            raise UsageError(f"This Gnomon does not know {ask.name}.") from None
        with entered(Door("operator", "cli")):
            return await operation.run(
                arguments_of_fields(operation, arguments), on_part or (lambda _: None)
            )

    async def _end(self) -> None:
        if self._owner is not None:
            self._closing.set()
            with contextlib.suppress(Exception):  # an error of opening was raised by `open`
                await self._owner
