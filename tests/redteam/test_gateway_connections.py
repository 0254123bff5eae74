"""Another user of this machine opens connections and says nothing: the operator still gets in,
and descriptors are left for the ledgers.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import aiohttp
import pytest

from gnomon.gateway import connections
from gnomon.gateway.listen import Listener, listen
from gnomon.testing.operations import OPERATOR_TOKEN, PretendedHouse

pytestmark = [pytest.mark.redteam, pytest.mark.timeout(60)]
KEY = {"Authorization": f"Bearer {OPERATOR_TOKEN}"}
FLOOD = connections.MAX_CONNECTIONS + 72

Stranger = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def served() -> AsyncGenerator[Listener]:
    listener = await listen(PretendedHouse().wiring(), 0)
    try:
        yield listener
    finally:
        await listener.close()


def gone(strangers: list[Stranger]) -> int:
    """How many the gateway has hung up on."""
    return sum(reader.at_eof() or reader.exception() is not None for reader, _ in strangers)


@contextlib.asynccontextmanager
async def flood(listener: Listener) -> AsyncGenerator[list[Stranger]]:
    """Connections that say nothing, once the gateway holds no more of them than it should."""
    strangers = [await asyncio.open_connection("127.0.0.1", listener.port) for _ in range(FLOOD)]
    try:
        async with asyncio.timeout(5):
            while gone(strangers) < FLOOD - connections.MAX_CONNECTIONS:
                await asyncio.sleep(0.01)
        yield strangers
    finally:
        await hang_up(strangers)


async def hang_up(strangers: list[Stranger]) -> None:
    for _, writer in strangers:
        writer.close()
    await asyncio.gather(*(w.wait_closed() for _, w in strangers), return_exceptions=True)


async def test_silent_connections_are_bounded_and_the_operator_gets_in() -> None:
    async with served() as listener, aiohttp.ClientSession(headers=KEY) as operator:
        async with operator.get(listener.url + "/api/status.show") as answer:
            assert answer.status == 200
        async with (
            flood(listener) as strangers,
            aiohttp.ClientSession(headers=KEY) as another,
            another.get(listener.url + "/api/status.show") as answer,
        ):
            assert answer.status == 200
            assert gone(strangers) <= FLOOD - connections.MAX_CONNECTIONS + 2, "as few as it takes"


async def test_an_open_page_outlasts_a_flood() -> None:
    async with (
        served() as listener,
        aiohttp.ClientSession(headers=KEY) as operator,
        operator.get(listener.url + "/events") as stream,
    ):
        assert stream.status == 200
        await stream.content.readuntil(b"\n\n")
        async with flood(listener):
            assert stream.connection is not None
            assert stream.connection.transport is not None
            assert not stream.connection.transport.is_closing()


async def test_a_wrong_proof_keeps_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[object] = []
    monkeypatch.setattr(
        connections.Connections, "has_shown_proof", lambda _, transport: kept.append(transport)
    )
    async with served() as listener, aiohttp.ClientSession() as nobody:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Host": "evil.example"} | KEY):
            async with nobody.get(listener.url + "/api/status.show", headers=headers) as answer:
                assert answer.status in {401, 403}
        assert not kept


async def test_without_the_bound_the_strangers_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections.Connections, "_make_room", lambda *_: None)
    async with served() as listener:
        with pytest.raises(TimeoutError):
            async with flood(listener):
                pass
