"""A model's server that hangs, lies, floods, drips, breaks off: bounded, typed, no storm.

Fault 48. The figure is the number of requests that the server saw.
"""

import asyncio
import time
from typing import Any

import pytest
from msgspec.structs import replace

from gnomon.domain.errors import (
    ModelAuthError,
    ModelError,
    ModelRateLimitError,
    ModelReplyError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from gnomon.domain.messages import Message
from gnomon.testing import openai_behaviours as stub_can
from gnomon.testing.openai_stub import OpenAIStub
from tests.model_kit import SCHEMA, ask, complete, hosted, openai_host

RETRIED = 3
"""The first attempt and two more."""


async def fails(
    behaviour: stub_can.Behaviour,
    error: type[ModelError],
    *,
    requests: int,
    timeout: float = 3.0,
    **settings: Any,
) -> ModelError:
    """The call fails as said, within its time, after so many requests."""
    async with OpenAIStub(then=behaviour) as stub:
        began = time.monotonic()
        with pytest.raises(error) as caught:
            await complete(openai_host(stub, **settings), ask(timeout=timeout))
        assert time.monotonic() - began < timeout + 1
        assert len(stub.received) == requests
    assert type(caught.value) is error
    assert caught.value.message
    return caught.value


async def test_a_server_that_hangs_is_left_at_the_end_of_the_call() -> None:
    await fails(stub_can.hang, ModelTimeoutError, requests=1, timeout=0.3)


async def test_a_first_byte_that_does_not_come_is_not_waited_for_for_ever() -> None:
    await fails(stub_can.hang, ModelTimeoutError, requests=1, first_byte_seconds=0.2)


async def test_a_stream_that_goes_silent_is_left() -> None:
    await fails(stub_can.stall_after("Once"), ModelTimeoutError, requests=1, stall_seconds=0.2)


async def test_a_slow_drip_ends_with_the_call() -> None:
    await fails(stub_can.drip(0.02), ModelTimeoutError, requests=1, timeout=0.5)


@pytest.mark.parametrize("lines", [True, False])
async def test_a_huge_reply_is_cut_off_at_the_bound(lines: bool) -> None:
    await fails(stub_can.huge(lines=lines), ModelReplyError, requests=1, timeout=10.0)


async def test_a_huge_whole_reply_is_cut_off_at_the_bound() -> None:
    body = b'{"choices":[{"message":{"content":"' + b"x" * (5 * 1024 * 1024) + b'"}}]}'
    await fails(stub_can.garbage(body), ModelReplyError, requests=1, timeout=10.0)


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\xffnot json {",
        b"",
        b"[]",
        b"{}",
        b'{"choices":[]}',
        b'{"choices":[{"message":{"content":5}}]}',
        b'{"choices":' + b"[" * 100_000,
        b"<html>welcome</html>",
    ],
)
async def test_garbage_is_an_error_and_never_an_answer(data: bytes) -> None:
    await fails(stub_can.garbage(data), ModelReplyError, requests=1)


async def test_what_is_no_http_is_a_failing_server() -> None:
    await fails(stub_can.no_http(), ModelUnavailableError, requests=RETRIED)


async def test_a_refused_key_is_never_tried_again() -> None:
    error = await fails(stub_can.status(401), ModelAuthError, requests=1)
    assert "GNOMON_MODEL_KEY" in error.next_step


async def test_a_rate_limit_is_tried_twice_more() -> None:
    await fails(stub_can.status(429), ModelRateLimitError, requests=RETRIED)


async def test_a_long_retry_after_is_told_and_not_waited_for() -> None:
    error = await fails(
        stub_can.status(429, headers={"Retry-After": "3600"}), ModelRateLimitError, requests=1
    )
    assert error.facts["retry_after_seconds"] == 3600.0


async def test_a_short_retry_after_is_waited_for() -> None:
    limited = stub_can.status(429, headers={"Retry-After": "0.3"})
    async with OpenAIStub([limited, stub_can.say("yes")]) as stub:
        began = time.monotonic()
        reply, _ = await complete(openai_host(stub), ask())
        assert time.monotonic() - began >= 0.3
    assert reply.content == "yes"


@pytest.mark.parametrize("code", [500, 502, 503])
async def test_a_failing_server_is_tried_twice_more(code: int) -> None:
    await fails(stub_can.status(code), ModelUnavailableError, requests=RETRIED)


@pytest.mark.parametrize("code", [404, 402, 413])
async def test_a_refused_request_is_not_repeated(code: int) -> None:
    await fails(stub_can.status(code), ModelRequestError, requests=1)


async def test_a_refusal_without_a_reason_is_not_repeated() -> None:
    await fails(stub_can.status(400, "no"), ModelRequestError, requests=1)


async def test_a_redirect_is_not_followed() -> None:
    async with OpenAIStub(then=stub_can.say("elsewhere")) as other:
        await fails(
            stub_can.redirect(f"{other.url}/chat/completions"), ModelRequestError, requests=1
        )
        assert other.received == []


async def test_a_connection_reset_before_a_word_is_tried_again() -> None:
    async with OpenAIStub([stub_can.reset_after()], then=stub_can.say("back")) as stub:
        reply, parts = await complete(openai_host(stub), ask())
        assert len(stub.received) == 2
    assert (reply.content, "".join(parts)) == ("back", "back")


