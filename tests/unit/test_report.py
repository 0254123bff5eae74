"""The report's sections, from lines alone."""

from typing import Any

import pytest

from gnomon.domain.instants import HOUR, MINUTE, Millis, iso, parse_iso
from gnomon.domain.records_observe import Failure, ImportedSession, ModelTokens, Observation
from gnomon.domain.views_history import CostRow, Report
from gnomon.observe.price_list import Price, PriceList
from gnomon.observe.report import MOST_SOURCES, keeps_failing, misses, report, resume, total

START = parse_iso("2026-03-01T09:00:00Z")
PRICES = PriceList(
    as_of="2026-01", note="", models={"m": Price(input=3.0, output=15.0, cache_read=0.3)}
)


def turn(session: str, number: int, task: str, **more) -> Observation:
    fields: dict[str, Any] = {
        "session": session,
        "turn": number,
        "task": task,
        "tools": {},
        "failures": (),
        "corrected": False,
        "durationMs": None,
        "source": "claude-code",
        "happened_at": iso(Millis(START + number * MINUTE)),
        "project": "/home/me/shop",
        "path": f"/h/{session}.jsonl",
        "line": number,
        "turn_id": f"{session}-{number}",
    }
    return Observation(**(fields | more))


def session(name: str, ended: str = "ok", **more) -> ImportedSession:
    fields: dict[str, Any] = {
        "source": "claude-code",
        "session": name,
        "path": f"/h/{name}.jsonl",
        "project": "/home/me/shop",
        "models": ("m",),
        "first_at": iso(START),
        "last_at": iso(Millis(START + HOUR)),
        "ended": ended,
        "tokens": (),
        "user_turns": 1,
        "tool_errors": 0,
        "interruptions": 0,
        "rejections": 0,
    }
    return ImportedSession(**(fields | more))


def made(*lines: Observation | ImportedSession, **scope) -> Report:
    return report(lines, PRICES, **scope)


def test_what_is_corrected_in_two_sessions_is_listed_in_the_latest_wording() -> None:
    told = made(
        turn("a", 2, "please use pnpm and not npm", corrected=True),
        turn("b", 9, "no, use pnpm, not npm", corrected=True),
        turn("c", 3, "leave the readme alone", corrected=True),
    ).corrections
    (one,) = told
    assert (one.text, one.sessions) == ("no, use pnpm, not npm", 2)
    assert one.last_at == iso(Millis(START + 9 * MINUTE))
    assert [(quote.session, quote.path, quote.line) for quote in one.sources] == [
        ("b", "/h/b.jsonl", 9),
        ("a", "/h/a.jsonl", 2),
    ]


def test_the_same_correction_twice_in_one_session_is_one_session() -> None:
    lines = [turn("a", at, "use pnpm and not npm", corrected=True) for at in (2, 3)]
    assert made(*lines).corrections == ()


def test_words_inside_a_rejected_call_are_the_correction() -> None:
    lines = [
        turn(name, 2, "do it", corrected=True, correction="never touch the lock file")
        for name in ("a", "b")
    ]
    assert made(*lines).corrections[0].text == "never touch the lock file"


def test_a_turn_that_was_stated_again_counts_once_as_stated_last() -> None:
    lines = [
        turn("a", 2, "use pnpm and not npm", corrected=True),
        turn("b", 2, "use pnpm and not npm", corrected=True),
        turn("b", 2, "use pnpm and not npm", corrected=False),
    ]
    assert made(*lines).corrections == ()


def test_failures_are_grouped_by_tool_and_family_with_the_median_way_back() -> None:
    def failed(number: int, recovery: int | None) -> Observation:
        failure = Failure(tool="Bash", code="tests", recovery_ms=recovery)
        return turn("a", number, "run it", failures=(failure,))

    told = made(failed(1, 2 * MINUTE), failed(2, 6 * MINUTE), failed(3, None)).failures
    (group,) = told
    assert (group.tool, group.family, group.count) == ("Bash", "tests", 3)
    assert group.median_minutes_to_success == 4.0
    assert group.last_at == iso(Millis(START + 3 * MINUTE))
    assert made(failed(1, None)).failures[0].median_minutes_to_success is None


