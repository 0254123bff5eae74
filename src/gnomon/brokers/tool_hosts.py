"""The tool hosts: one jailed process a run, started when its first tool is called.

A host that died, or had to be killed, is started again once. The call that it died in is not
repeated: what it did by then is unknown, and only the agent can look.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from gnomon.agent.outcome import Outcome
from gnomon.agent.places import HostArgument
from gnomon.domain.errors import PipeError
from gnomon.domain.json_value import Fields
from gnomon.domain.plain import read
from gnomon.domain.ports import Child, Clock

MAX_STARTS = 2
IDLE_SECONDS = 300.0
"""A host that was not used for so long is ended; the next call starts another."""
GRACE_SECONDS = 1.0


StartHost = Callable[[HostArgument], Awaitable[Child]]


@dataclass
class _Slot:
    """One run's host. `busy` calls are under way; `starts` counts those that were not planned."""

    used_at: float
    host: Child | None = None
    argument: HostArgument | None = None
    busy: int = 0
    starts: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class ToolHosts:
    """All hosts of a gateway, by run."""

    def __init__(self, start: StartHost, clock: Clock) -> None:
        self._start = start
        self._clock = clock
        self._slots: dict[str, _Slot] = {}

    def __len__(self) -> int:
        return sum(slot.host is not None for slot in self._slots.values())

    async def call(
        self, run_id: str, argument: HostArgument, name: str, arguments: Fields, seconds: float
    ) -> Outcome:
        """Run one tool within `seconds`. Raises JailError when no host can be started."""
        slot = self._slots.setdefault(run_id, _Slot(self._clock.monotonic()))
        slot.busy += 1
        try:
            return await self._call(slot, argument, {"name": name, "arguments": arguments}, seconds)
        finally:
            slot.busy -= 1
            slot.used_at = self._clock.monotonic()

    async def _call(
        self, slot: _Slot, argument: HostArgument, request: Fields, seconds: float
    ) -> Outcome:
        host = await self._host(slot, argument)
        if host is None:
            return Outcome(text="The tool host died twice in this run.", error="TOOL_DIED")
        try:
            async with asyncio.timeout(seconds):
                return read(await host.peer.call("tool", request), Outcome)
        except TimeoutError:
            await self._drop(slot, host)
            text = f"The tool did not answer within {seconds:g} s and was ended."
            return Outcome(text=text, error="TIMEOUT")
        except PipeError:
            await self._drop(slot, host)
            text = "The tool host died. What the call did by then is unknown: look first."
            return Outcome(text=text, error="TOOL_DIED")

    async def _host(self, slot: _Slot, argument: HostArgument) -> Child | None:
        """The run's host, started when there is none; null when it died too often."""
        async with slot.lock:
            if slot.host is not None and slot.argument != argument and slot.busy == 1:
                # The operator granted or took back a folder: a new jail, by plan.
                await slot.host.stop(GRACE_SECONDS)
                slot.host, slot.starts = None, slot.starts - 1
            if slot.host is None and slot.starts < MAX_STARTS:
                slot.host = await self._start(argument)
                slot.argument = argument
                slot.starts += 1
            return slot.host

    async def _drop(self, slot: _Slot, host: Child) -> None:
        async with slot.lock:
            if slot.host is host:
                slot.host = None
        await host.stop(0)

    async def end_run(self, run_id: str) -> None:
        """End a run's host. A call that is under way answers `TOOL_DIED`."""
        slot = self._slots.pop(run_id, None)
        if slot is None:
            return
        async with slot.lock:
            host, slot.host, slot.starts = slot.host, None, MAX_STARTS
        if host is not None:
            await host.stop(GRACE_SECONDS)

    async def end_idle(self) -> None:
        """End what nobody uses; the beat calls this."""
        now = self._clock.monotonic()
        for run_id, slot in list(self._slots.items()):
            if slot.busy == 0 and now - slot.used_at >= IDLE_SECONDS:
                await self.end_run(run_id)

    async def close(self) -> None:
        await asyncio.gather(*(self.end_run(run_id) for run_id in list(self._slots)))
