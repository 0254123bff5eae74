"""The ring of events: resumed, bounded, and never held up by a reader."""

import asyncio
import socket

import pytest

from gnomon.gateway import events
from gnomon.gateway.listen import listen
from gnomon.gateway.stream import MAX_EVENT_BYTES, FellBehindError, Stream
from gnomon.testing.clock import START
from gnomon.testing.operations import OPERATOR_TOKEN, PretendedHouse

BOUND = 5


def a_stream(ring: int = 4) -> Stream:
    return Stream(lambda: START, ring=ring)


async def test_a_reader_gets_what_waits_at_once_and_what_comes_later():
    stream = a_stream()
    stream.publish("status", 1)
    stream.publish("status", 2)
    reader = stream.follow(0)
    first = await asyncio.wait_for(anext(reader), BOUND)
    assert [entry.data for entry in first] == [b"1", b"2"]
    later = asyncio.ensure_future(anext(reader))
    await asyncio.sleep(0)
    stream.publish("event", {"a": 1})
    [entry] = await asyncio.wait_for(later, BOUND)
    assert (entry.kind, entry.data, entry.at) == ("event", b'{"a":1}', "2026-05-28T20:26:40.000Z")


async def test_a_reader_that_falls_off_the_ring_learns_it():
    stream = a_stream()
    for n in range(9):
        stream.publish("status", n)
    with pytest.raises(FellBehindError):
        await anext(stream.follow(2))
    assert stream.place_of(stream.event_id(2)) is None
    assert stream.place_of(stream.event_id(5)) == 5
    assert stream.place_of(None) == stream.last == 9


async def test_the_newest_of_a_kind_come_first():
    stream = a_stream()
    for n in range(3):
        stream.publish("event", n)
    stream.publish("status")
    assert [entry.data for entry in stream.recent("event", 2)] == [b"2", b"1"]


async def test_an_event_that_is_too_large_says_so_instead():
    stream = a_stream()
    stream.publish("event", "x" * MAX_EVENT_BYTES)
    [entry] = stream.recent("event", 1)
    assert entry.data == b'{"too_large":65538}'


async def test_publishing_waits_for_nobody():
    stream = a_stream(ring=8)
    readers = [stream.follow(0) for _ in range(50)]
    for n in range(100_000):
        stream.publish("status", n)
    assert stream.last == 100_000
    for reader in readers:
        with pytest.raises(FellBehindError):
            await anext(reader)


async def test_a_page_that_takes_nothing_is_dropped(monkeypatch):
    dropped = asyncio.Event()
    drop = events._drop

    def noted(asked):
        drop(asked)
        dropped.set()

    monkeypatch.setattr(events, "STALLED_SECONDS", 0.1)
    monkeypatch.setattr(events, "_drop", noted)
    house = PretendedHouse()
    listener = await listen(house.wiring(), 0)
    asked = (
        f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{listener.port}\r\n"
        f"Authorization: Bearer {OPERATOR_TOKEN}\r\n\r\n"
    )
    loop = asyncio.get_running_loop()
    stalled = socket.socket()
    stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stalled.setblocking(False)
    try:
        await loop.sock_connect(stalled, ("127.0.0.1", listener.port))
        await loop.sock_sendall(stalled, asked.encode())
        await asyncio.wait_for(loop.sock_recv(stalled, 12), BOUND)
        for _ in range(400):
            house.stream.publish("event", "x" * 60_000)
        await asyncio.wait_for(dropped.wait(), BOUND)
    finally:
        stalled.close()
        await listener.close()