def test_what_keeps_failing_failed_the_same_way_twice() -> None:
    def failed(number: int, code: str) -> Observation:
        return turn("a", number, "run it", failures=(Failure(tool="Bash", code=code),))

    found = made(failed(1, "tests"), failed(2, "tests"), failed(3, "timeout"), failed(4, "syntax"))
    assert [each.family for each in found.failures] == ["tests", "syntax", "timeout"]
    again, once = keeps_failing(found.failures)
    assert ([each.family for each in again], once) == (["tests"], 2)


def test_a_failure_quotes_each_call_that_failed_and_its_error_where_it_stands() -> None:
    def failed(number: int, *lines: int) -> Observation:
        calls = (
            Failure(tool="Bash", code="tests", call="pytest -q", error=f"{line} failed", line=line)
            for line in lines
        )
        return turn("a", number, "run it", failures=tuple(calls))

    (group,) = made(failed(1, 4, 6), failed(2, 9)).failures
    assert [(each.quote, each.path, each.line) for each in group.sources] == [
        ("pytest -q → 9 failed", "/h/a.jsonl", 9),
        ("pytest -q → 6 failed", "/h/a.jsonl", 6),
        ("pytest -q → 4 failed", "/h/a.jsonl", 4),
    ]
    (many,) = made(failed(1, *range(1, 60))).failures
    assert (many.count, len(many.sources)) == (59, MOST_SOURCES)


def test_a_failure_that_was_noted_without_its_words_quotes_the_task() -> None:
    lines = [
        turn("a", 1, "run it", failures=(Failure(tool="Bash", code="tests"),)),
        turn("a", 2, "again", failures=(Failure(tool="Bash", code="tests", error="2 failed"),)),
    ]
    (group,) = made(*lines).failures
    assert [(each.quote, each.line) for each in group.sources] == [("2 failed", 2), ("run it", 1)]


@pytest.mark.parametrize("code", ["paused", "budget", "breaker-open", "no-model"])
def test_what_the_operator_or_a_bound_decided_is_no_failure(code: str) -> None:
    decided = Failure(tool="model", code=code)
    failed = Failure(tool="model", code="model-timeout")
    told = made(*(turn("a", at, "hi", failures=(decided, failed)) for at in (1, 2)))
    assert [(each.family, each.count) for each in told.failures] == [("model-timeout", 2)]


def test_a_call_that_the_user_rejected_is_no_failure_of_its_tool() -> None:
    rejected = Failure(tool="Bash", code="rejected_by_user")
    assert made(*(turn("a", at, "x", failures=(rejected,)) for at in (1, 2))).failures == ()


def test_a_total_leaves_out_what_has_no_price() -> None:
    rows = [CostRow(project="a", model=name, usd=usd) for name, usd in (("x", 1.2), ("y", None))]
    assert total(rows) == 1.2
    assert total([]) == 0


def test_three_clean_runs_of_the_same_steps_repeat() -> None:
    steps = ("Edit", "Bash(pytest)", "Bash(git commit)")
    runs = [turn(name, 1, f"fix {name}", procedure=steps) for name in "abcd"]
    (one,) = made(*runs).repeats
    assert (one.procedure, one.count, one.clean) == (" > ".join(steps), 4, 4)
    assert len(one.sources) == 4


def test_a_run_that_failed_was_stopped_or_taken_back_is_not_clean() -> None:
    steps = ("Edit", "Bash(pytest)")
    failure = Failure(tool="Bash", code="tests")
    runs = [
        turn("a", 1, "x", procedure=steps),
        turn("b", 1, "x", procedure=steps),
        turn("c", 1, "x", procedure=steps, failures=(failure,)),
        turn("d", 1, "x", procedure=steps, interrupted=True),
        turn("e", 1, "x", procedure=steps),
        turn("e", 2, "no, not like that", corrected=True),
        turn("f", 1, "x", procedure=steps, corrected=True, correction="not there"),
    ]
    assert made(*runs).repeats == ()
    (one,) = made(*runs, turn("g", 1, "x", procedure=steps)).repeats
    assert (one.count, one.clean) == (7, 3)