async def test_a_connection_reset_after_a_word_is_not_tried_again() -> None:
    await fails(stub_can.reset_after("Once"), ModelUnavailableError, requests=1)


async def test_an_error_within_a_stream_is_an_error() -> None:
    async def reports(turn: stub_can.Turn) -> None:
        await turn.begin_stream()
        await turn.event({"error": {"message": "overloaded", "code": 502}})

    error = await fails(reports, ModelUnavailableError, requests=RETRIED)
    assert "overloaded" in error.message


async def test_nothing_listens() -> None:
    async with OpenAIStub() as stub:
        host = openai_host(stub)
    with pytest.raises(ModelUnavailableError, match="cannot be reached"):
        await complete(host, ask())


async def test_control_characters_of_a_server_do_not_reach_the_error() -> None:
    error = await fails(
        stub_can.status(404, "a\x1b[31mred\x07\nline " + "y" * 5_000),
        ModelRequestError,
        requests=1,
    )
    assert error.message.isprintable()
    assert len(error.message) < 500


async def test_a_cancelled_call_ends_the_servers_work_at_once() -> None:
    gone = asyncio.Event()

    async def watches(turn: stub_can.Turn) -> None:
        try:
            await stub_can.hang(turn)
        finally:
            gone.set()

    async with OpenAIStub(then=watches) as stub:
        call = asyncio.create_task(complete(openai_host(stub), ask(timeout=60.0)))
        async with asyncio.timeout(5):
            while not stub.received:
                await asyncio.sleep(0.01)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await gone.wait()
    assert call.cancelled()


# --- servers that know less --------------------------------------------------------------


async def test_a_server_without_response_format_gets_the_schema_in_the_prompt() -> None:
    fenced = stub_can.say('```json\n{"focus":"x"}\n```')
    async with OpenAIStub(then=stub_can.refuse_if("response_format", fenced)) as stub:
        host = openai_host(stub)
        reply, _ = await complete(host, ask(schema=SCHEMA))
        assert reply.content == '{"focus":"x"}'
        assert "maxLength" in stub.received[-1].messages[0]["content"]
        first = len(stub.received)
        assert first == 3  # strict, not strict, in the prompt
        await complete(host, ask(schema=SCHEMA))
        assert len(stub.received) == first + 1  # it is remembered


async def test_a_server_without_stream_options_is_asked_without() -> None:
    async with OpenAIStub(then=stub_can.refuse_if("stream_options", stub_can.say("ok"))) as stub:
        reply, _ = await complete(openai_host(stub), ask())
        assert (reply.content, len(stub.received)) == ("ok", 2)
    assert reply.tokens_in is None


async def test_a_server_that_wants_max_completion_tokens_gets_them() -> None:
    behaviour = stub_can.refuse_if(
        "max_tokens", stub_can.say("ok"), message="Use 'max_completion_tokens' instead."
    )
    async with OpenAIStub(then=behaviour) as stub:
        reply, _ = await complete(openai_host(stub), ask(max_tokens=9))
        assert stub.received[-1].body["max_completion_tokens"] == 9
    assert reply.content == "ok"


async def test_a_server_that_does_not_stream_is_read_whole() -> None:
    async with OpenAIStub(then=stub_can.say("all at once", streams=False)) as stub:
        reply, parts = await complete(openai_host(stub), ask())
    assert (reply.content, parts) == ("all at once", ["all at once"])
    assert (reply.tokens_in, reply.tokens_out) == (11, 7)


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("streams", [True, False])
async def test_tool_calls_are_put_together(numbered: bool, streams: bool) -> None:
    behaviour = stub_can.ask_tools(
        ("shell", {"command": "ls"}),
        ("read", {"path": "a"}),
        numbered=numbered,
        streams=streams,
    )
    async with OpenAIStub(then=behaviour) as stub:
        reply, _ = await complete(openai_host(stub), ask())
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [
        ("shell", '{"command":"ls"}'),
        ("read", '{"path":"a"}'),
    ]
    assert [call.id for call in reply.tool_calls] == ["call_1", "call_1_2"]


async def test_a_conversation_with_tools_goes_over_in_the_servers_words() -> None:
    async with OpenAIStub(
        [stub_can.ask_tools(("shell", {"command": "ls"}))], then=stub_can.say("done")
    ) as stub:
        host = openai_host(stub)
        reply, _ = await complete(host, ask())
        request = ask()
        messages = (
            *request.messages,
            Message(role="assistant", tool_calls=reply.tool_calls),
            Message(role="tool", tool_call_id=reply.tool_calls[0].id, content="a.txt"),
        )
        await complete(host, replace(request, messages=messages))
        sent = stub.received[-1].messages
    assert sent[1]["content"] is None
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == '{"command":"ls"}'
    assert sent[2] == {"role": "tool", "tool_call_id": "call_1", "content": "a.txt"}


# --- the process around it -----------------------------------------------------------------


async def test_errors_cross_the_pipe_with_their_type_and_facts() -> None:
    async with (
        OpenAIStub(then=stub_can.status(429, headers={"Retry-After": "99"})) as stub,
        hosted(stub) as (model, _),
    ):
        with pytest.raises(ModelRateLimitError) as caught:
            await model.complete(ask())
    assert caught.value.facts["retry_after_seconds"] == 99.0
