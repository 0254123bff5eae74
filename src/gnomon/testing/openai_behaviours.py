"""Ways to answer a chat completion, good and bad: what the stub's scripts are made of."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec

MODEL = "stub-model"


@dataclass(frozen=True)
class Received:
    """A request as it came in. `body` is the decoded JSON object, empty for a GET."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def streamed(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        return cast("Sequence[Mapping[str, Any]]", self.body.get("messages", ()))


class Turn:
    """One request to answer: what was asked, and the connection to answer on."""

    def __init__(self, request: Received, writer: asyncio.StreamWriter) -> None:
        self.request = request
        self._writer = writer

    async def raw(self, data: bytes) -> None:
        """Write bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Write a status line and headers. The answer ends where the connection ends."""
        lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {text}" for name, text in headers.items())]
        await self.raw(("\r\n".join([*lines, "Connection: close", "", ""])).encode())

    async def json(
        self, body: object, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        data = msgspec.json.encode(body)
        kind = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        await self.head(status, {**kind, **(headers or {})})
        await self.raw(data)

    async def begin_stream(self) -> None:
        await self.head(200, {"Content-Type": "text/event-stream"})

    async def event(self, body: object) -> None:
        await self.raw(b"data: " + msgspec.json.encode(body) + b"\n\n")

    async def done(self) -> None:
        await self.raw(b"data: [DONE]\n\n")

    def reset(self) -> None:
        """End the connection with a reset."""
        self._writer.transport.abort()


Behaviour = Callable[[Turn], Awaitable[None]]
"""How one request is answered."""


def say(
    text: str,
    *,
    tokens: tuple[int, int] | None = (11, 7),
    streams: bool = True,
    pieces: int = 3,
    finish: str = "stop",
) -> Behaviour:
    """Answer with text. `streams=False` answers whole even when a stream was asked for;
    `tokens=None` leaves the usage out.
    """
    size = max(1, -(-len(text) // pieces))
    deltas = [{"content": text[at : at + size]} for at in range(0, len(text), size)]
    return _answer(deltas, {"role": "assistant", "content": text}, finish, tokens, streams)


def ask_tools(
    *calls: tuple[str, Mapping[str, Any]],
    streams: bool = True,
    numbered: bool = True,
    first_id: str = "call_1",
) -> Behaviour:
    """Ask for tools. Streamed, each call's arguments come in two fragments; `numbered=False`
    leaves the `index` out, as some servers do.
    """
    whole: list[dict[str, Any]] = []
    deltas: list[dict[str, Any]] = []
    for number, (name, arguments) in enumerate(calls):
        identity = first_id if number == 0 else f"{first_id}_{number + 1}"
        text = msgspec.json.encode(arguments).decode()
        half = len(text) // 2
        index = {"index": number} if numbered else {}
        whole.append(
            {"id": identity, "type": "function", "function": {"name": name, "arguments": text}}
        )
        if numbered:
            start = {"name": name, "arguments": text[:half]}
            deltas.append({"tool_calls": [{**index, "id": identity, "function": start}]})
            deltas.append({"tool_calls": [{**index, "function": {"arguments": text[half:]}}]})
        else:
            deltas.append({"tool_calls": [whole[-1]]})
    message = {"role": "assistant", "content": None, "tool_calls": whole}
    return _answer(deltas, message, "tool_calls", (20, 9), streams)


def _answer(
    deltas: Sequence[Mapping[str, Any]],
    message: Mapping[str, Any],
    finish: str,
    tokens: tuple[int, int] | None,
    streams: bool,
) -> Behaviour:
    usage: Any = tokens and {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}

    async def behave(turn: Turn) -> None:
        base = {"id": "chatcmpl-1", "model": turn.request.body.get("model", MODEL)}
        if not (turn.request.streamed and streams):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            await turn.json({**base, "choices": [choice], **({"usage": usage} if usage else {})})
            return
        await turn.begin_stream()
        for delta in ({"role": "assistant", "content": ""}, *deltas):
            choice = {"index": 0, "delta": delta, "finish_reason": None}
            await turn.event({**base, "choices": [choice]})
        end: Mapping[str, Any] = {"index": 0, "delta": {}, "finish_reason": finish}
        await turn.event({**base, "choices": [end]})
        options: Any = turn.request.body.get("stream_options") or {}
        if usage and options.get("include_usage"):
            await turn.event({**base, "choices": [], "usage": usage})
        await turn.done()

    return behave


def status(
    code: int, message: str = "refused", headers: Mapping[str, str] | None = None
) -> Behaviour:
    """Answer with an error status, in the usual form."""

    async def behave(turn: Turn) -> None:
        await turn.json({"error": {"message": message, "type": "stub"}}, code, headers)

    return behave


def refuse_if(field_name: str, otherwise: Behaviour, *, message: str | None = None) -> Behaviour:
    """Answer 400 to a request that has a field, as servers do that do not know it."""
    words = message or f"Unknown parameter: {field_name}"

    async def behave(turn: Turn) -> None:
        has = field_name in turn.request.body
        await (status(400, words) if has else otherwise)(turn)

    return behave


async def hang(turn: Turn) -> None:
    """Never answer."""
    await asyncio.Event().wait()


def stall_after(text: str) -> Behaviour:
    """Begin to answer, then go silent."""

    async def behave(turn: Turn) -> None:
        await turn.begin_stream()
        await turn.event({"choices": [{"index": 0, "delta": {"content": text}}]})
        await asyncio.Event().wait()

    return behave


def reset_after(text: str = "") -> Behaviour:
    """Break the connection: at once, or after some text of an answer."""

    async def behave(turn: Turn) -> None:
        if text:
            await turn.begin_stream()
            await turn.event({"choices": [{"index": 0, "delta": {"content": text}}]})
            await asyncio.sleep(0.05)  # a reset overtakes what is not yet read
        turn.reset()

    return behave


def garbage(data: bytes = b"\x00\xffnot json {") -> Behaviour:
    """Answer 200 with bytes that are no completion."""

    async def behave(turn: Turn) -> None:
        await turn.head(200, {"Content-Type": "application/json"})
        await turn.raw(data)

    return behave


def no_http(data: bytes = b"\x16\x03\x01\x02\x00garbage\r\n\r\n") -> Behaviour:
    """Answer something that is no HTTP."""

    async def behave(turn: Turn) -> None:
        await turn.raw(data)

    return behave


def huge(total: int = 64 * 1024 * 1024, *, lines: bool = True) -> Behaviour:
    """Stream an answer that does not end: `total` bytes, as events or as one line."""

    async def behave(turn: Turn) -> None:
        await turn.begin_stream()
        chunk = {"choices": [{"index": 0, "delta": {"content": "x" * 16_384}}]}
        sent = 0
        while sent < total:
            await (turn.event(chunk) if lines else turn.raw(b"x" * 16_384))
            sent += 16_384

    return behave


def drip(seconds: float, *, piece: str = "x") -> Behaviour:
    """Stream a word every so many seconds, for ever."""

    async def behave(turn: Turn) -> None:
        await turn.begin_stream()
        while True:
            await turn.event({"choices": [{"index": 0, "delta": {"content": piece}}]})
            await asyncio.sleep(seconds)

    return behave


def redirect(target: str) -> Behaviour:
    """Answer 307 to another address."""

    async def behave(turn: Turn) -> None:
        await turn.head(307, {"Location": target, "Content-Length": "0"})

    return behave
