"""Asking a model for a record rather than for prose.

The schema goes with the request (the embedded host turns it into a grammar, servers get it as
`response_format`), the reply is decoded and its constraints checked, and a reply that does not
fit is never half-used: one retry that tells the model the error, then InvalidOutputError.
"""

from functools import cache
from typing import TypeVar, cast

import msgspec

from gnomon.agent.prompts import resolve
from gnomon.domain.errors import InvalidOutputError
from gnomon.domain.json_value import Fields
from gnomon.domain.messages import Message, ModelReply, ModelRequest
from gnomon.domain.ports import Model

T = TypeVar("T")

RETRY_PROMPT = "structured-retry@packaged"
REASON_LIMIT = 500
REPLY_LIMIT = 4_000
"""Characters of the error, and of the reply that it is about, in the retry."""


async def ask(
    model: Model, request: ModelRequest, type_: type[T], *, schema: Fields | None = None
) -> tuple[T, ModelReply]:
    """Ask for one `type_` (a msgspec struct, its bounds in `msgspec.Meta`).

    `schema` is what the model is shown; by default it is made from the type. The reply's
    counts are those of all calls made. Raises InvalidOutputError (facts: `reason`, `model`)
    after the second bad reply, and whatever the model itself raises.
    """
    request = msgspec.structs.replace(request, schema=schema or schema_of(type_))
    first = await model.complete(request)
    try:
        return decode(first, type_), first
    except InvalidOutputError as error:
        again = _retry(request, first, str(error.facts["reason"]))
    second = await model.complete(again)
    return decode(second, type_), _together(first, second)


@cache
def schema_of(type_: type[object]) -> Fields:
    """The JSON Schema of a struct, with its parts in `$defs`. Made once a type, since a
    reflection asks for it at every tick; nobody changes it.
    """
    return cast(Fields, msgspec.json.schema(type_))


def decode(reply: ModelReply, type_: type[T]) -> T:
    """The record that a reply holds, alone or as one fenced block. Raises InvalidOutputError."""
    if reply.finish == "length":
        raise _invalid(reply, "the reply was cut off at its length limit")
    try:
        return msgspec.json.decode(_unfenced(reply.content), type=type_)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise _invalid(reply, str(error)) from error


def _unfenced(text: str) -> str:
    """Servers without a grammar like to wrap JSON in a Markdown fence; the fence says nothing."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        return text[text.index("\n") : -3]
    return text


def _invalid(reply: ModelReply, reason: str) -> InvalidOutputError:
    reason = reason[:REASON_LIMIT]
    return InvalidOutputError(
        f"The model's reply does not fit its schema: {reason}.",
        next_step="A larger model, or one that takes a JSON schema, does this reliably.",
        reason=reason,
        model=reply.model,
    )


def _retry(request: ModelRequest, reply: ModelReply, reason: str) -> ModelRequest:
    told = resolve(RETRY_PROMPT).text.replace("{reason}", reason)
    return msgspec.structs.replace(
        request,
        messages=(
            *request.messages,
            Message(role="assistant", content=reply.content[:REPLY_LIMIT]),
            Message(role="user", content=told),
        ),
    )


def _together(first: ModelReply, second: ModelReply) -> ModelReply:
    return msgspec.structs.replace(
        second,
        tokens_in=_sum(first.tokens_in, second.tokens_in),
        tokens_out=_sum(first.tokens_out, second.tokens_out),
        tokens_cached=_sum(first.tokens_cached, second.tokens_cached),
        seconds=first.seconds + second.seconds,
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)
