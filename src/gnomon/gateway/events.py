"""The event stream over HTTP (server-sent events), resumed from `Last-Event-ID`.

No keep-alive is sent: on loopback a side that goes away is seen at once, so a quiet stream
costs nothing, however many pages are open.
"""

import asyncio
from collections.abc import Sequence

from aiohttp import web

from gnomon.gateway.answer import BusyError
from gnomon.gateway.stream import Entry, FellBehindError, Stream

MAX_READERS = 64
STALLED_SECONDS = 10.0
"""A reader that takes nothing for so long is dropped; it can resume."""
RETRY_MS = 1_000


class Events:
    """Serves one stream to any number of pages."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._readers: set[asyncio.Task[None]] = set()

    async def serve(self, asked: web.Request) -> web.StreamResponse:
        """GET /events. `?after=<id>` does what `Last-Event-ID` does, for a page that was asleep.

        The first event is `hello`, or `gap` when what came after the id is not kept any more:
        then the page must ask for everything anew.
        """
        if len(self._readers) >= MAX_READERS:
            raise BusyError("Too many pages are open.", next_step="Close some.", limit=MAX_READERS)
        seen = asked.headers.get("Last-Event-ID") or asked.query.get("after")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(asked)
        reader = asyncio.ensure_future(self._feed(response, seen))
        self._readers.add(reader)
        reader.add_done_callback(self._readers.discard)
        try:
            await reader
        except (TimeoutError, FellBehindError):
            _drop(asked)
        except asyncio.CancelledError:
            reader.cancel()
            raise
        return response

    async def end(self, _: web.Application) -> None:
        """Close every stream, so that stopping does not wait for open pages."""
        for reader in list(self._readers):
            reader.cancel()

    async def _feed(self, response: web.StreamResponse, seen: str | None) -> None:
        place = self._stream.place_of(seen)
        kind = "gap" if place is None else "hello"
        place = self._stream.last if place is None else place
        await _write(response, self._greeting(kind, place))
        async for batch in self._stream.follow(place):
            await _write(response, self._text(batch))

    def _greeting(self, kind: str, place: int) -> bytes:
        data = f'{{"life":"{self._stream.life}"}}'
        event_id = self._stream.event_id(place)
        return f"retry: {RETRY_MS}\nevent: {kind}\nid: {event_id}\ndata: {data}\n\n".encode()

    def _text(self, batch: Sequence[Entry]) -> bytes:
        return b"".join(
            b"event: %s\nid: %s\ndata: %s\n\n"
            % (entry.kind.encode(), self._stream.event_id(entry.number).encode(), entry.data)
            for entry in batch
        )


async def _write(response: web.StreamResponse, text: bytes) -> None:
    async with asyncio.timeout(STALLED_SECONDS):
        await response.write(text)


def _drop(asked: web.Request) -> None:
    if asked.transport is not None:
        asked.transport.abort()
