"""The OpenAI-compatible format as data: requests, chunks, fragments, refusals."""

from typing import Any

import msgspec
import pytest

from gnomon.domain.errors import ModelReplyError, ModelUnavailableError
from gnomon.domain.messages import Message, ModelReply, ModelRequest, ToolCall, ToolSpec
from gnomon.models.openai_wire import (
    Dialect,
    EventLines,
    ReplyBuilder,
    after_refusal,
    encode_request,
    error_words,
    without_fence,
)

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
PROMPT = "Fit this: {schema}"


def request(**fields: Any) -> ModelRequest:
    return ModelRequest(messages=(Message(role="user", content="Hi"),), purpose="chat", **fields)


def sent(asked: ModelRequest, dialect: Dialect | None = None) -> dict[str, Any]:
    return msgspec.json.decode(encode_request(asked, "m", dialect or Dialect(), PROMPT))


def built(*documents: dict[str, Any], unfence: bool = False) -> ModelReply:
    builder = ReplyBuilder("asked")
    for document in documents:
        builder.add(msgspec.json.encode(document))
    return builder.reply(0.0, unfence=unfence)


def delta(said: dict[str, Any] | None = None, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"delta": said or {}, "finish_reason": finish}]}


def call(
    index: int | None = None, identity: str | None = None, name: str | None = None, text: str = ""
) -> dict[str, Any]:
    return delta(
        {
            "tool_calls": [
                {"index": index, "id": identity, "function": {"name": name, "arguments": text}}
            ]
        }
    )


# --- there ---------------------------------------------------------------------------------


def test_a_plain_request() -> None:
    assert sent(request(temperature=0.5, max_tokens=7)) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 7,
        "temperature": 0.5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_request_in_the_least_demanding_dialect() -> None:
    least = Dialect(
        stream=False,
        stream_options=False,
        json_schema=False,
        strict=False,
        temperature=False,
        max_completion_tokens=True,
    )
    body = sent(request(schema=SCHEMA), least)
    assert sorted(body) == ["max_completion_tokens", "messages", "model"]
    assert body["messages"][0]["role"] == "system"
    assert '"additionalProperties":false' in body["messages"][0]["content"]


def test_a_stream_may_be_asked_for_without_its_usage() -> None:
    body = sent(request(), Dialect(stream_options=False))
    assert body["stream"] is True
    assert "stream_options" not in body


def test_a_schema_in_the_prompt_joins_the_one_system_message() -> None:
    asked = ModelRequest(
        messages=(Message(role="system", content="Be good."), Message(role="user", content="Hi")),
        purpose="chat",
        schema=SCHEMA,
    )
    messages = sent(asked, Dialect(json_schema=False))["messages"]
    assert [message["role"] for message in messages] == ["system", "user"]
    assert messages[0]["content"].startswith("Be good.\n\nFit this:")


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (SCHEMA, True),
        ({**SCHEMA, "required": []}, False),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, False),
        ({"anyOf": [SCHEMA, {**SCHEMA, "additionalProperties": True}]}, False),
    ],
)
def test_strict_mode_is_asked_for_only_where_it_can_be_had(
    schema: dict[str, Any], strict: bool
) -> None:
    body = sent(request(schema=schema))
    assert body["response_format"]["json_schema"]["strict"] is strict


def test_tools_and_their_results_go_over() -> None:
    tool = ToolSpec(name="shell", description="Run.", parameters={"type": "object"})
    made = ToolCall(id="c1", name="shell", arguments='{"command":"ls"}')
    asked = ModelRequest(
        messages=(
            Message(role="user", content="Look"),
            Message(role="assistant", content="I look.", tool_calls=(made,)),
            Message(role="tool", tool_call_id="c1", content="a.txt"),
            Message(role="assistant", content="There is a.txt."),
        ),
        purpose="chat",
        tools=(tool,),
    )
    body = sent(asked)
    assert body["tools"][0]["function"]["name"] == "shell"
    assert body["messages"][1]["tool_calls"][0]["id"] == "c1"
    assert body["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": "a.txt"}
    assert body["messages"][3] == {"role": "assistant", "content": "There is a.txt."}


