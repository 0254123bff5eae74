"""The jailed host of the embedded model: llama.cpp in this process, one thread, no network.

Asked over the pipe: `load {}`, and `complete {request}`, which streams parts `{text}`. The
weights are loaded by the first of either. A schema is held by grammar. Tool calls are not to
be had from this model: tools in a request are ignored.

The engine opens a listener of its own. It is given an abstract unix socket with a random name
and key, which nobody is told; the jail lets nothing connect (docs/adr/0302-embedded-engine.md).
"""

import asyncio
import contextlib
import importlib
import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import msgspec

from gnomon.clock import SystemClock
from gnomon.domain.errors import (
    ModelError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnavailableError,
    NoModelError,
    TrustError,
)
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import Message, ModelReply, ModelRequest
from gnomon.domain.plain import fields, read
from gnomon.domain.ports import Clock
from gnomon.models.host_peer import HostPeer
from gnomon.models.openai_wire import ReplyBuilder, error_words
from gnomon.models.words import Words

CONTEXT_TOKENS = 4096
"""Costs 94 MB for this model; its trained context is 8192."""
BATCH_TOKENS = 128
"""The prompt is read in steps of this; between two of them a call can be cancelled, which at
100 tokens a second is about a second."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The host's argument: the weights' file and the name that replies carry."""

    weights: str
    name: str


class _Ask(msgspec.Struct, frozen=True, kw_only=True):
    request: ModelRequest


OnChunk = Callable[[Mapping[str, Any]], bool]
"""Takes a chunk; true ends the answer."""


class Engine(Protocol):
    """What is used of the engine: one blocking call."""

    def chat(self, body: Mapping[str, Any], on_chunk: OnChunk) -> None: ...


async def serve(peer: HostPeer, argument: Fields) -> None:
    """The child's entry: answer the gateway until it closes the pipe."""
    settings = read(argument, Settings)
    host = EmbeddedHost(settings.name, lambda: LlamaEngine(settings.weights), SystemClock())
    peer.serve(host.answer)
    await peer.closed()


