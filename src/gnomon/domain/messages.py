"""What is said to a model and what it answers, whichever server or library runs it."""

from typing import Literal

import msgspec

from gnomon.domain.json_value import Fields

MessageRole = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "tool-calls", "length", "filtered"]
TIMEOUT_SECONDS = 120.0
"""A request's time unless it names one; the broker puts the operator's in its place."""


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as a model sees it. `parameters` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: Fields


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A request by a model to run a tool. `arguments` is the raw JSON text it wrote."""

    id: str
    name: str
    arguments: str


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of a conversation. `tool_call_id` ties a tool's result to its call."""

    role: MessageRole
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call. `schema` asks for output of that JSON Schema; grammar where it can be had.

    `timeout_seconds` bounds the whole call, `max_tokens` what it may write.
    `prompt` is `name@label#sha` of the resolved prompt, for spend lines and traces.
    """

    messages: tuple[Message, ...]
    purpose: str
    tools: tuple[ToolSpec, ...] = ()
    schema: Fields | None = None
    temperature: float = 0.2
    max_tokens: int = 1024
    timeout_seconds: float = TIMEOUT_SECONDS
    prompt: str = ""


class ModelReply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A whole answer. Token counts are null where the server did not say."""

    content: str
    finish: FinishReason
    model: str
    tool_calls: tuple[ToolCall, ...] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    seconds: float = 0.0
