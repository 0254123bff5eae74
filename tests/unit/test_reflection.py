"""What a reflection may say, and what it is told."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from gnomon.domain.errors import RecordError
from gnomon.domain.plain import fields, read
from gnomon.resident.protocol import TickArguments
from gnomon.resident.reflection import (
    MAX_TOKENS,
    Authority,
    Perception,
    ReflectionOutput,
    brief_schema,
    desired_action,
    lane,
    published_schema,
    request,
)

SAID = {
    "focus": "f",
    "desired_action": "rest",
    "summary": "s",
    "concerns": [],
    "interests": [],
    "open_questions": [],
    "candidate_items": [],
    "active_item": None,
}
LIMITS = {
    "focus": 160,
    "summary": 220,
    "problem_statement": 260,
    "last_conclusion": 220,
    "next_step": 220,
    "thread_title": 120,
}


def decode(**changes: object) -> ReflectionOutput:
    return msgspec.convert(SAID | changes, ReflectionOutput)


@pytest.mark.parametrize(("name", "limit"), LIMITS.items())
def test_each_text_has_its_limit(name: str, limit: int) -> None:
    assert getattr(decode(**{name: "x" * limit}), name) == "x" * limit
    with pytest.raises(msgspec.ValidationError):
        decode(**{name: "x" * (limit + 1)})


@pytest.mark.parametrize("name", ["concerns", "interests", "open_questions"])
def test_lists_hold_at_most_four(name: str) -> None:
    assert len(getattr(decode(**{name: ["x"] * 4}), name)) == 4
    with pytest.raises(msgspec.ValidationError):
        decode(**{name: ["x"] * 5})


def test_an_item_from_an_unknown_source_is_refused() -> None:
    item = {"title": "t", "source": "operator", "rationale": "r"}
    assert lane(decode(active_item=item).active_item) == "operator"
    with pytest.raises(msgspec.ValidationError):
        decode(active_item=item | {"source": "the operator himself"})
    with pytest.raises(msgspec.ValidationError):
        decode(candidate_items=[item | {"source": "system"}])
    with pytest.raises(msgspec.ValidationError):
        decode(active_item=item | {"title": "x" * 121})


def test_an_unknown_desired_action_is_hold() -> None:
    assert desired_action(decode(desired_action="research")) == "research"
    assert desired_action(decode(desired_action="attack")) == "hold"


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode(fitness="0.9")


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node:
        if isinstance(child, dict | list):
            yield from nodes(child)


def test_every_text_and_list_in_the_schema_is_bounded() -> None:
    schema = list(nodes(published_schema()))
    assert all("maxLength" in n or "enum" in n for n in schema if n.get("type") == "string")
    assert all(n["maxItems"] == 4 for n in schema if n.get("type") == "array")
    assert all(n["additionalProperties"] is False for n in schema if n.get("type") == "object")


def test_a_demo_model_is_shown_tighter_bounds_of_the_same_record() -> None:
    brief = list(nodes(brief_schema()))
    assert all(n["maxItems"] == 1 for n in brief if n.get("type") == "array")
    assert all(n["maxLength"] <= 80 for n in brief if "maxLength" in n)
    plain = list(nodes(published_schema()))
    assert [n.get("required") for n in brief] == [n.get("required") for n in plain]


def test_the_longest_reflection_fits_its_tokens() -> None:
    item = {"title": "x" * 120, "source": "background", "rationale": "x" * 160}
    longest = decode(
        **{name: "x" * limit for name, limit in LIMITS.items()},
        concerns=["x" * 100] * 4,
        interests=["x" * 100] * 4,
        open_questions=["x" * 100] * 4,
        candidate_items=[item] * 4,
        active_item=item,
    )
    assert len(msgspec.json.encode(longest)) <= MAX_TOKENS * 4


def test_the_request_is_the_scaffolds_words_then_facts_at_a_low_temperature() -> None:
    perception = Perception(
        now="2026-05-24T18:00:00.000Z",
        operator_present=True,
        authority=Authority(mode="shadow", may_speak=False, may_act=False),
    )
    asked = request("The words.", "inner-loop-prompt@production#0", perception)
    assert [message.role for message in asked.messages] == ["system", "user"]
    assert asked.messages[0].content == "The words."
    assert msgspec.json.decode(asked.messages[1].content, type=Perception) == perception
    assert (asked.temperature, asked.purpose) == (0.2, "reflection")


def test_a_perception_has_no_place_for_a_measure_of_worth() -> None:
    names = set(Perception.__struct_fields__)
    assert names == {
        "now", "operator_present", "authority", "recent_conversation", "thread", "active_item",
        "operator_lane", "background_lane", "concerns", "interests", "open_questions", "agenda",
        "repeating", "closed_by_operator",
    }  # fmt: skip


def test_a_malformed_request_names_what_does_not_fit() -> None:
    good = TickArguments(now=1, scaffold=None, skip_reason="idle", operator_present=True)  # type: ignore[arg-type]
    assert read(fields(good), TickArguments) == good
    with pytest.raises(RecordError, match="skip_reason"):
        read({**fields(good), "skip_reason": "bored"}, TickArguments)