class EmbeddedHost:
    """Answers the operations of a model host. All work is done by one thread, in turn."""

    def __init__(self, name: str, load: Callable[[], Engine], clock: Clock) -> None:
        self._name = name
        self._load = load
        self._clock = clock
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="engine")
        self._engine: Engine | None = None

    async def answer(self, op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
        """One operation of the pipe. Raises TrustError for an unknown one."""
        match op:
            case "stop":  # the gateway closes the pipe to stop
                return {}
            case "load":
                await asyncio.get_running_loop().run_in_executor(self._thread, self._loaded)
                return {}
            case "complete":
                ask = read(args, _Ask)
                reply = await self.complete(ask.request, lambda text: send_part({"text": text}))
                return fields(reply)
            case _:
                raise TrustError(f"A model host has no operation {op!r}.", op=op)

    async def complete(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        """One call within `request.timeout_seconds`. Cancelling it ends the engine's work at
        its next token, or its next step of the prompt.
        """
        stop = threading.Event()
        words = Words(on_text)
        work = asyncio.get_running_loop().run_in_executor(
            self._thread, self._answer_to, request, words.from_thread, stop
        )
        try:
            async with asyncio.timeout(request.timeout_seconds):
                return await asyncio.shield(work)
        except TimeoutError:
            raise ModelTimeoutError(
                f"The embedded model did not finish within {request.timeout_seconds:.0f} s.",
                next_step="Ask for less, or raise model.timeout_seconds in config.toml.",
                seconds=request.timeout_seconds,
            ) from None
        finally:
            words.close()
            stop.set()
            work.add_done_callback(_seen)

    # --- in the engine's thread --------------------------------------------------------------

    def _loaded(self) -> Engine:
        if self._engine is None:
            self._engine = self._load()
        return self._engine

    def _answer_to(
        self, request: ModelRequest, on_text: Callable[[str], None], stop: threading.Event
    ) -> ModelReply:
        if stop.is_set():  # taken back while it waited for its turn
            raise ModelUnavailableError("The call was taken back.")
        engine = self._loaded()
        builder = ReplyBuilder(self._name)
        failures: list[ModelError] = []
        began = self._clock.monotonic()

        def on_chunk(chunk: Mapping[str, Any]) -> bool:
            try:
                text = _text_of(chunk, builder)
            except ModelError as error:
                failures.append(error)
                return True
            on_text(text)
            return stop.is_set()

        engine.chat(_body(request), on_chunk)
        if failures:
            raise failures[0]
        reply = builder.reply(round(self._clock.monotonic() - began, 6), unfence=False)
        return msgspec.structs.replace(reply, model=self._name, tool_calls=())


def _text_of(chunk: Mapping[str, Any], builder: ReplyBuilder) -> str:
    """Add a chunk to the reply. Raises the engine's error as one of the tree."""
    error = chunk.get("error")
    if error is None:
        return builder.add(msgspec.json.encode(chunk))
    words = error_words(msgspec.json.encode(chunk))
    raise ModelRequestError(
        f"The embedded model refused the request: {words}",
        next_step="Shorten the prompt, or use a larger model: gnomon model list.",
    )


def _body(request: ModelRequest) -> dict[str, Any]:
    body: dict[str, Any] = {
        "messages": [_message(message) for message in request.messages],
        "max_tokens": min(request.max_tokens, CONTEXT_TOKENS),
        "temperature": request.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
    }
    if request.schema is not None:
        schema = msgspec.to_builtins(request.schema)
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": schema},
        }
    return body


def _message(message: Message) -> dict[str, str]:
    """Roles that the model's template knows: what a tool said is told by the user."""
    role = "user" if message.role == "tool" else message.role
    return {"role": role, "content": message.content}


def _seen(work: asyncio.Future[ModelReply]) -> None:
    """Take the error of work that was taken back: whoever took it back knows."""
    with contextlib.suppress(asyncio.CancelledError):
        work.exception()


class LlamaEngine:
    """llama.cpp by `xllamacpp`, imported here alone. Making one loads the weights."""

    def __init__(self, weights: str) -> None:
        try:
            # By name: no stubs describe it, and no other process may load it.
            xllamacpp: Any = importlib.import_module("xllamacpp")
        except ImportError as error:
            raise NoModelError(
                "The embedded model's engine is not installed.",
                next_step="pip install 'gnomon[local]', or use another model: gnomon model list.",
            ) from error
        params = xllamacpp.CommonParams()
        params.model.path = weights
        params.n_ctx = CONTEXT_TOKENS
        params.n_batch = params.n_ubatch = BATCH_TOKENS
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        params.n_threads_http = 1
        params.cache_ram_mib = 0
        params.n_ctx_checkpoints = 0
        params.warmup = False
        params.verbosity = 0
        params.hostnames = [f"\0gnomon-{secrets.token_hex(16)}.sock"]
        params.api_keys = [secrets.token_hex(32)]
        params.ui = False
        params.endpoint_slots = False
        try:
            self._server: Any = xllamacpp.Server(params)
        except (RuntimeError, ValueError) as error:
            raise NoModelError(
                f"The embedded model could not be loaded: {error}",
                next_step="gnomon model fetch, or choose another model: gnomon model list.",
            ) from error

    def chat(self, body: Mapping[str, Any], on_chunk: OnChunk) -> None:
        """Answer `body` (a chat completion), chunk by chunk, until `on_chunk` says stop."""
        try:
            self._server.handle_chat_completions(dict(body), on_chunk)
        except (RuntimeError, ValueError) as error:
            raise ModelRequestError(
                f"The embedded model cannot take the request: {str(error)[:300]}",
                next_step="Check the schema: it must be plain JSON Schema.",
            ) from error
