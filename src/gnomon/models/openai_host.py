"""The jailed host of a model behind an OpenAI-compatible server.

Asked over the pipe: `complete {request, key?}` streams parts `{text}` and answers a
ModelReply. The key lives for one call, in memory. At most two retries, and only of what may
pass by itself (429, 5xx, a broken connection) and before the first word was handed on.
"""

import asyncio
import contextlib
import importlib.resources
import random
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from gnomon.clock import SystemClock
from gnomon.domain.errors import (
    ModelAuthError,
    ModelError,
    ModelRateLimitError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnavailableError,
    TrustError,
)
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.domain.plain import fields, read
from gnomon.domain.ports import Clock
from gnomon.models.host_peer import HostPeer
from gnomon.models.openai_http import Exchange, Server
from gnomon.models.openai_wire import Dialect, ReplyBuilder, after_refusal, encode_request
from gnomon.models.words import Words

RETRIES = 2
FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 20.0
"""A server that asks for a longer wait is not waited for: the caller decides."""

FORMAT_REFUSED = (400, 422)
"""Statuses that may mean: the same request in another form would do."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The host's argument: it names no key."""

    model: str
    host: str
    port: int
    tls: bool
    path: str
    addresses: tuple[str, ...]
    connect_seconds: float = 10.0
    first_byte_seconds: float = 120.0
    stall_seconds: float = 60.0

    def server(self) -> Server:
        return Server(
            host=self.host,
            port=self.port,
            tls=self.tls,
            path=self.path,
            addresses=self.addresses,
            connect_seconds=self.connect_seconds,
            first_byte_seconds=self.first_byte_seconds,
            stall_seconds=self.stall_seconds,
        )


class _Ask(msgspec.Struct, frozen=True, kw_only=True):
    request: ModelRequest
    key: str | None = None


async def serve(peer: HostPeer, argument: Fields) -> None:
    """The child's entry: answer the gateway until it closes the pipe."""
    host = OpenAIHost(read(argument, Settings), SystemClock())
    peer.serve(host.answer)
    await peer.closed()


@dataclass
class _Progress:
    """Whether a word was handed on: after that nothing is made again."""

    streamed: bool = False


class OpenAIHost:
    """Answers the operations of a model host. `delay` is the first back-off in seconds."""

    def __init__(
        self, settings: Settings, clock: Clock, *, delay: float = FIRST_DELAY_SECONDS
    ) -> None:
        self._model = settings.model
        self._server = settings.server()
        self._clock = clock
        self._delay = delay
        self._dialect = Dialect()
        prompts = importlib.resources.files("gnomon.data") / "prompts"
        self._schema_prompt = (prompts / "answer-by-schema.md").read_text(encoding="utf-8")

    async def answer(self, op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
        """One operation of the pipe. Raises TrustError for an unknown one."""
        match op:
            case "load" | "stop":  # nothing to load; the gateway closes the pipe to stop
                return {}
            case "complete":
                ask = read(args, _Ask)
                reply = await self.complete(
                    ask.request, ask.key, lambda text: send_part({"text": text})
                )
                return fields(reply)
            case _:
                raise TrustError(f"A model host has no operation {op!r}.", op=op)

    async def complete(
        self, request: ModelRequest, key: str | None, on_text: Callable[[str], None]
    ) -> ModelReply:
        """One call within `request.timeout_seconds`, retries included."""
        _check_key(key)
        progress = _Progress()

        def pass_on(text: str) -> None:
            progress.streamed = True
            on_text(text)

        try:
            async with asyncio.timeout(request.timeout_seconds):
                return await self._with_retries(request, key, pass_on, progress)
        except TimeoutError:
            raise ModelTimeoutError(
                f"{self._server.label} did not answer within {request.timeout_seconds:.0f} s.",
                next_step="Try a smaller model, or raise model.timeout_seconds in config.toml.",
                seconds=request.timeout_seconds,
            ) from None

    async def _with_retries(
        self,
        request: ModelRequest,
        key: str | None,
        on_text: Callable[[str], None],
        progress: _Progress,
    ) -> ModelReply:
        for retry in range(RETRIES + 1):
            try:
                return await self._in_some_dialect(request, key, on_text, progress)
            except (ModelUnavailableError, ModelRateLimitError) as error:
                wait = self._wait(error, retry)
                if wait is None or progress.streamed:
                    raise
                await asyncio.sleep(wait)
        raise ModelError("the retries have no end")  # the last round raised or returned

    def _wait(self, error: ModelError, retry: int) -> float | None:
        """Seconds until the next attempt, or None when there is none."""
        if retry == RETRIES:
            return None
        said = error.facts.get("retry_after_seconds")
        asked = float(said) if isinstance(said, int | float) else 0.0
        if asked > LONGEST_DELAY_SECONDS:
            return None
        # Jitter keeps many clients from coming back together; it is no secret.
        jitter = 0.5 + random.random()  # noqa: S311
        return max(asked, self._delay * 2**retry * jitter)

    async def _in_some_dialect(
        self,
        request: ModelRequest,
        key: str | None,
        on_text: Callable[[str], None],
        progress: _Progress,
    ) -> ModelReply:
        """Ask; where the server refuses a part of the format, ask for less. What it refused
        is remembered for as long as this process lives, once the lesser form was taken.
        """
        dialect = self._dialect
        while True:
            try:
                reply = await self._once(request, key, dialect, on_text)
            except ModelRequestError as error:
                lesser = None
                if error.facts.get("status") in FORMAT_REFUSED:
                    lesser = after_refusal(dialect, request, error.message)
                if lesser is None or progress.streamed:
                    raise
                dialect = lesser
            else:
                self._dialect = dialect
                return reply

    async def _once(
        self,
        request: ModelRequest,
        key: str | None,
        dialect: Dialect,
        on_text: Callable[[str], None],
    ) -> ModelReply:
        body = encode_request(request, self._model, dialect, self._schema_prompt)
        builder = ReplyBuilder(self._model)
        exchange = Exchange(self._server, key)
        words = Words(on_text)
        began = self._clock.monotonic()
        thread = asyncio.get_running_loop().run_in_executor(
            None, exchange.run, body, builder, words.from_thread
        )
        try:
            await asyncio.shield(thread)
        except asyncio.CancelledError:
            exchange.abort()
            thread.add_done_callback(_seen)
            raise
        finally:
            words.close()
        return builder.reply(
            round(self._clock.monotonic() - began, 6),
            unfence=request.schema is not None and not dialect.json_schema,
        )


def _seen(thread: asyncio.Future[None]) -> None:
    """Take the error of an exchange that was aborted: whoever aborted it knows."""
    with contextlib.suppress(asyncio.CancelledError):
        thread.exception()


def _check_key(key: str | None) -> None:
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise ModelAuthError(
            "The key holds characters that no key has (spaces, line breaks, accents).",
            next_step="Set GNOMON_MODEL_KEY (or model.key_env, model.key_file) again.",
        )
