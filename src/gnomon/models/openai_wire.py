"""What goes over the wire to an OpenAI-compatible server, and what comes back. Pure.

Servers differ in what they accept; a `Dialect` says what this one takes. It is learnt from
refusals: what a 400 names is left out and the request made once more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import msgspec

from gnomon.domain.errors import ModelReplyError, ModelUnavailableError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import FinishReason, Message, ModelReply, ModelRequest, ToolCall
from gnomon.models.openai_answer import Call, Choice, Function, Usage, decoded, usage_of

TOOL_CALL_LIMIT = 128
"""More calls in one answer are garbage."""


@dataclass(frozen=True)
class Dialect:
    """What a server takes. `strict` asks for schema-constrained output in OpenAI's way."""

    stream: bool = True
    stream_options: bool = True
    json_schema: bool = True
    strict: bool = True
    temperature: bool = True
    max_completion_tokens: bool = False


# --- there ---------------------------------------------------------------------------------


def encode_request(
    request: ModelRequest, model: str, dialect: Dialect, schema_prompt: str
) -> bytes:
    """The body of `POST /chat/completions`.

    `schema_prompt` holds `{schema}`; it goes to the system message where the server knows no
    `response_format`.
    """
    messages = request.messages
    body: dict[str, Json] = {"model": model}
    if request.schema is not None and not dialect.json_schema:
        text = schema_prompt.replace("{schema}", msgspec.json.encode(request.schema).decode())
        messages = _with_instruction(messages, text)
    elif request.schema is not None:
        body["response_format"] = _response_format(request.schema, dialect)
    body["messages"] = [_message(message) for message in messages]
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in request.tools
        ]
    limit = "max_completion_tokens" if dialect.max_completion_tokens else "max_tokens"
    body[limit] = request.max_tokens
    if dialect.temperature:
        body["temperature"] = request.temperature
    if dialect.stream:
        body["stream"] = True
        if dialect.stream_options:
            body["stream_options"] = {"include_usage": True}
    return msgspec.json.encode(body)


def after_refusal(dialect: Dialect, request: ModelRequest, words: str) -> Dialect | None:
    """A dialect without what a refusal (400, 422) names, or None when it names nothing that
    could be left out. Each answer asks for less, so a ladder of refusals ends.
    """
    said = words.lower()
    sent_schema = request.schema is not None and dialect.json_schema
    if "stream_options" in said and dialect.stream and dialect.stream_options:
        return replace(dialect, stream_options=False)
    if "max_completion_tokens" in said and not dialect.max_completion_tokens:
        return replace(dialect, max_completion_tokens=True)
    if "temperature" in said and dialect.temperature:
        return replace(dialect, temperature=False)
    if sent_schema and dialect.strict and _strictable(request.schema):
        return replace(dialect, strict=False)
    if sent_schema:
        return replace(dialect, json_schema=False)
    if "stream" in said and dialect.stream:
        return replace(dialect, stream=False)
    return None


def _message(message: Message) -> Fields:
    match message.role:
        case "tool":
            return {
                "role": "tool",
                "tool_call_id": message.tool_call_id or "",
                "content": message.content,
            }
        case "assistant" if message.tool_calls:
            return {
                "role": "assistant",
                "content": message.content or None,
                "tool_calls": [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": call.arguments},
                    }
                    for call in message.tool_calls
                ],
            }
        case "system" | "user" | "assistant":
            return {"role": message.role, "content": message.content}


