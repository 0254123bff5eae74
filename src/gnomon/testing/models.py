"""Models without a model: one that plays a script, one that records, one that replays.

All three are `gnomon.domain.ports.Model`. None asks a clock or a disk; what is recorded is
handed out as a `Cassette`, which the caller may keep in a file (`msgspec.json`).
"""

import asyncio
import hashlib
import inspect
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable

import msgspec

from gnomon.domain.errors import ModelError
from gnomon.domain.json_value import Json
from gnomon.domain.messages import ModelReply, ModelRequest, ToolCall
from gnomon.domain.ports import Model

OnText = Callable[[str], None]
Answer = ModelReply | str | BaseException
Scripted = Answer | Callable[[ModelRequest], Answer | Awaitable[Answer]]
"""One entry of a script: an answer, an error to raise, or a function of the request."""


class ScriptEndedError(AssertionError):
    """The script has no entry left for this call: the test expected fewer calls."""


def says(text: str, *, model: str = "scripted", tokens: int | None = None) -> ModelReply:
    """A plain answer. `tokens` counts both ways; null leaves them unknown."""
    return ModelReply(content=text, finish="stop", model=model, tokens_in=tokens, tokens_out=tokens)


def calls(*wanted: tuple[str, Json], model: str = "scripted", text: str = "") -> ModelReply:
    """An answer that asks for tools: `calls(("shell", {"command": "ls"}))`."""
    return ModelReply(
        content=text,
        finish="tool-calls",
        model=model,
        tool_calls=tuple(
            ToolCall(
                id=f"call-{number}", name=name, arguments=msgspec.json.encode(arguments).decode()
            )
            for number, (name, arguments) in enumerate(wanted, 1)
        ),
    )


async def hangs(_request: ModelRequest) -> Answer:
    """A script entry that never answers; it ends only by being cancelled."""
    await asyncio.Event().wait()
    raise ScriptEndedError("an event that nobody sets was set")


class ScriptedModel:
    """Answers from a list, one entry a call, then `then` for ever (or `ScriptEndedError`).

    `requests` holds every request that arrived, also those that were answered by an error.
    Text is streamed word by word, so that a consumer sees more than one part.
    """

    def __init__(
        self,
        script: Iterable[Scripted] = (),
        *,
        name: str = "scripted",
        then: Scripted | None = None,
    ) -> None:
        self._script = list(script)
        self._then = then
        self.name = name
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        self.requests.append(request)
        answer = await self._answer(self._next(), request)
        if isinstance(answer, BaseException):
            raise answer
        reply = self._reply(answer)
        if on_text is not None:
            for word in re.findall(r"\S+\s*|\s+", reply.content):
                on_text(word)
        return reply

    def _next(self) -> Scripted:
        if self._script:
            return self._script.pop(0)
        if self._then is None:
            raise ScriptEndedError(f"call {len(self.requests)} has no entry in the script")
        return self._then

    @staticmethod
    async def _answer(entry: Scripted, request: ModelRequest) -> Answer:
        if isinstance(entry, ModelReply | str | BaseException):
            return entry
        answer = entry(request)
        if inspect.isawaitable(answer):
            return await answer
        return answer

    def _reply(self, answer: ModelReply | str) -> ModelReply:
        if isinstance(answer, ModelReply):
            return answer
        return says(answer, model=self.name)


def request_key(request: ModelRequest) -> str:
    """SHA-256 of the canonical request: sorted keys, no ids, no times (page 2).

    Ids of tool calls are named by where they stand, so that a server's random ids do not
    change the key, while the tie between a call and its result still counts.
    """
    names: dict[str, str] = {}
    for message in request.messages:
        for call in message.tool_calls:
            names.setdefault(call.id, f"call-{len(names) + 1}")
    messages = tuple(
        msgspec.structs.replace(
            message,
            tool_calls=tuple(
                msgspec.structs.replace(call, id=names[call.id]) for call in message.tool_calls
            ),
            tool_call_id=names.get(message.tool_call_id or "", message.tool_call_id),
        )
        for message in request.messages
    )
    bare = msgspec.structs.replace(request, messages=messages, timeout_seconds=0.0)
    return hashlib.sha256(msgspec.json.encode(bare, order="deterministic")).hexdigest()


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """One answered call. `occurrence` counts equal requests from 1; one of the two is set."""

    key: str
    occurrence: int
    reply: ModelReply | None = None
    error: str | None = None
    message: str = ""


class Cassette(msgspec.Struct, frozen=True, kw_only=True):
    """All recorded calls, in their order."""

    calls: tuple[Recorded, ...] = ()


class ReplayMissError(AssertionError):
    """A request that was not recorded. Replaying never guesses."""


class RecordingModel:
    """Passes every call to `inner` and keeps what came back, errors of the tree included."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner
        self._seen: Counter[str] = Counter()
        self._calls: list[Recorded] = []

    @property
    def cassette(self) -> Cassette:
        return Cassette(calls=tuple(self._calls))

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        key = request_key(request)
        self._seen[key] += 1
        occurrence = self._seen[key]
        try:
            reply = await self._inner.complete(request, on_text)
        except ModelError as error:
            self._calls.append(
                Recorded(key=key, occurrence=occurrence, error=error.code, message=error.message)
            )
            raise
        self._calls.append(Recorded(key=key, occurrence=occurrence, reply=reply))
        return reply


class ReplayModel:
    """Answers what was recorded for an equal request, occurrence by occurrence."""

    def __init__(self, cassette: Cassette) -> None:
        self._calls = {(call.key, call.occurrence): call for call in cassette.calls}
        self._seen: Counter[str] = Counter()

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        key = request_key(request)
        self._seen[key] += 1
        call = self._calls.get((key, self._seen[key]))
        if call is None:
            raise ReplayMissError(f"request {key[:12]}, occurrence {self._seen[key]}: not recorded")
        if call.reply is None:
            raise _error_of(call)
        if on_text is not None:
            on_text(call.reply.content)
        return call.reply


def _error_of(call: Recorded) -> ModelError:
    for kind in _tree(ModelError):
        if kind.code == call.error:
            return kind(call.message)
    return ModelError(call.message)


def _tree(root: type[ModelError]) -> Iterable[type[ModelError]]:
    yield root
    for child in root.__subclasses__():
        yield from _tree(child)
