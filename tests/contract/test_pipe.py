"""The pipe over a socket and the pipe in memory behave the same."""

import asyncio
import contextlib
import gc
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import pytest

from gnomon.domain.errors import (
    CancelledByPeerError,
    GnomonError,
    ModelRateLimitError,
    PipeError,
    TrustError,
)
from gnomon.domain.json_value import Fields, Json
from gnomon.testing.pipe import channel_pair
from gnomon.trust.channel import Channel, SocketChannel
from gnomon.trust.frames import MAX_LINE, MAX_MESSAGE
from gnomon.trust.ipc import MAX_IN_FLIGHT, Peer

Part = Callable[[Json], None]
BOUND = 10.0


async def _sockets() -> tuple[Channel, Channel]:
    left, right = socket.socketpair()
    return await SocketChannel.open(left), await SocketChannel.open(right)


@pytest.fixture(params=["socket", "memory"])
async def channels(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Channel, Channel]]:
    pair = await _sockets() if request.param == "socket" else channel_pair()
    yield pair
    for side in pair:
        side.close()
    await asyncio.sleep(0)


@pytest.fixture
async def peers(channels: tuple[Channel, Channel]) -> AsyncIterator[tuple[Peer, Peer]]:
    left, right = Peer(channels[0]), Peer(channels[1], {"role": "resident"})
    runs = [asyncio.create_task(side.run()) for side in (left, right)]
    yield left, right
    for side in (left, right):
        side.close()
    async with asyncio.timeout(BOUND):
        await asyncio.gather(*runs, return_exceptions=True)


async def echo(_op: str, args: Fields, _part: Part) -> Json:
    return args


async def _say(channel: Channel, *lines: bytes) -> None:
    channel.write([b'{"hello":{"protocol":1}}\n', *lines])


async def test_an_answer_comes_back(peers: tuple[Peer, Peer]) -> None:
    peers[1].serve(echo)
    assert await peers[0].call("echo", {"x": [1, None, "é\n"]}) == {"x": [1, None, "é\n"]}


async def test_both_sides_ask_at_the_same_time(peers: tuple[Peer, Peer]) -> None:
    async def relay(op: str, args: Fields, _part: Part) -> Json:
        return {"from": await peers[1].call(op, args)}

    peers[0].serve(echo)
    peers[1].serve(relay)
    assert await peers[0].call("turn", {"n": 1}) == {"from": {"n": 1}}


async def test_the_hello_carries_facts(peers: tuple[Peer, Peer]) -> None:
    assert (await peers[0].greeting())["role"] == "resident"


async def test_a_request_waits_until_the_other_side_serves(peers: tuple[Peer, Peer]) -> None:
    asked = asyncio.create_task(peers[0].call("echo", {"n": 1}))
    await peers[0].greeting()
    peers[1].serve(echo)
    assert await asked == {"n": 1}


async def test_parts_come_in_order_before_the_answer(peers: tuple[Peer, Peer]) -> None:
    async def parts(_op: str, _args: Fields, send_part: Part) -> Json:
        for n in range(100):
            send_part({"n": n})
        return "end"

    heard: list[Json] = []
    peers[1].serve(parts)
    assert await peers[0].call("x", {}, on_part=heard.append) == "end"
    assert heard == [{"n": n} for n in range(100)]


async def test_an_error_comes_back_as_its_own_class(peers: tuple[Peer, Peer]) -> None:
    async def refuse(_op: str, _args: Fields, _part: Part) -> Json:
        raise ModelRateLimitError("Slow down.", next_step="Wait.", retry_after_seconds=3, code=1)

    peers[1].serve(refuse)
    with pytest.raises(ModelRateLimitError) as caught:
        await peers[0].call("model.complete", {})
    assert caught.value.facts == {"retry_after_seconds": 3, "code": 1}
    assert str(caught.value) == "Slow down. Wait."


async def test_a_fault_inside_an_answerer_tells_its_type_and_no_more(
    peers: tuple[Peer, Peer],
) -> None:
    async def broken(_op: str, _args: Fields, _part: Part) -> Json:
        raise ZeroDivisionError("a secret")

    seen: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: seen.append(context))
    peers[1].serve(broken)
    with pytest.raises(GnomonError) as caught:
        await peers[0].call("x", {})
    assert caught.value.facts["type"] == "ZeroDivisionError"
    assert "secret" not in str(caught.value)
    assert isinstance(seen[0]["exception"], ZeroDivisionError)


async def test_a_cancelled_call_cancels_the_work_and_frees_its_slot(
    peers: tuple[Peer, Peer],
) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def slow(op: str, args: Fields, _part: Part) -> Json:
        if op == "echo":
            return args
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    peers[1].serve(slow)
    for _ in range(MAX_IN_FLIGHT + 8):
        started.clear()
        ended.clear()
        call = asyncio.create_task(peers[0].call("slow", {}))
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        async with asyncio.timeout(BOUND):
            await ended.wait()
    assert await peers[0].call("echo", {"n": 1}, timeout=BOUND) == {"n": 1}


