"""Every handed case of the formats that are read gives its expected facts."""

import json
from pathlib import Path

import msgspec
import pytest

from gnomon.domain.instants import parse_iso
from gnomon.domain.views_history import ImportRow
from gnomon.observe.identity import Owners
from gnomon.observe.transcripts.file_fold import FoundSession, FoundTurn
from gnomon.observe.transcripts.reading import Reading

CASES = Path(__file__).parents[1] / "cases" / "transcripts"
EXPECTED = json.loads((CASES / "expected.json").read_text("utf-8"))
OTHERS = sorted(path.name for path in (CASES / "other-formats").iterdir())


def read(path: Path) -> tuple[ImportRow, list[FoundTurn], list[FoundSession]]:
    reading = Reading(path, Owners())
    found = list(reading.run())
    turns = [each for each in found if isinstance(each, FoundTurn)]
    sessions = [each for each in found if isinstance(each, FoundSession)]
    return reading.row(len(turns)), turns, sessions


def expected_calls(facts: dict) -> dict | None:
    if "tool_calls" in facts:
        return facts["tool_calls"]
    if "tool_calls_main" not in facts:
        return None
    calls = dict(facts["tool_calls_main"])
    for tool, times in facts.get("tool_calls_sidechain", {}).items():
        calls[tool] = calls.get(tool, 0) + times
    return calls


def expected_tokens(facts: dict) -> dict | None:
    if "usage_by_message_id" in facts:
        used = facts["usage_by_message_id"]
        return {
            "input": used["input_tokens"],
            "output": used["output_tokens"],
            "cache_read": used["cache_read_input_tokens"],
            "cache_creation": used["cache_creation_input_tokens"],
        }
    if "token_totals_last_cumulative" in facts:
        used = facts["token_totals_last_cumulative"] or {}
        return {
            "input": used.get("input_tokens"),
            "output": used.get("output_tokens"),
            "cache_read": used.get("cached_input_tokens"),
            "cache_creation": None,
        }
    return None


@pytest.mark.parametrize("name", EXPECTED)
def test_a_handed_case_gives_its_expected_facts(name: str) -> None:
    facts = EXPECTED[name]
    row, turns, _ = read(CASES / name)
    told = msgspec.to_builtins(row)
    same = ("format", "user_turns", "tool_errors", "interruptions", "rejections", "models")
    for fact in (*same, "first_at", "last_at"):
        if fact in facts:
            value = list(told[fact]) if fact == "models" else told[fact]
            assert value == facts[fact], fact
    assert row.sessions == facts.get("session_ids", row.sessions)
    check_tools_and_tokens(row, facts)
    check_damage(row, facts)
    assert sum(found.spoken for found in turns) == row.user_turns


def check_tools_and_tokens(row: ImportRow, facts: dict) -> None:
    if (calls := expected_calls(facts)) is not None:
        assert row.tool_calls == calls
    if "tool_calls_total" in facts:
        assert sum(row.tool_calls.values()) == facts["tool_calls_total"]
    if (tokens := expected_tokens(facts)) is not None:
        assert msgspec.to_builtins(row.tokens) == tokens


def check_damage(row: ImportRow, facts: dict) -> None:
    not_objects = row.not_records.get("not an object", 0)
    assert not_objects == facts.get("non_object_records", not_objects)
    damaged = facts.get("malformed_lines", facts.get("malformed_or_recovered_lines"))
    if damaged is not None:
        assert [bad.line for bad in row.bad_lines] == damaged
        assert all(bad.reason for bad in row.bad_lines)
    if "fused_lines" in facts:
        assert list(row.fused_lines) == facts["fused_lines"]


def test_instants_are_compared_as_instants_and_not_as_text() -> None:
    facts = EXPECTED["derived-malformed/12-timestamp-forms.jsonl"]
    row, _, _ = read(CASES / "derived-malformed/12-timestamp-forms.jsonl")
    assert row.first_at is not None
    assert row.last_at is not None
    assert parse_iso(row.first_at) == parse_iso(facts["first_at_same_instant"])
    assert parse_iso(row.last_at) == parse_iso(facts["last_at_same_instant"])


@pytest.mark.parametrize("name", [name for name in EXPECTED if "user_turn_heads" in EXPECTED[name]])
def test_the_user_turns_are_those_that_people_wrote(name: str) -> None:
    _, turns, _ = read(CASES / name)
    heads = [found.observation.task[:80] for found in turns if found.spoken]
    assert sorted(heads) == sorted(EXPECTED[name]["user_turn_heads"])


def test_work_that_a_command_began_is_seen_with_its_failures() -> None:
    row, turns, (session,) = read(CASES / "claude-code" / "01-inline-sidechains.jsonl")
    (found,) = turns
    seen = found.observation
    assert (row.user_turns, found.spoken, seen.turn) == (0, False, 1)
    assert seen.task.startswith("/short-parcel ")
    assert sum(seen.tools.values()) == 21
    assert [failure.tool for failure in seen.failures] == ["Task", "Bash", "Edit"]
    assert (seen.corrected, session.session.title) == (False, seen.task)


@pytest.mark.parametrize("name", EXPECTED)
def test_failures_of_turns_never_exceed_the_failed_results(name: str) -> None:
    row, turns, _ = read(CASES / name)
    seen = sum(len(found.observation.failures) for found in turns)
    assert seen <= (row.tool_errors or 0)


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_of_another_format_is_a_row_with_nothing_in_it(name: str) -> None:
    row, turns, sessions = read(CASES / "other-formats" / name)
    assert (row.format, row.sessions, row.user_turns, row.tool_calls) == (None, 0, 0, {})
    assert row.note == "not a transcript of a format that is read"
    assert not turns
    assert not sessions
    assert not row.bad_lines


def test_a_file_of_garbage_says_so() -> None:
    row, _, _ = read(CASES / "derived-malformed/10-only-garbage.jsonl")
    assert row.note == "no line could be read"


def test_an_empty_file_says_so() -> None:
    row, _, _ = read(CASES / "derived-malformed/09-empty.jsonl")
    assert row.note == "empty"


@pytest.mark.parametrize(
    ("name", "ended"),
    [
        ("claude-code/04-compact-boundary.jsonl", ["ok"]),
        ("claude-code/05-fused-records.jsonl", ["open-todos"]),
        ("codex/01-rollout-118-calls.jsonl", ["ok"]),
        ("codex/03-rollout-cut-mid-call.jsonl", ["interruption"]),
        ("codex/08-escalation-abort.jsonl", ["interruption"]),
        ("derived-malformed/01-truncated-last-line.jsonl", ["interruption"]),
    ],
)
def test_how_a_session_ended_is_told_from_its_last_event(name: str, ended: list[str]) -> None:
    _, _, sessions = read(CASES / name)
    assert [found.session.ended for found in sessions] == ended


def test_turns_of_an_old_codex_session_are_dated_by_its_beginning_and_by_nothing_made_up() -> None:
    _, turns, _ = read(CASES / "codex" / "05-legacy-bare-2025-09.jsonl")
    assert {each.observation.happened_at for each in turns} == {None}
    assert {each.observation.session_at for each in turns} == {"2025-10-01T18:58:38.331Z"}
    _, turns, _ = read(CASES / "codex" / "02-rollout-multi-turn.jsonl")
    assert {each.observation.session_at for each in turns} == {None}
