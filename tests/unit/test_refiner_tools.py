"""The four tools: what they take, how far they reach, and the record in their place."""

import msgspec
import pytest

from gnomon.agent.arguments import check_for
from gnomon.domain.errors import (
    RecordError,
    ScopedToolViolationError,
    ToolNotFoundError,
    UsageError,
)
from gnomon.domain.json_value import Fields
from gnomon.refiner import by_schema
from gnomon.refiner.protocol import SchemaEdit
from gnomon.refiner.tools import WriteScaffold, checked, edited, specs
from gnomon.scaffold.defaults import packaged_defaults

PROMPT = "inner-loop-prompt.md"
TEXT = packaged_defaults()[PROMPT]
FOUR = ["read_scaffold", "write_scaffold", "read_fitness_ledger", "read_trajectory_window"]
WRITE: Fields = {
    "target": PROMPT,
    "rationale": "r",
    "signal": "stall",
    "direction": "down",
    "find": "a",
    "replace": "b",
}


def test_there_are_exactly_four() -> None:
    assert [spec.name for spec in specs()] == FOUR
    assert all(spec.description and "\n" not in spec.description for spec in specs())


@pytest.mark.parametrize("spec", specs(), ids=lambda spec: spec.name)
def test_what_a_schema_takes_the_scope_can_read(spec: object) -> None:
    assert isinstance(spec, type(specs()[0]))
    said = WRITE if spec.name == "write_scaffold" else {"target": PROMPT}
    said = said if "target" in str(spec.parameters) else {}
    taken = check_for(spec)(msgspec.json.encode(said).decode())
    assert checked(spec.name, taken, written=False) is not None


@pytest.mark.parametrize("name", ["shell", "write", "recall", "read_scaffold ", "", "x" * 200])
def test_any_other_tool_is_not_found(name: str) -> None:
    with pytest.raises(ToolNotFoundError, match=r"^Tool not found\.$"):
        checked(name, {}, written=False)


@pytest.mark.parametrize(
    "target",
    [
        "self-state.json",
        "../self-state.json",
        "/etc/passwd",
        "./inner-loop-prompt.md",
        "inner-loop-prompt.md/",
        "INNER-LOOP-PROMPT.MD",
        ".versions/inner-loop-prompt.md.000001-1-aaaa",
        "README.md",
        "composition.yaml",
        "inner-loop-prompt.md\0",
    ],
)
@pytest.mark.parametrize("tool", ["read_scaffold", "write_scaffold"])
def test_no_other_file_is_in_scope(tool: str, target: str) -> None:
    said = {**WRITE, "target": target} if tool == "write_scaffold" else {"target": target}
    with pytest.raises(ScopedToolViolationError) as caught:
        checked(tool, said, written=False)
    assert caught.value.facts["role"] == "refiner"
    assert caught.value.facts["tool"] == tool


def test_a_second_proposal_is_beyond_its_scope() -> None:
    with pytest.raises(ScopedToolViolationError, match="second proposal"):
        checked("write_scaffold", WRITE, written=True)
    assert checked("read_scaffold", {"target": PROMPT}, written=True)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("read_scaffold", {}),
        ("read_scaffold", {"target": PROMPT, "more": 1}),
        ("write_scaffold", {**WRITE, "signal": "happiness"}),
        ("write_scaffold", {**WRITE, "rationale": "r" * 2_000}),
        ("write_scaffold", {**WRITE, "replace": "\ud800"}),
        ("read_trajectory_window", {"reflections": 31}),
        ("read_fitness_ledger", {"days": 3}),
    ],
)
def test_arguments_that_fit_nothing_are_refused(name: str, said: Fields) -> None:
    with pytest.raises(RecordError):
        checked(name, said, written=False)


def written(**more: str | None) -> WriteScaffold:
    given = {**WRITE, "find": None, "replace": None, **more}
    return msgspec.convert(given, WriteScaffold)


def test_an_edit_is_the_whole_text_or_one_passage_of_it() -> None:
    assert edited(written(content="new"), "old") == "new"
    assert edited(written(find="b", replace="x"), "abc") == "axc"
    assert edited(written(find="b", replace=""), "abc") == "ac"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "not clear"),
        ({"find": "b"}, "not clear"),
        ({"replace": "b"}, "not clear"),
        ({"find": "", "replace": "b"}, "not clear"),
        ({"find": "b", "replace": "x", "content": "y"}, "not clear"),
        ({"find": "z", "replace": "x"}, "0 times"),
        ({"find": "a", "replace": "x"}, "2 times"),
    ],
)
def test_an_edit_that_says_no_text_proposes_nothing(more: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        edited(written(**more), "aba")


# --- a model that calls no tools ----------------------------------------------------------------


def test_the_lines_that_may_be_rewritten_stand_there_once() -> None:
    lines = by_schema.lines_of(TEXT)
    assert lines
    assert all(TEXT.count(each) == 1 for each in lines)
    assert all(by_schema.LEAST_LINE <= len(each) <= by_schema.MOST_LINE for each in lines)
    assert by_schema.lines_of("short\n" + "twice the same line, twice\n" * 2) == ()


def test_the_request_shows_the_three_reads_as_data_and_asks_for_one_of_the_lines() -> None:
    request = by_schema.request("words", "p@l#1", TEXT, "lately " * 400, "fared")
    assert [message.role for message in request.messages] == ["system", "user"]
    told = request.messages[1].content
    assert told.count("<tool-data from=") == 3
    assert "characters left out" in told
    assert request.purpose == "refine"
    assert request.schema is not None
    assert request.schema["properties"]["find"] == {"enum": list(by_schema.lines_of(TEXT))}  # type: ignore[index] - a schema
    assert request.schema["additionalProperties"] is False
    assert len(told) < 3 * 4_096, "it has to fit the embedded model"


def test_where_no_line_fits_any_passage_may_be_named() -> None:
    schema = by_schema.schema(())
    assert schema["properties"]["find"]["type"] == "string"  # type: ignore[index] - a schema
    assert set(schema["required"]) == set(SchemaEdit.__struct_fields__)  # type: ignore[arg-type] - a list