def test_one_step_is_no_procedure() -> None:
    assert made(*(turn(name, 1, "x", procedure=("Read",)) for name in "abc")).repeats == ()


def test_loose_ends_come_latest_first_with_the_command_that_resumes() -> None:
    told = made(
        session("s1", "error", last_at=iso(START)),
        session("s2", "open-todos", title="tidy up", last_line=7),
        session("s3"),
        session("s4", "unknown"),
        session("s5", "interruption", source="codex", last_at=None),
    ).loose_ends
    assert [(end.session, end.kind, end.resume) for end in told] == [
        ("s2", "open-todos", "claude --resume s2"),
        ("s1", "error", "claude --resume s1"),
        ("s5", "interruption", "codex resume s5"),
    ]
    assert (told[0].title, told[0].path, told[0].line) == ("tidy up", "/h/s2.jsonl", 7)


def test_a_session_in_two_files_ended_as_the_later_file_says() -> None:
    told = made(
        session("s", "error", last_at=iso(START)),
        session("s", "ok", path="/h/copy.jsonl"),
        session("s", "unknown", path="/h/agent.jsonl", last_at=iso(Millis(START + 9 * HOUR))),
    )
    assert told.loose_ends == ()


def test_the_last_line_of_a_session_stands() -> None:
    assert made(session("s", "error"), session("s", "ok")).loose_ends == ()


def test_a_name_from_a_file_cannot_become_a_command() -> None:
    assert resume("claude-code", "x; rm -rf ~") == "claude --resume 'x; rm -rf ~'"
    assert resume("gnomon", "s") == ""


def test_cost_is_by_project_and_model_and_unknown_prices_are_null() -> None:
    used = ModelTokens(model="m", input=1_000_000, output=100_000, cache_read=1_000_000)
    told = made(
        session("a", tokens=(used,)),
        session("b", tokens=(used,)),
        session("c", tokens=(ModelTokens(model="new", input=5),), project=None),
    ).cost
    assert [(row.project, row.model, row.usd) for row in told] == [
        ("/home/me/shop", "m", 9.6),
        (None, "new", None),
    ]


def test_a_report_tells_how_much_it_looked_at_and_what_is_newest_there() -> None:
    late = iso(Millis(START + 5 * HOUR))
    lines = [turn("a", 1, "x"), turn("b", 2, "x", happened_at=None), session("s", last_at=late)]
    lines.append(turn("c", 9, "x", project="/home/me/other"))
    told = made(*lines)
    assert (told.turns, told.asked_turns, told.newest_at, misses(told)) == (3, 3, late, False)
    told = made(*lines, since=Millis(START + 9 * HOUR))
    assert (told.turns, told.asked_turns, told.newest_at, misses(told)) == (3, 0, late, True)
    told = made(*lines, project="other")
    assert (told.asked_turns, told.newest_at) == (1, iso(Millis(START + 9 * MINUTE)))
    told = made(*lines, project="nowhere")
    assert (told.asked_turns, told.newest_at, misses(told)) == (0, None, True)
    assert not misses(made())


def test_since_and_project_narrow_every_section() -> None:
    lines = [
        turn("a", 1, "use pnpm and not npm", corrected=True),
        turn("b", 200, "use pnpm and not npm", corrected=True),
        session("s1", "error"),
        session("s2", "error", project="/home/me/other", last_at=None),
    ]
    assert made(*lines, since=Millis(START + HOUR)).corrections == ()
    assert len(made(*lines, since=Millis(START + HOUR)).loose_ends) == 1
    for name in ("shop", "/home/me/shop", "/home/me/shop/", "/home/me", "me/sh", "SHOP", "ho"):
        assert len(made(*lines, project=name).corrections) == 1
    assert made(*lines, project="elsewhere").corrections == ()
    assert made(turn("a", 1, "x", project=None), project="shop").failures == ()
