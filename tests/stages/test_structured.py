"""Asking for a record: it fits, or it is asked for once more, or it is not used."""

from typing import Annotated, Literal

import msgspec
import pytest

from gnomon.agent.prompts import resolve
from gnomon.agent.structured import ask, schema_of
from gnomon.domain.errors import InvalidOutputError, ModelTimeoutError, UsageError
from gnomon.domain.messages import Message, ModelReply, ModelRequest
from gnomon.testing.models import ScriptedModel, says


class Mood(msgspec.Struct, frozen=True):
    focus: Annotated[str, msgspec.Meta(max_length=10)]
    action: Literal["rest", "plan"]


REQUEST = ModelRequest(messages=(Message(role="user", content="How?"),), purpose="test")
GOOD = '{"focus":"tests","action":"plan"}'


async def test_a_reply_that_fits_is_decoded():
    model = ScriptedModel([says(GOOD, tokens=5)])
    value, reply = await ask(model, REQUEST, Mood)
    assert value == Mood("tests", "plan")
    assert reply.tokens_in == 5
    assert model.requests[0].schema == schema_of(Mood)


async def test_the_schema_that_is_shown_can_be_another_one():
    model = ScriptedModel([says(GOOD)])
    await ask(model, REQUEST, Mood, schema={"type": "object"})
    assert model.requests[0].schema == {"type": "object"}


async def test_a_fence_around_the_whole_reply_is_no_fault():
    value, _ = await ask(ScriptedModel([says(f"```json\n{GOOD}\n```")]), REQUEST, Mood)
    assert value.action == "plan"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ('{"focus":"far too long","action":"plan"}', "length <= 10"),
        ('{"focus":"x","action":"fly"}', "Invalid enum value"),
        ('{"focus":"x"}', "missing required field `action`"),
        ("Sure! Here it is: " + GOOD, "malformed"),
        ("", "truncated"),
        ("[" * 100_000, ""),
    ],
)
async def test_a_reply_that_does_not_fit_is_asked_for_once_more_with_the_reason(
    bad: str, reason: str
):
    model = ScriptedModel([says(bad, tokens=5), says(GOOD, tokens=7)])
    value, reply = await ask(model, REQUEST, Mood)
    assert value == Mood("tests", "plan")
    assert (reply.tokens_in, reply.tokens_out) == (12, 12), "the bill holds both calls"
    question, answer, told = model.requests[1].messages
    assert question == REQUEST.messages[0]
    assert answer.content == bad[:4_000]
    assert reason in told.content


async def test_a_second_bad_reply_is_an_error_and_nothing_of_it_is_used():
    model = ScriptedModel([says("no"), says('{"focus":"x","action":"fly"}')])
    with pytest.raises(InvalidOutputError) as caught:
        await ask(model, REQUEST, Mood)
    assert "Invalid enum value" in str(caught.value.facts["reason"])
    assert caught.value.facts["model"] == "scripted"
    assert len(model.requests) == 2


async def test_a_reply_that_was_cut_is_never_used_even_if_it_would_decode():
    cut = ModelReply(content=GOOD, finish="length", model="m")
    with pytest.raises(InvalidOutputError, match="cut off"):
        await ask(ScriptedModel([cut, cut]), REQUEST, Mood)


async def test_what_the_model_raises_passes_through_and_is_not_asked_again():
    model = ScriptedModel([ModelTimeoutError("late")])
    with pytest.raises(ModelTimeoutError):
        await ask(model, REQUEST, Mood)
    assert len(model.requests) == 1


# --- prompts -----------------------------------------------------------------------------


def test_the_scaffolds_text_is_in_force_and_the_packaged_one_where_it_has_none():
    ours = resolve("structured-retry@production", {"structured-retry.md": "Again."})
    assert ours.text == "Again."
    packaged = resolve("structured-retry@production", {"other.md": "x"})
    assert "{reason}" in packaged.text
    assert resolve("structured-retry@packaged", {"structured-retry.md": "Again."}).text == (
        packaged.text
    )


def test_a_reference_names_the_exact_words():
    one = resolve("a@production", {"a.md": "one"}).reference
    two = resolve("a@production", {"a.md": "two"}).reference
    assert one == "a@production#7692c3ad3540"
    assert two != one


@pytest.mark.parametrize("reference", ["", "a", "a@", "@b", "../x@y", "a@b#c", "A@b", "/a@b"])
def test_a_malformed_reference_is_refused(reference: str):
    with pytest.raises(UsageError, match="not a prompt's name"):
        resolve(reference)


def test_a_prompt_that_is_nowhere_is_said():
    with pytest.raises(UsageError, match="no prompt 'nowhere'"):
        resolve("nowhere@production")
