"""The embedded model's host around a made-up engine: turns, cancelling, errors, no stray part."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gnomon.domain.errors import (
    ModelReplyError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnavailableError,
    NoModelError,
    TrustError,
)
from gnomon.domain.json_value import Fields
from gnomon.domain.messages import Message, ModelReply, ModelRequest
from gnomon.models.embedded_host import CONTEXT_TOKENS, EmbeddedHost, OnChunk
from gnomon.models.hosted import HostedModel
from gnomon.models.plans import embedded_plan
from gnomon.models.weights import FILE
from gnomon.testing.clock import FakeClock
from gnomon.testing.model_hosts import MemoryHosts
from gnomon.trust.ipc import Peer
from tests.model_kit import SCHEMA, ask

WORD = {"choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}]}
PROGRESS = {"choices": [{"index": 0, "delta": {"content": None}}], "prompt_progress": {}}
END = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
USAGE = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}}


class MadeUpEngine:
    """Says so many words, or goes on until it is told to stop."""

    def __init__(self, *chunks: Mapping[str, Any], endless: bool = False) -> None:
        self.chunks = chunks or (PROGRESS, WORD, WORD, WORD, END, USAGE)
        self.endless = endless
        self.bodies: list[Mapping[str, Any]] = []
        self.stopped = threading.Event()
        self.most = 0
        self._running = 0

    def chat(self, body: Mapping[str, Any], on_chunk: OnChunk) -> None:
        self.bodies.append(body)
        self._running += 1
        self.most = max(self.most, self._running)
        try:
            while True:
                for chunk in self.chunks:
                    if on_chunk(chunk):
                        self.stopped.set()
                        return
                if not self.endless:
                    return
        finally:
            self._running -= 1


def host_of(engine: MadeUpEngine) -> EmbeddedHost:
    return EmbeddedHost("made-up", lambda: engine, FakeClock())


async def complete(
    engine: MadeUpEngine, request: ModelRequest | None = None
) -> tuple[ModelReply, list[str]]:
    parts: list[str] = []
    reply = await host_of(engine).complete(request or ask(), parts.append)
    return reply, parts


async def test_words_are_streamed_and_counted() -> None:
    reply, parts = await complete(MadeUpEngine())
    assert parts == ["word ", "word ", "word "]
    assert (reply.content, reply.finish, reply.model) == ("word word word ", "stop", "made-up")
    assert (reply.tokens_in, reply.tokens_out) == (5, 3)


async def test_a_schema_becomes_a_grammar_and_tools_are_left_out() -> None:
    engine = MadeUpEngine()
    request = replace(
        ask(schema=SCHEMA, max_tokens=100_000),
        messages=(
            Message(role="user", content="Look."),
            Message(role="tool", content="a.txt", tool_call_id="c1"),
        ),
    )
    await complete(engine, request)
    [body] = engine.bodies
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert body["max_tokens"] == CONTEXT_TOKENS
    assert [message["role"] for message in body["messages"]] == ["user", "user"]
    assert "tools" not in body


async def test_the_engine_is_loaded_once_and_works_in_turn() -> None:
    engine = MadeUpEngine()
    loads: list[int] = []

    def load() -> MadeUpEngine:
        loads.append(1)
        return engine

    host = EmbeddedHost("made-up", load, FakeClock())
    await host.answer("load", {}, print)
    await asyncio.gather(*(host.complete(ask(), print) for _ in range(4)))
    assert (len(loads), engine.most) == (1, 1)


async def test_time_ends_an_answer_that_does_not_end() -> None:
    engine = MadeUpEngine(WORD, endless=True)
    parts: list[str] = []
    with pytest.raises(ModelTimeoutError):
        await host_of(engine).complete(ask(timeout=0.05), parts.append)
    heard = len(parts)
    assert engine.stopped.wait(5)
    await asyncio.sleep(0.02)
    assert len(parts) == heard  # nothing follows an answer


async def test_a_call_that_is_taken_back_while_it_waits_is_never_begun() -> None:
    engine = MadeUpEngine(WORD, endless=True)
    host = host_of(engine)
    heard = asyncio.Event()
    first = asyncio.create_task(host.complete(ask(timeout=60), lambda _: heard.set()))
    await heard.wait()
    second = asyncio.create_task(host.complete(ask(timeout=60), print))
    await asyncio.sleep(0)
    for task in (second, first):
        task.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    engine.endless = False
    await host.complete(ask(), lambda _: None)
    assert len(engine.bodies) == 2


@pytest.mark.parametrize(
    ("chunks", "error"),
    [
        (({"error": {"code": 400, "message": "exceeds the context"}},), ModelRequestError),
        (({"error": "plain"},), ModelRequestError),
        (({"choices": 5},), ModelReplyError),
        (({"choices": []},), ModelReplyError),
    ],
)
async def test_what_the_engine_reports_is_an_error(
    chunks: tuple[Mapping[str, Any], ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await complete(MadeUpEngine(*chunks))


async def test_an_engine_that_cannot_be_loaded_is_tried_again_at_the_next_call() -> None:
    engines: list[MadeUpEngine | None] = [None, MadeUpEngine()]

    def load() -> MadeUpEngine:
        engine = engines.pop(0)
        if engine is None:
            raise NoModelError("no weights")
        return engine

    host = EmbeddedHost("made-up", load, FakeClock())
    with pytest.raises(NoModelError):
        await host.complete(ask(), print)
    assert (await host.complete(ask(), lambda _: None)).finish == "stop"


async def test_other_operations_are_denied() -> None:
    host = host_of(MadeUpEngine())
    assert await host.answer("stop", {}, print) == {}
    with pytest.raises(TrustError):
        await host.answer("shell", {}, print)


# --- over the pipe -------------------------------------------------------------------------


@asynccontextmanager
async def piped(engine: MadeUpEngine, models: Path) -> AsyncGenerator[HostedModel]:
    async def serve(peer: Peer, argument: Fields) -> None:
        peer.serve(host_of(engine).answer)
        await peer.closed()

    hosts = MemoryHosts(serve)
    model = HostedModel(
        plan=partial(embedded_plan, models),
        start=hosts.start,
        clock=FakeClock(),
        idle_seconds=60.0,
    )
    try:
        yield model
    finally:
        await model.close()
        await hosts.stop_all()


async def test_calls_that_end_early_never_break_the_pipe(tmp_path: Path) -> None:
    """A part after its answer would: the peer takes it for a broken protocol."""
    (tmp_path / FILE).write_bytes(b"weights")
    engine = MadeUpEngine(WORD, endless=True)
    async with piped(engine, tmp_path) as model:
        for round_ in range(20):
            if round_ % 2:
                with pytest.raises(ModelTimeoutError):
                    await model.complete(ask(timeout=0.002), lambda _: None)
                continue
            heard = asyncio.Event()
            call = asyncio.create_task(
                model.complete(ask(timeout=60), lambda _, heard=heard: heard.set())
            )
            await heard.wait()
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        engine.endless = False
        engine.chunks = (WORD, END)
        assert (await model.complete(ask())).content == "word "


async def test_a_plan_grants_the_weights_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"weights")
    plan = await embedded_plan(tmp_path)
    assert plan.read == (str(tmp_path / FILE),)
    assert plan.connect == ()


async def test_a_fault_of_the_host_is_an_unavailable_model(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"weights")

    class Broken(MadeUpEngine):
        def chat(self, body: Mapping[str, Any], on_chunk: OnChunk) -> None:
            raise ZeroDivisionError

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: None)  # the peer reports it, as it should
    async with piped(Broken(), tmp_path) as model:
        with pytest.raises(ModelUnavailableError, match="failed"):
            await model.complete(ask())