async def test_work_that_cancels_itself_is_an_error_of_the_caller(peers: tuple[Peer, Peer]) -> None:
    async def gives_up(_op: str, _args: Fields, _part: Part) -> Json:
        raise asyncio.CancelledError

    peers[1].serve(gives_up)
    with pytest.raises(CancelledByPeerError):
        await peers[0].call("x", {})


async def test_a_late_answer_is_a_pipe_error_within_its_bound(peers: tuple[Peer, Peer]) -> None:
    async def hangs(_op: str, _args: Fields, _part: Part) -> Json:
        await asyncio.Event().wait()
        return None

    peers[1].serve(hangs)
    with pytest.raises(PipeError) as caught:
        await peers[0].call("x", {}, timeout=0.05)
    assert caught.value.facts["reason"] == "timeout"


async def test_callers_over_the_bound_wait_their_turn(peers: tuple[Peer, Peer]) -> None:
    under_way = most = 0
    go = asyncio.Event()

    async def count(_op: str, _args: Fields, _part: Part) -> Json:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await go.wait()
        under_way -= 1
        return None

    peers[1].serve(count)
    calls = [asyncio.create_task(peers[0].call("x", {})) for _ in range(3 * MAX_IN_FLIGHT)]
    while under_way < MAX_IN_FLIGHT:
        await asyncio.sleep(0)
    go.set()
    async with asyncio.timeout(BOUND):
        await asyncio.gather(*calls)
    assert most == MAX_IN_FLIGHT


