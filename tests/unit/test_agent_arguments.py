"""What a model writes as arguments is checked before anything runs."""

from typing import Any

import msgspec
import pytest

from gnomon.agent.arguments import REASON_LIMIT, BadArgumentsError, check_for
from gnomon.agent.tool_specs import built_in, granted
from gnomon.domain.messages import ToolSpec

FOREIGN = ToolSpec(
    name="weather",
    description="Tell the weather.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)


def test_every_built_in_tool_is_told_to_the_model_as_a_closed_object():
    for name, spec in built_in().items():
        assert spec.name == name
        assert spec.description
        assert "\n" not in spec.description
        assert spec.parameters["type"] == "object"
        assert spec.parameters["additionalProperties"] is False
        assert "$ref" not in msgspec.json.encode(spec.parameters).decode()


def test_the_shell_is_named_shell_and_takes_command():
    shell: Any = built_in()["shell"].parameters
    assert shell["required"] == ["command"]
    assert set(shell["properties"]) == {"command", "timeout_seconds"}


def test_only_granted_names_are_offered_and_in_the_manifests_order():
    assert [spec.name for spec in granted(("shell", "unheard-of", "read"))] == ["shell", "read"]


def test_well_formed_arguments_come_back_as_they_are():
    assert check_for(built_in()["read"])('{"path":"a.txt","start":3}') == {
        "path": "a.txt",
        "start": 3,
    }


def test_a_number_written_as_text_is_taken_as_the_number():
    """Small models quote their numbers; refusing that would cost a step each time."""
    assert check_for(built_in()["read"])('{"path":"a","start":"3"}') == {"path": "a", "start": 3}


def test_missing_arguments_count_as_none_given():
    assert check_for(built_in()["list"])("") == {}


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "[1]",
        '"text"',
        "{",
        "null",
        '{"path":1}',
        '{"path":"a","unknown":1}',
        '{"start":1}',
        '{"path":"a","start":0}',
        '{"path":""}',
        '{"path":"\\ud800"}',
        "[" * 100_000,
    ],
)
def test_garbage_is_refused_with_a_reason(text: str):
    with pytest.raises(BadArgumentsError) as caught:
        check_for(built_in()["read"])(text)
    assert caught.value.code == "INVALID_ARGUMENTS"
    assert caught.value.facts["tool"] == "read"
    assert 0 < len(str(caught.value.facts["reason"])) <= REASON_LIMIT


def test_a_foreign_tool_is_checked_against_its_own_schema():
    check = check_for(FOREIGN)
    assert check('{"city":"Bern"}') == {"city": "Bern"}
    for text in ('{"city":1}', "{}", '{"city":"Bern","zip":1}', "{"):
        with pytest.raises(BadArgumentsError):
            check(text)


def test_a_foreign_tool_under_a_built_in_name_is_checked_against_its_own_schema():
    impostor = msgspec.structs.replace(FOREIGN, name="read")
    assert check_for(impostor)('{"city":"Bern"}') == {"city": "Bern"}
