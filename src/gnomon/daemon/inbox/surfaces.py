"""What is brought to the operator: kept, written down, shown. The one writer of
`surface_emitted`.

A line never stands without what it says: the text goes to the disk first, under its own hash.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import msgspec

from gnomon.daemon.inbox.day_queue import Asked, DayQueue, Payload
from gnomon.daemon.store.disk_words import disk_named
from gnomon.daemon.store.stores import Stores
from gnomon.disk import Disk
from gnomon.domain.canonical import canonical
from gnomon.domain.errors import GnomonError, StateError
from gnomon.domain.instants import Millis
from gnomon.domain.json_value import Json
from gnomon.domain.records import Sha256
from gnomon.domain.records_referee import SurfaceEmitted
from gnomon.statefile import read_state, write_atomic, write_state

ID_HEX = 20


class Gate(Protocol):
    """Whether something is news (page 7). `delivered` is told once it was shown, so that what
    could not be shown may be tried again.
    """

    def suppressed(self, key: str, material: Json) -> bool: ...

    def delivered(self, key: str, material: Json) -> None: ...


class OpenGate:
    """Lets everything pass."""

    def suppressed(self, key: str, material: Json) -> bool:
        del key, material
        return False

    def delivered(self, key: str, material: Json) -> None:
        del key, material


class Surfaces:
    """`look` holds the ledger for one writer, once a sleep or a step of the clock up to now is on
    it. `show` publishes an open page's event: kind of the surface, id, whether to interrupt.
    """

    def __init__(
        self,
        stores: Stores,
        disk: Disk,
        gate: Gate,
        show: Callable[[str, SurfaceEmitted], None],
        queue: DayQueue,
        look: Callable[[], AbstractAsyncContextManager[Millis]],
    ) -> None:
        self._stores = stores
        self._disk = disk
        self._gate = gate
        self._show = show
        self._queue = queue
        self._look = look
        self._one = asyncio.Lock()

    @property
    def waiting(self) -> int:
        """How many wait for a day with room."""
        return len(self._queue)

    async def emit(self, asked: Asked) -> str | None:
        """Bring it; its id. Null when it is no news, or waits for a day with room: then no line
        is written.

        Raises LedgerError, DiskError: then it was not shown and may be brought again.
        """
        async with self._one:
            key = asked.dedupe_key
            if key is not None and self._gate.suppressed(key, asked.material):
                return None
            if not (asked.at_once or asked.synthetic or self._queue.has_room()):
                with disk_named():
                    self._queue.put(asked)
                return None
            return await self._bring(asked)

    async def release(self, scaffold_version: str) -> int:
        """For the beat: bring what waited, as far as today has room; how much that was. Raises as
        `emit`; what could not be brought waits on.
        """
        brought = 0
        async with self._one:
            while len(self._queue):
                with disk_named():
                    asked = self._queue.take(scaffold_version)
                if asked is None:
                    break
                now = msgspec.structs.replace(asked, scaffold_version=scaffold_version)
                try:
                    await self._bring(now)
                except (GnomonError, OSError):
                    with disk_named():
                        self._queue.put(asked)
                    raise
                brought += 1
        return brought

    async def _bring(self, asked: Asked) -> str:
        async with self._look() as now:
            surface = self._line(asked, now)
            self._keep(surface.payload_sha256, asked.payload)
            await self._stores.append("engagement-ledger", surface)
        if asked.dedupe_key is not None:
            self._gate.delivered(asked.dedupe_key, asked.material)
        self._show(asked.mode, surface)
        return surface.surface_id

    def said(self, surface: Sha256) -> Payload:
        """What a surface said, by its hash. Raises StateError when that is not on the disk."""
        path = self._stores.agent.surfaces / f"{surface}.json"
        found = read_state(path, Payload)
        if found is None or payload_sha256(found) != surface:
            reason = "it is gone" if found is None else "it is not what was shown"
            raise StateError(f"The text of this item cannot be shown: {reason}.", reason=reason)
        return found

    def edited(self, surface_id: str) -> str | None:
        """The operator's own wording of a surface."""
        return read_state(self._edit(surface_id), str)

    def keep_edit(self, surface_id: str, text: str) -> None:
        write_state(self._edit(surface_id), text, disk=self._disk)

    def _edit(self, surface_id: str) -> Path:
        name = sha256(surface_id.encode()).hexdigest()
        return self._stores.agent.surfaces / f"edit-{name}.json"

    def _keep(self, name: Sha256, payload: Payload) -> None:
        path = self._stores.agent.surfaces / f"{name}.json"
        if not path.exists():
            with disk_named():
                write_atomic(path, canonical(payload) + b"\n", disk=self._disk)

    def _line(self, asked: Asked, now: Millis) -> SurfaceEmitted:
        stores, payload = self._stores, asked.payload
        said = payload_sha256(payload)
        of = {
            "agent": stores.agent.agent,
            "at": now,
            "seq": stores.files["engagement-ledger"].head.seq + 1,
            "payload": said,
        }
        shown = ("inbox", "dashboard") if asked.mode == "interrupt" else ("inbox",)
        return SurfaceEmitted(
            surface_id=f"sf-{sha256(canonical(of)).hexdigest()[:ID_HEX]}",
            surface_kind=payload.kind,
            title=payload.title,
            payload_sha256=said,
            artifact=payload.artifact,
            scaffold_version=asked.scaffold_version,
            origin=asked.origin,
            delivered_to=shown,
            synthetic=asked.synthetic,
        )


def payload_sha256(payload: Payload) -> Sha256:
    """The hash of what a surface says. Pure."""
    return sha256(canonical(payload)).hexdigest()