@pytest.mark.parametrize(
    ("words", "asked", "lost"),
    [
        ("unknown field stream_options", request(), "stream_options"),
        ("Use 'max_completion_tokens' instead", request(), "max_completion_tokens"),
        ("temperature does not support 0.2", request(), "temperature"),
        ("no", request(schema=SCHEMA), "strict"),
        ("no", request(schema={"type": "object"}), "json_schema"),
        ("stream is not supported", request(), "stream"),
    ],
)
def test_a_refusal_takes_away_what_it_names(words: str, asked: ModelRequest, lost: str) -> None:
    before = Dialect()
    after = after_refusal(before, asked, words)
    assert after is not None
    changed = [
        name
        for name in Dialect.__dataclass_fields__
        if getattr(after, name) != getattr(before, name)
    ]
    assert changed == [lost]


@pytest.mark.parametrize("asked", [request(), request(schema=SCHEMA)])
def test_a_ladder_of_refusals_ends(asked: ModelRequest) -> None:
    words = "stream_options max_completion_tokens temperature response_format stream"
    dialect: Dialect | None = Dialect()
    steps = 0
    while dialect is not None:
        dialect = after_refusal(dialect, asked, words)
        steps += 1
    assert steps <= 7


def test_a_refusal_that_names_nothing_ends_it_at_once() -> None:
    assert after_refusal(Dialect(), request(), "model not found") is None


# --- back ----------------------------------------------------------------------------------


def test_a_stream_is_put_together() -> None:
    reply = built(
        delta({"role": "assistant", "content": None}),
        delta({"content": "Hel"}),
        delta({"content": "lo"}),
        delta(finish="length"),
        {
            "choices": [],
            "model": "real-name",
            "usage": {
                "prompt_tokens": 3,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 1},
            },
        },
    )
    assert (reply.content, reply.finish, reply.model) == ("Hello", "length", "real-name")
    assert (reply.tokens_in, reply.tokens_out, reply.tokens_cached) == (3, 2, 1)


def test_an_answer_is_whole_once_the_server_says_so() -> None:
    building = ReplyBuilder("m")
    assert not building.complete
    building.done()
    assert building.complete


@pytest.mark.parametrize(
    ("said", "finish"),
    [("stop", "stop"), ("content_filter", "filtered"), ("length", "length"), ("odd", "stop")],
)
def test_reasons_to_finish(said: str, finish: str) -> None:
    assert built(delta({"content": "x"}, said)).finish == finish


def test_a_choice_that_says_nothing_adds_nothing() -> None:
    reply = built(delta({"content": "so"}), {"choices": [{"finish_reason": "stop"}]})
    assert (reply.content, reply.finish) == ("so", "stop")


def test_fragments_of_calls_are_told_apart_by_index() -> None:
    reply = built(
        call(0, "a", "shell", '{"com'),
        call(1, "b", "read"),
        call(0, None, None, 'mand":1}'),
        call(1, "", None, "{}"),
        delta(finish="tool_calls"),
    )
    assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [
        ("a", "shell", '{"command":1}'),
        ("b", "read", "{}"),
    ]
    assert reply.finish == "tool-calls"


def test_calls_that_are_all_numbered_0_are_told_apart_by_id() -> None:
    reply = built(call(0, "a", "shell", "{}"), call(0, "b", "read", "{}"))
    assert [c.name for c in reply.tool_calls] == ["shell", "read"]


def test_calls_without_number_and_id_get_ids() -> None:
    reply = built(call(None, None, "shell", "{}"), call(None, None, "read", ""))
    assert [(c.id, c.arguments) for c in reply.tool_calls] == [("call-1", "{}"), ("call-2", "{}")]


def test_arguments_that_come_as_an_object_become_text() -> None:
    reply = built(
        {
            "choices": [
                {
                    "message": {
                        "tool_calls": [
                            {"id": "a", "function": {"name": "shell", "arguments": {"x": 1}}}
                        ]
                    },
                    "finish_reason": "tool_calls",
                }
            ]
        }
    )
    assert reply.tool_calls[0].arguments == '{"x":1}'


def test_a_flood_of_calls_is_refused() -> None:
    with pytest.raises(ModelReplyError, match="128"):
        built(*(call(n, f"c{n}", "shell") for n in range(129)))


def test_only_the_first_choice_counts() -> None:
    first, second = delta({"content": "one"}), delta({"content": "two"})
    reply = built({"choices": [*first["choices"], *second["choices"]]})
    assert reply.content == "one"


