"""What every `Model` does, fake or real: the scripted one, the replayed one, the hosted one."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

import msgspec
import pytest

from gnomon.domain.errors import ModelRateLimitError, ModelRequestError
from gnomon.domain.messages import Message, ModelReply, ModelRequest, ToolSpec
from gnomon.domain.ports import Model
from gnomon.testing import openai_behaviours as stub_can
from gnomon.testing.models import (
    RecordingModel,
    ReplayModel,
    ScriptedModel,
    calls,
    request_key,
    says,
)
from gnomon.testing.openai_stub import OpenAIStub
from tests.model_kit import SCHEMA, ask, hosted

Made = Callable[[str], AbstractAsyncContextManager[Model]]
"""Makes a model that plays a named part."""

TEXT = "three words here"
SHELL = ToolSpec(name="shell", description="Run.", parameters={"type": "object"})


def scripted_part(part: str) -> ScriptedModel:
    entry: ModelReply | BaseException
    match part:
        case "text":
            entry = says(TEXT, model="stub-model", tokens=7)
        case "tools":
            entry = calls(("shell", {"command": "ls"}), ("shell", {"command": "pwd"}))
        case "json":
            entry = says('{"focus":"stub"}')
        case "limited":
            entry = ModelRateLimitError("slow down", retry_after_seconds=100.0)
        case _:
            entry = ModelRequestError("no such model")
    return ScriptedModel(then=entry)


@asynccontextmanager
async def scripted(part: str) -> AsyncGenerator[Model]:
    yield scripted_part(part)


@asynccontextmanager
async def replayed(part: str) -> AsyncGenerator[Model]:
    recording = RecordingModel(scripted_part(part))
    for request in (ask(), ask("Use tools."), ask(schema=SCHEMA)):
        with suppress(ModelRateLimitError, ModelRequestError):  # they are recorded
            await recording.complete(request)
    yield ReplayModel(recording.cassette)


def stub_part(part: str) -> stub_can.Behaviour:
    match part:
        case "text":
            return stub_can.say(TEXT)
        case "tools":
            return stub_can.ask_tools(("shell", {"command": "ls"}), ("shell", {"command": "pwd"}))
        case "json":
            return stub_can.say('{"focus":"stub"}')
        case "limited":
            return stub_can.status(429, "slow down", {"Retry-After": "100"})
        case _:
            return stub_can.status(404, "no such model")


@asynccontextmanager
async def served(part: str) -> AsyncGenerator[Model]:
    async with OpenAIStub(then=stub_part(part)) as stub, hosted(stub) as (model, _):
        yield model


@pytest.fixture(params=[scripted, replayed, served])
def made(request: pytest.FixtureRequest) -> Made:
    return request.param


async def test_an_answer_is_whole_and_its_parts_make_it_up(made: Made) -> None:
    parts: list[str] = []
    async with made("text") as model:
        reply = await model.complete(ask(), parts.append)
    assert (reply.content, reply.finish, reply.model) == (TEXT, "stop", "stub-model")
    assert "".join(parts) == TEXT
    assert reply.tokens_out == 7


async def test_streaming_is_optional(made: Made) -> None:
    async with made("text") as model:
        assert (await model.complete(ask())).content == TEXT


async def test_tool_calls_come_with_distinct_ids_and_raw_arguments(made: Made) -> None:
    request = msgspec.structs.replace(ask("Use tools."), tools=(SHELL,))
    async with made("tools") as model:
        if isinstance(model, ReplayModel):
            request = ask("Use tools.")
        reply = await model.complete(request)
    assert reply.finish == "tool-calls"
    assert [msgspec.json.decode(call.arguments) for call in reply.tool_calls] == [
        {"command": "ls"},
        {"command": "pwd"},
    ]
    assert len({call.id for call in reply.tool_calls}) == 2


async def test_a_schema_gives_json(made: Made) -> None:
    async with made("json") as model:
        reply = await model.complete(ask(schema=SCHEMA))
    assert msgspec.json.decode(reply.content) == {"focus": "stub"}


async def test_errors_are_of_the_tree(made: Made) -> None:
    async with made("limited") as model:
        with pytest.raises(ModelRateLimitError):
            await model.complete(ask())
    async with made("refused") as model:
        with pytest.raises(ModelRequestError):
            await model.complete(ask())


def test_the_key_of_a_request_ignores_ids_and_times_and_nothing_else() -> None:
    def conversation(identity: str, text: str = "x") -> ModelRequest:
        reply = calls(("shell", {"command": "ls"}))
        call = msgspec.structs.replace(reply.tool_calls[0], id=identity)
        return ModelRequest(
            messages=(
                Message(role="assistant", tool_calls=(call,)),
                Message(role="tool", tool_call_id=identity, content=text),
            ),
            purpose="chat",
        )

    key = request_key(conversation("a"))
    assert request_key(conversation("b")) == key
    assert request_key(msgspec.structs.replace(conversation("a"), timeout_seconds=1.0)) == key
    assert request_key(conversation("a", "y")) != key
    assert request_key(msgspec.structs.replace(conversation("a"), temperature=0.9)) != key


async def test_a_replay_counts_occurrences_and_never_guesses() -> None:
    recording = RecordingModel(ScriptedModel(["one", "two"]))
    for _ in range(2):
        await recording.complete(ask())
    replay = ReplayModel(recording.cassette)
    assert [(await replay.complete(ask())).content for _ in range(2)] == ["one", "two"]
    with pytest.raises(AssertionError, match="occurrence 3"):
        await replay.complete(ask())
    with pytest.raises(AssertionError, match="not recorded"):
        await replay.complete(ask("Something else"))