def _with_instruction(messages: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    """Put an instruction into the one system message, since many servers take no second."""
    if messages and messages[0].role == "system":
        first = msgspec.structs.replace(messages[0], content=f"{messages[0].content}\n\n{text}")
        return (first, *messages[1:])
    return (Message(role="system", content=text), *messages)


def _response_format(schema: Fields, dialect: Dialect) -> Fields:
    return {
        "type": "json_schema",
        "json_schema": {
            "name": "answer",
            "strict": dialect.strict and _strictable(schema),
            "schema": schema,
        },
    }


def _strictable(schema: Json) -> bool:
    """Whether every object in the schema is closed and requires all its properties, which is
    what strict mode takes.
    """
    if isinstance(schema, Mapping):
        if schema.get("type") == "object":
            properties, required = schema.get("properties"), schema.get("required")
            names = set(properties) if isinstance(properties, Mapping) else set[str]()
            wanted = set(required) if isinstance(required, list | tuple) else set[Json]()
            if schema.get("additionalProperties") is not False or names != wanted:
                return False
        return all(_strictable(value) for value in schema.values())
    if isinstance(schema, list | tuple):
        return all(_strictable(value) for value in schema)
    return True


# --- back ----------------------------------------------------------------------------------


@dataclass
class _Building:
    id: str
    name: str
    arguments: str


class ReplyBuilder:
    """Puts a reply together from the chunks of a stream, or from one whole answer."""

    def __init__(self, asked_model: str) -> None:
        self._model = asked_model
        self._content: list[str] = []
        self._calls: list[_Building] = []
        self._by_index: dict[int, _Building] = {}
        self._finish: str | None = None
        self._usage = Usage()
        self._done = False
        self._seen_choice = False

    @property
    def complete(self) -> bool:
        """Whether the server said that it is through."""
        return self._done or self._finish is not None

    def done(self) -> None:
        """The stream's `[DONE]`."""
        self._done = True

    def add(self, data: bytes | str) -> str:
        """Take one JSON document; give its text. Raises ModelReplyError on what is none, and
        ModelUnavailableError on an error that the server reports in its stream.
        """
        try:
            answer = decoded(data)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ModelReplyError(
                "The model's server answered something that is no chat completion.",
                next_step="Check that model.url points to an OpenAI-compatible server (.../v1).",
                bytes=len(data),
            ) from error
        if answer.error is not None:
            raise ModelUnavailableError(
                f"The model's server reported an error in its answer: {error_words(data)}"
            )
        if answer.usage is not None:
            self._usage = usage_of(answer.usage)
        if answer.model:
            self._model = answer.model
        return self._choice(answer.choices[0]) if answer.choices else ""

    def reply(self, seconds: float, *, unfence: bool) -> ModelReply:
        """The whole reply. `unfence` strips a Markdown fence around JSON. Raises
        ModelReplyError when there was no answer at all.
        """
        if not self._seen_choice:
            raise ModelReplyError(
                "The model's server answered without an answer in it.",
                next_step="Check that model.url points to an OpenAI-compatible server (.../v1).",
            )
        content = "".join(self._content)
        usage = self._usage
        return ModelReply(
            content=without_fence(content) if unfence else content,
            finish=self._finish_reason(),
            model=self._model,
            tool_calls=tuple(
                ToolCall(id=call.id, name=call.name, arguments=call.arguments or "{}")
                for call in self._calls
            ),
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            tokens_cached=usage.cached,
            seconds=seconds,
        )

    def _choice(self, choice: Choice) -> str:
        self._seen_choice = True
        if choice.finish_reason is not None:
            self._finish = choice.finish_reason
        said = choice.delta or choice.message
        if said is None:
            return ""
        for call in said.tool_calls or ():
            self._tool_call(call)
        text = said.text
        if text:
            self._content.append(text)
        return text

    def _tool_call(self, part: Call) -> None:
        """Add a fragment to the call that it belongs to.

        Servers number calls by `index`; some leave it out, some number every call 0 and
        tell them apart by id alone.
        """
        function = part.function or Function()
        building = self._by_index.get(part.index) if part.index is not None else None
        if building is None or (part.id and part.id != building.id and function.name):
            if len(self._calls) >= TOOL_CALL_LIMIT:
                raise ModelReplyError(f"The model asked for over {TOOL_CALL_LIMIT} tools at once.")
            building = _Building(part.id or f"call-{len(self._calls) + 1}", "", "")
            self._calls.append(building)
        if part.index is not None:
            self._by_index[part.index] = building
        building.name += function.name or ""
        building.arguments += _argument_text(function.arguments)

    def _finish_reason(self) -> FinishReason:
        if self._calls:
            return "tool-calls"
        match self._finish:
            case "length":
                return "length"
            case "content_filter":
                return "filtered"
            case _:
                return "stop"


def _argument_text(arguments: str | dict[str, object] | None) -> str:
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else msgspec.json.encode(arguments).decode()


def without_fence(text: str) -> str:
    """`text` without a Markdown code fence around all of it."""
    bare = text.strip()
    if not (bare.startswith("```") and bare.endswith("```") and "\n" in bare):
        return text
    return bare[bare.index("\n") + 1 : -3].strip()


class EventLines:
    """Server-sent events from lines: gives the data of an event at the line that ends it."""

    def __init__(self) -> None:
        self._data: list[bytes] = []

    def line(self, line: bytes) -> bytes | None:
        """Take a line with or without its end. Comments and other fields are passed over."""
        bare = line.rstrip(b"\r\n")
        if not bare:
            return self.rest()
        field, _, value = bare.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
        return None

    def rest(self) -> bytes | None:
        """What is left when the stream ends without an empty line."""
        if not self._data:
            return None
        data, self._data = b"\n".join(self._data), []
        return data


def error_words(body: bytes | str) -> str:
    """The sentence in a server's error body: at most 300 printable characters of it."""
    words: object = body if isinstance(body, str) else body.decode(errors="replace")
    try:
        found: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        found = None
    while isinstance(found, dict):
        inner = cast("dict[str, object]", found)
        found = next((inner[key] for key in ("error", "message", "detail") if key in inner), None)
        words = words if found is None else found
    text = words if isinstance(words, str) else msgspec.json.encode(words).decode()
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.split())[:300]