@pytest.mark.parametrize("data", [b"", b"no", b"[1]", b'{"choices":{}}', b"\xff"])
def test_what_is_no_answer_is_an_error(data: bytes) -> None:
    with pytest.raises(ModelReplyError):
        ReplyBuilder("m").add(data)


@pytest.mark.parametrize(
    ("said", "count"),
    [
        (12, 12),
        (12.0, 12),
        ("12", 12),
        (0, 0),
        (-1, None),
        (True, None),
        ("many", None),
        ("9" * 500, None),
        (1e300, None),
        (None, None),
        ([3], None),
    ],
)
def test_a_count_is_taken_where_it_is_clear_and_unknown_else(said: object, count: object) -> None:
    usage = {"prompt_tokens": said, "prompt_tokens_details": {"cached_tokens": said}}
    reply = built(delta({"content": "x"}), {"choices": [], "usage": usage})
    assert (reply.tokens_in, reply.tokens_out, reply.tokens_cached) == (count, None, count)


@pytest.mark.parametrize("usage", ["none", 3.5, [1], {}, {"prompt_tokens_details": "no"}])
def test_a_usage_that_says_nothing_costs_no_reply(usage: object) -> None:
    reply = built(delta({"content": "x"}), {"choices": [], "usage": usage})
    assert (reply.content, reply.tokens_in, reply.tokens_cached) == ("x", None, None)


def test_content_may_come_in_parts() -> None:
    parts = [{"type": "text", "text": "Hel"}, "lo", {"type": "image_url", "image_url": {}}]
    whole = {"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]}
    assert built(whole).content == "Hello"
    assert built(delta({"content": [{"type": "text", "text": "Hel"}]}), delta()).content == "Hel"


@pytest.mark.parametrize("content", [3, {"text": "x"}, [3]])
def test_content_that_is_not_clear_is_no_answer(content: object) -> None:
    with pytest.raises(ModelReplyError):
        built(delta({"content": content}))


def test_an_answer_without_a_choice_is_an_error() -> None:
    with pytest.raises(ModelReplyError):
        built({"choices": []})


def test_an_error_in_the_stream_is_the_servers() -> None:
    with pytest.raises(ModelUnavailableError, match="overloaded"):
        built({"error": {"message": "overloaded"}})


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ('```json\n{"a":1}\n```', '{"a":1}'),
        ('  ```\n{"a":1}\n```\n', '{"a":1}'),
        ('{"a":1}', '{"a":1}'),
        ("```", "```"),
        ("```json```", "```json```"),
    ],
)
def test_a_fence_around_json_is_taken_off(text: str, bare: str) -> None:
    assert without_fence(text) == bare


def test_event_lines() -> None:
    events = EventLines()
    lines = [b": ping\n", b"event: x\r\n", b"data: a\r\n", b"data:b\n", b"id: 1\n", b"\r\n", b"\n"]
    assert [events.line(line) for line in lines] == [None] * 5 + [b"a\nb", None]
    events.line(b"data: rest")
    assert (events.rest(), events.rest()) == (b"rest", None)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error":{"message":"no such model"}}', "no such model"),
        (b'{"error":"plain"}', "plain"),
        (b'{"message":"top"}', "top"),
        (b'{"detail":[{"loc":"x"}]}', '[{"loc":"x"}]'),
        (b'{"error":null,"detail":"late"}', '{"error":null,"detail":"late"}'),
        (b"<b>\x1b[1mNo</b>\n\n", "<b> [1mNo</b>"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"", ""),
        (b"x" * 1_000, "x" * 300),
    ],
)
def test_the_words_of_an_error(body: bytes, words: str) -> None:
    assert error_words(body) == words


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (r"a\ud83d", "a\ufffd"),
        (r"\ude00b", "\ufffdb"),
        (r"\ud83d\ude00 \ud83d", "\U0001f600 \ufffd"),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (r"\\ud83d \udc00", "\\ud83d \ufffd"),
        (r"caf\u00e9 \uD800x", "caf\u00e9 \ufffdx"),
    ],
)
def test_half_of_a_character_costs_a_mark_and_not_the_reply(escaped: str, text: str) -> None:
    """As servers write it that cut their text between the halves of an emoji."""
    builder = ReplyBuilder("asked")
    data = '{"choices":[{"delta":{"content":"' + escaped + '"},"finish_reason":"stop"}]}'
    assert builder.add(data.encode()) == text
    assert builder.reply(0.0, unfence=False).content == text