@pytest.mark.parametrize("size", [MAX_LINE - 64, MAX_LINE, 5 * MAX_LINE, MAX_MESSAGE - 64])
async def test_a_long_message_arrives_whole_both_ways(peers: tuple[Peer, Peer], size: int) -> None:
    peers[1].serve(echo)
    text = ('é"\\' * (size // 6))[: size // 6 * 3]
    reply = await peers[0].call("echo", {"t": text}, timeout=BOUND)
    assert reply == {"t": text}


async def test_a_message_over_the_bound_is_refused_before_it_leaves(
    peers: tuple[Peer, Peer],
) -> None:
    peers[1].serve(echo)
    with pytest.raises(PipeError) as caught:
        await peers[0].call("echo", {"t": "x" * MAX_MESSAGE})
    assert caught.value.facts["reason"] == "too-large"
    assert await peers[0].call("echo", {}) == {}


async def test_an_answer_over_the_bound_is_an_error_and_the_pipe_lives(
    peers: tuple[Peer, Peer],
) -> None:
    async def huge(op: str, args: Fields, _part: Part) -> Json:
        return "x" * MAX_MESSAGE if op == "huge" else args

    peers[1].serve(huge)
    with pytest.raises(PipeError):
        await peers[0].call("huge", {})
    assert await peers[0].call("echo", {"n": 2}) == {"n": 2}


async def test_a_part_that_its_hearer_cannot_take_fails_that_call_alone(
    peers: tuple[Peer, Peer],
) -> None:
    async def parts(_op: str, args: Fields, send_part: Part) -> Json:
        send_part(1)
        return args

    def fails(_part: Json) -> None:
        raise LookupError

    peers[1].serve(parts)
    with pytest.raises(LookupError):
        await peers[0].call("x", {}, on_part=fails)
    assert await peers[0].call("x", {"n": 3}) == {"n": 3}


async def test_when_the_other_side_goes_every_caller_hears_it(peers: tuple[Peer, Peer]) -> None:
    calls = [asyncio.create_task(peers[0].call("x", {})) for _ in range(2 * MAX_IN_FLIGHT)]
    await peers[0].greeting()
    peers[1].close()
    async with asyncio.timeout(BOUND):
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        await peers[0].closed()
    assert {type(outcome) for outcome in outcomes} == {PipeError}
    with pytest.raises(PipeError):
        await peers[0].call("x", {})


HOSTILE = {
    "garbage": b"\x00\xff{{{\n",
    "no-object": b"[1]\n",
    "unknown-shape": b'{"id":1,"ok":1,"part":2}\n',
    "bool-as-number": b'{"id":true,"op":"x","args":{}}\n',
    "text-as-arguments": b'{"id":1,"op":"x","args":"y"}\n',
    "answer-unasked": b'{"id":99,"ok":null}\n',
    "part-unasked": b'{"id":99,"part":null}\n',
    "second-hello": b'{"hello":{"protocol":1}}\n',
    "empty-line": b"\n",
    "deep": b'{"id":1,"op":"x","args":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}\n",
    "line-too-long": b'{"id":1,"op":"' + b"x" * (MAX_LINE + 10) + b'","args":{}}\n',
    "mixed-pieces": b'{"more":"{"}\n{"id":1,"op":"x","args":{}}\n',
    "pieces-of-pieces": b'{"more":"{"}\n{"last":"\\"more\\":\\"x\\"}"}\n',
    "surrogate": b'{"last":"\\ud800"}\n',
    "same-number-twice": b'{"id":1,"op":"x","args":{}}\n' * 2,
    "too-many": b"".join(b'{"id":%d,"op":"x","args":{}}\n' % n for n in range(1, 40)),
    "nan": b'{"id":1,"op":"x","args":{"a":NaN}}\n',
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_a_peer_that_breaks_the_protocol_is_cut_off(
    channels: tuple[Channel, Channel], what: str
) -> None:
    peer = Peer(channels[0])
    await _say(channels[1], HOSTILE[what])
    with pytest.raises(PipeError):
        async with asyncio.timeout(BOUND):
            await peer.run()
    with pytest.raises(PipeError):
        await peer.call("x", {})


@pytest.mark.parametrize(
    "first",
    [b'{"hello":{"protocol":2}}\n', b'{"hello":{}}\n', b'{"id":1,"op":"x","args":{}}\n'],
)
async def test_a_peer_that_does_not_greet_is_cut_off(
    channels: tuple[Channel, Channel], first: bytes
) -> None:
    peer = Peer(channels[0])
    channels[1].write([first])
    with pytest.raises(PipeError) as caught:
        async with asyncio.timeout(BOUND):
            await peer.run()
    assert caught.value.facts["reason"] == "protocol"
    with pytest.raises(PipeError):
        await peer.greeting()


async def test_endless_pieces_end_at_the_bound(channels: tuple[Channel, Channel]) -> None:
    peer = Peer(channels[0])
    running = asyncio.create_task(peer.run())
    await _say(channels[1])
    line = b'{"more":"' + b"x" * 500_000 + b'"}\n'
    sent = 0
    with contextlib.suppress(PipeError):  # it may be cut off in mid-sending
        while sent < 64 and not running.done():
            channels[1].write([line])
            await channels[1].drain()
            sent += 1
            await asyncio.sleep(0)
    async with asyncio.timeout(BOUND):
        await asyncio.wait({running})
    assert isinstance(running.exception(), PipeError)


async def test_a_reader_that_never_reads_cannot_grow_memory(
    channels: tuple[Channel, Channel],
) -> None:
    peer = Peer(channels[0])
    running = asyncio.create_task(peer.run())

    async def floods(_op: str, _args: Fields, send_part: Part) -> Json:
        for _ in range(200):
            send_part("x" * 500_000)
        return "all sent"

    peer.serve(floods)
    await _say(channels[1], b'{"id":1,"op":"x","args":{}}\n')
    async with asyncio.timeout(BOUND):
        await peer.closed()
        await asyncio.wait({running})
    # It heard the end from its own side, as an end or as a break: both are fine.
    assert running.exception() is None or isinstance(running.exception(), PipeError)


async def test_closing_cancels_what_was_being_answered(peers: tuple[Peer, Peer]) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def slow(_op: str, _args: Fields, _part: Part) -> Json:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    peers[1].serve(slow)
    call = asyncio.create_task(peers[0].call("x", {}))
    await started.wait()
    peers[0].close()
    async with asyncio.timeout(BOUND):
        await ended.wait()
        with pytest.raises(PipeError):
            await call


async def test_the_table_stands_before_an_answerer(peers: tuple[Peer, Peer]) -> None:
    from gnomon.trust.roles import guard

    peers[0].serve(guard("importer", echo))
    with pytest.raises(TrustError):
        await peers[1].call("ledger.append", {"name": "decision-ledger", "kind": "tick"})


class Dying:
    """A channel that takes lines and then cannot get rid of them."""

    def __init__(self, inner: Channel) -> None:
        self._inner = inner

    async def drain(self) -> None:
        raise PipeError("The pipe died.", reason="closed")

    async def read(self) -> bytes | None:
        return await self._inner.read()

    def write(self, lines: Iterable[bytes]) -> None:
        self._inner.write(lines)

    def close(self) -> None:
        self._inner.close()


async def test_a_call_whose_pipe_died_is_heard_once_and_warns_nobody_else(
    channels: tuple[Channel, Channel],
) -> None:
    warned: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, facts: warned.append(facts))
    left, right = Peer(Dying(channels[0])), Peer(channels[1])
    runs = [asyncio.create_task(side.run()) for side in (left, right)]
    with pytest.raises(PipeError, match="The pipe died"):
        await left.call("turn", {})
    right.close()
    async with asyncio.timeout(BOUND):
        await asyncio.gather(*runs, return_exceptions=True)
    del left, right, runs
    gc.collect()
    await asyncio.sleep(0)
    assert warned == []
