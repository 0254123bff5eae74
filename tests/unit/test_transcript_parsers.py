"""The parsers on single records: the shapes that the handed cases do not hold."""

import json

import msgspec
import pytest

from gnomon.domain.instants import Millis
from gnomon.observe.identity import Owners
from gnomon.observe.transcripts import file_fold, session_fold
from gnomon.observe.transcripts.claude_code import ClaudeCode
from gnomon.observe.transcripts.codex import Codex
from gnomon.observe.transcripts.draft import MOST_FAILURES, MOST_TOOLS
from gnomon.observe.transcripts.events import (
    Answer,
    AnyEvent,
    Context,
    Finished,
    Interrupted,
    NotARecord,
    Seen,
    Todos,
    ToolCall,
    ToolResult,
    Totals,
    Trouble,
    UserTurn,
)
from gnomon.observe.transcripts.file_fold import FileFold

AT = "2026-01-01T00:00:00Z"


def claude(kind: str, content: object = None, **more: object) -> list[AnyEvent]:
    message = {} if content is None else {"message": {"content": content}}
    record = {"type": kind, "uuid": "u", "sessionId": "s", "timestamp": AT, **message, **more}
    return [
        event
        for event in ClaudeCode().read(json.dumps(record).encode(), 3)
        if not isinstance(event, Seen)
    ]


def codex(*records: dict, user_events: bool = False, bare: bool = False) -> list[AnyEvent]:
    parser = Codex(user_events=user_events, bare=bare)
    found: list[AnyEvent] = []
    for record in records:
        found += parser.read(json.dumps({"timestamp": AT, **record}).encode(), 3)
    return [event for event in found if not isinstance(event, Seen)]


def item(**payload: object) -> dict:
    return {"type": "response_item", "payload": payload}


def event(**payload: object) -> dict:
    return {"type": "event_msg", "payload": payload}


@pytest.mark.parametrize(
    "content",
    [
        "<command-message>clear is running</command-message>",
        "Caveat: The messages below were generated",
        "<local-command-stdout>x</local-command-stdout>",
        "<task-notification>done</task-notification>",
        "<bash-input>ls</bash-input>",
        [{"type": "tool_result", "tool_use_id": "t", "content": "x"}],
        [{"type": "text", "text": "<system-reminder>be good</system-reminder>"}],
        [{"type": "text"}],
        [],
        "   ",
    ],
)
def test_markup_and_results_are_no_user_turns(content: object) -> None:
    assert not any(isinstance(each, UserTurn) for each in claude("user", content))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<command-name>/clear</command-name>", "/clear"),
        (
            "<command-name>/review</command-name>\n<command-args>the login</command-args>",
            "/review the login",
        ),
        ("<command-name>/a</command-name><command-args></command-args>", "/a"),
    ],
)
def test_a_command_is_asked_for_and_not_worded_by_the_user(content: str, text: str) -> None:
    (said,) = claude("user", content)
    assert isinstance(said, UserTurn)
    assert (said.text, said.spoken) == (text, False)


@pytest.mark.parametrize("flag", ["isMeta", "isSidechain", "isCompactSummary"])
def test_injected_records_are_no_user_turns(flag: str) -> None:
    assert claude("user", "words", **{flag: True}) == []


def test_a_pasted_image_is_a_user_turn() -> None:
    (said,) = claude("user", [{"type": "image", "source": {}}])
    assert isinstance(said, UserTurn)
    assert said.text == "[image]"


def test_words_beside_a_result_are_a_user_turn() -> None:
    content = [{"type": "tool_result", "tool_use_id": "t"}, {"type": "text", "text": "go on"}]
    result, said = claude("user", content)
    assert isinstance(result, ToolResult)
    assert isinstance(said, UserTurn)


def test_a_rejection_with_words_carries_them() -> None:
    text = "The user doesn't want to proceed. The user said:\nuse the other one"
    block = {"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": text}
    (result,) = claude("user", [block])
    assert isinstance(result, ToolResult)
    assert (result.rejected, result.said, result.code) == (
        True,
        "use the other one",
        "rejected_by_user",
    )


def test_a_failed_call_says_what_was_run_and_what_it_was_answered() -> None:
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "make test"}}
    (call,) = claude("assistant", [use])
    assert isinstance(call, ToolCall)
    assert call.said == "make test"
    block = {"type": "tool_result", "tool_use_id": "t", "is_error": True}
    (result,) = claude("user", [block | {"content": "Exit code 2\nno rule"}])
    assert isinstance(result, ToolResult)
    assert (result.error, result.line) == ("no rule", 3)


def test_a_failed_codex_call_says_what_was_run_and_what_it_was_answered() -> None:
    arguments = json.dumps({"command": ["bash", "-lc", "make test"]})
    (call,) = codex(item(type="function_call", name="shell", call_id="c", arguments=arguments))
    (patch,) = codex(item(type="custom_tool_call", name="apply_patch", input="*** Begin Patch"))
    (search,) = codex(item(type="web_search_call", action={"query": "x"}))
    said = [each.said for each in (call, patch, search) if isinstance(each, ToolCall)]
    assert said == ["make test", "*** Begin Patch", '{"query": "x"}']
    output = '{"output":"no rule","metadata":{"exit_code":2}}'
    (result,) = codex(item(type="function_call_output", call_id="c", output=output))
    assert isinstance(result, ToolResult)
    assert result.error == "no rule"
    assert result.line is not None


@pytest.mark.parametrize("content", [5, {"a": 1}, None, [{"type": "text", "text": "no such file"}]])
def test_an_errors_text_may_have_any_shape(content: object) -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": content}
    (result,) = claude("user", [block])
    assert isinstance(result, ToolResult)
    assert result.failed


def test_todos_that_are_open_are_counted() -> None:
    todos = [{"status": "completed"}, {"status": "pending"}, "broken", None, {}]
    block = {"type": "tool_use", "id": "t", "name": "TodoWrite", "input": {"todos": todos}}
    call, left = claude("assistant", [block])
    assert isinstance(call, ToolCall)
    assert isinstance(left, Todos)
    assert left.open == 2


@pytest.mark.parametrize("arguments", [{"command": 5}, "text", None, {}])
def test_a_call_with_odd_arguments_is_still_a_call(arguments: object) -> None:
    block = {"type": "tool_use", "id": "t", "name": "Bash", "input": arguments}
    (call,) = claude("assistant", [block])
    assert isinstance(call, ToolCall)
    assert call.step == "Bash"


def test_plain_text_content_of_an_assistant_is_an_answer() -> None:
    (said,) = claude("assistant", "hello")
    assert isinstance(said, Answer)
    assert claude("assistant", message="text") == []
    assert claude("assistant", [{"type": "thinking", "thinking": "x"}]) == []


def test_service_errors_are_trouble_and_made_up_replies_are_nothing() -> None:
    assert isinstance(claude("assistant", "x", isApiErrorMessage=True)[0], Trouble)
    assert isinstance(claude("system", subtype="api_error")[0], Trouble)
    assert claude("system", subtype="compact_boundary") == []
    record = {"model": "<synthetic>", "content": "No response requested."}
    assert claude("assistant", message=record) == []
    model = claude("assistant", message={"model": "m", "content": None})
    assert isinstance(model[0], Context)


def test_kinds_that_are_not_known_are_counted_and_not_read() -> None:
    (other,) = claude("hologram", "x")
    assert isinstance(other, NotARecord)
    assert other.what == "hologram"


def test_a_time_that_is_no_text_is_no_time() -> None:
    events = ClaudeCode().read(b'{"type":"system","uuid":"x","timestamp":1700000000}', 1)
    assert events[0].at is None


def test_a_record_of_another_shape_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        ClaudeCode().read(b'{"type":"user","uuid":5}', 1)


@pytest.mark.parametrize(
    ("arguments", "step"),
    [
        ({"command": ["bash", "-lc", "git commit -m x"]}, "shell(git commit)"),
        ({"command": ["ls", "-la"]}, "shell(ls)"),
        ({"command": "make test"}, "shell(make test)"),
        ({"cmd": "rg x"}, "shell(rg)"),
        ("[REDACTED]", "shell"),
    ],
)
def test_a_codex_shell_call_is_named_by_its_program(arguments: object, step: str) -> None:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    (call,) = codex(item(type="function_call", name="shell", call_id="c", arguments=text))
    assert isinstance(call, ToolCall)
    assert call.step == step


def test_a_local_shell_call_has_its_command_in_its_action() -> None:
    action = {"type": "exec", "command": ["pytest", "-q"]}
    (call,) = codex(item(type="local_shell_call", name="local_shell", call_id="c", action=action))
    assert isinstance(call, ToolCall)
    assert call.step == "local_shell(pytest)"


@pytest.mark.parametrize(
    ("output", "failed", "code"),
    [
        ('{"output":"x","metadata":{"exit_code":2}}', True, "exit-2"),
        ('{"output":"x","metadata":{"exit_code":0}}', False, "error"),
        ('{"output":"no such file or directory","metadata":{"exit_code":1}}', True,
         "file-not-found"),
        ('{"answer": 42}', False, "error"),
        ('{"metadata": "odd"}', False, "error"),
        ("Exit code: 1\nWall time: 1 s\nOutput:\nx", True, "exit-1"),
        ("Process exited with code 0\nOutput:\nExit code: 1", False, "error"),
        ("[REDACTED_OUTPUT len=5 sha=ab]", None, "error"),
        ("exec command rejected by user", True, "rejected_by_user"),
        ("failed to parse function arguments: x", True, "invalid-input"),
        ({"content": "bad", "success": False}, True, "error"),
        ({"content": "good", "success": True}, False, "error"),
        ([{"type": "input_text", "text": "good"}], False, "error"),
        (None, False, "error"),
    ],
)  # fmt: skip
def test_a_codex_result_is_judged_by_what_it_says(
    output: object, failed: bool | None, code: str
) -> None:
    (result,) = codex(item(type="function_call_output", call_id="c", output=output))
    assert isinstance(result, ToolResult)
    assert (result.failed, result.code) == (failed, code)
    assert result.rejected == (code == "rejected_by_user")


def test_a_plan_with_open_steps_is_open_todos() -> None:
    plan = json.dumps({"plan": [{"status": "completed"}, {"status": "pending"}]})
    call, left = codex(item(type="function_call", name="update_plan", call_id="c", arguments=plan))
    assert isinstance(call, ToolCall)
    assert isinstance(left, Todos)
    assert left.open == 1
    assert len(codex(item(type="function_call", name="update_plan", arguments="5"))) == 1


def test_injected_context_is_no_turn_and_tells_the_folder() -> None:
    text = "<environment_context>\n<cwd>/home/me</cwd></environment_context>"
    content = [{"type": "input_text", "text": text}]
    (where,) = codex(item(type="message", role="user", content=content))
    assert isinstance(where, Context)
    assert where.project == "/home/me"
    agents = [{"type": "input_text", "text": "# AGENTS.md instructions for /x"}]
    assert codex(item(type="message", role="user", content=agents)) == []
    assert codex(item(type="message", role="developer", content="x")) == []
    assert codex(item(type="message", role="user", content=" ")) == []


def test_events_of_a_rollout_are_told() -> None:
    assert isinstance(codex(event(type="turn_aborted", reason="interrupted"))[0], Interrupted)
    assert isinstance(codex(event(type="task_complete"))[0], Finished)
    assert isinstance(codex(event(type="error", message="x"))[0], Trouble)
    assert codex(event(type="token_count", info=None)) == []
    assert codex(event(type="agent_reasoning", text="x")) == []
    assert codex(event(type="user_message", message="x", kind="environment_context")) == []
    assert codex(event(type="user_message", message={"odd": 1}), user_events=True) == []
    total = {"input_tokens": 5, "output_tokens": 2}
    (told,) = codex(event(type="token_count", info={"total_token_usage": total}))
    assert isinstance(told, Totals)
    assert (told.input, told.output, told.cache_read) == (5, 2, 0)


def test_what_was_told_to_a_sub_agent_is_no_user_turn() -> None:
    meta = {
        "type": "session_meta",
        "payload": {"id": "x", "cwd": "/p", "source": {"subagent": "review"}},
    }
    events = codex(
        meta,
        event(type="user_message", message="review this"),
        item(type="message", role="assistant", content=[{"type": "output_text", "text": "y"}]),
        item(type="function_call", name="shell", call_id="c", arguments="{}"),
        user_events=True,
    )
    assert [type(each).__name__ for each in events] == ["Context", "ToolCall"]
    assert all(each.side for each in events if isinstance(each, ToolCall))


def test_a_second_header_does_not_rename_the_session() -> None:
    metas = [{"type": "session_meta", "payload": {"id": name}} for name in ("new", "origin")]
    assert {each.session for each in codex(*metas)} == {"new"}


def test_other_records_of_a_rollout_are_counted() -> None:
    (other,) = codex({"type": "hologram"})
    assert isinstance(other, NotARecord)
    assert codex({"type": "compacted", "payload": {"message": "x"}}) == []
    assert codex(item(type="reasoning", content=None)) == []


def fold() -> FileFold:
    return FileFold(source="test", path="/p", stem="stem", claims=Owners())


def at(number: int) -> Millis:
    return Millis(1_700_000_000_000 + number * 1000)


def test_what_names_no_session_belongs_to_the_one_before_or_to_the_file() -> None:
    folded = fold()
    folded.take(UserTurn(at=at(1), session=None, id="a", text="x", line=1))
    folded.take(UserTurn(at=at(2), session="named", id="b", text="y", line=2))
    folded.take(UserTurn(at=at(3), session=None, id="c", text="z", line=3))
    folded.end()
    told = sorted((each.observation.task, each.observation.session) for each in folded.turns())
    assert told == [("x", "stem"), ("y", "named"), ("z", "named")]


def test_everything_that_a_file_can_grow_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_fold, "MOST_SESSIONS", 3)
    monkeypatch.setattr(file_fold, "MOST_TOOLS", 4)
    monkeypatch.setattr(file_fold, "MOST_CALLS", 5)
    monkeypatch.setattr(session_fold, "MOST_MODELS", 2)
    folded = fold()
    for number in range(20):
        folded.take(NotARecord(at=None, session=None, what=f"kind {number} " * 20))
        folded.take(
            ToolCall(at=at(number), session="s", id=f"{number}", name=f"t{number}", step="")
        )
        folded.take(Context(at=at(number), session="s", model=f"m{number}"))
        folded.take(Seen(at=at(number), session=f"s{number}", stamp=None))
    for number in range(60):
        folded.take(NotARecord(at=None, session=None, what=f"other {number}"))
    folded.end()
    assert len(folded.folds()) == 3
    assert len(folded.calls) == 5
    assert folded.calls[file_fold.OTHER] == 16
    assert len(folded.not_records) <= 51
    assert all(len(each.models) <= 2 for each in folded.folds())


def test_a_turn_keeps_a_bounded_number_of_tools_and_failures() -> None:
    folded = fold()
    folded.take(UserTurn(at=at(0), session="s", id="a", text="x", line=1))
    for number in range(MOST_TOOLS + 50):
        name = f"tool{number}"
        folded.take(ToolCall(at=at(number), session="s", id=name, name=name, step=name))
        folded.take(ToolResult(at=at(number), session="s", call=name, failed=True))
    folded.end()
    (found,) = folded.turns()
    assert len(found.observation.tools) == MOST_TOOLS
    assert len(found.observation.failures) == MOST_FAILURES
    assert sum(each.errors for each in folded.folds()) == MOST_TOOLS + 50


def command(number: int, text: str) -> UserTurn:
    return UserTurn(at=at(number), session="s", id=text, text=text, line=number, spoken=False)


def worked(number: int) -> ToolCall:
    return ToolCall(at=at(number), session="s", id=f"c{number}", name="Bash", step="Bash")


def test_a_command_without_work_is_nothing_and_ends_no_session() -> None:
    folded = fold()
    folded.take(UserTurn(at=at(0), session="s", id="a", text="no, stop that", line=1))
    folded.take(Answer(at=at(1), session="s", text="done", line=2))
    folded.take(command(2, "/cost"))
    folded.take(command(3, "/exit"))
    folded.end()
    (found,) = folded.turns()
    assert (found.spoken, found.observation.turn) == (True, 1)
    (session,) = folded.folds()
    assert (session.turns, session.title, session.ended()) == (1, "no, stop that", "ok")


def test_work_after_a_command_is_a_turn_of_its_own_that_nobody_worded() -> None:
    folded = fold()
    folded.take(UserTurn(at=at(0), session="s", id="a", text="x", line=1))
    folded.take(Answer(at=at(1), session="s", text="done", line=2))
    folded.take(command(2, "/review"))
    folded.take(worked(3))
    folded.take(Answer(at=at(4), session="s", text="reviewed", line=4))
    folded.take(UserTurn(at=at(5), session="s", id="b", text="y", line=5))
    folded.end()
    turns = [(each.observation.turn, each.observation.task, each.spoken) for each in folded.turns()]
    assert turns == [(1, "x", True), (2, "/review", False), (3, "y", True)]
    assert folded.folds()[0].turns == 2


def test_a_command_in_the_midst_of_work_leaves_the_work_to_its_turn() -> None:
    folded = fold()
    folded.take(UserTurn(at=at(0), session="s", id="a", text="x", line=1))
    folded.take(worked(1))
    folded.take(command(2, "/model"))
    folded.take(worked(3))
    folded.end()
    (found,) = folded.turns()
    assert found.observation.tools == {"Bash": 2}


def test_the_way_back_from_a_failure_may_cross_turns() -> None:
    folded = fold()
    folded.take(UserTurn(at=at(0), session="s", id="a", text="x", line=1))
    folded.take(ToolCall(at=at(1), session="s", id="c", name="Bash", step="Bash"))
    folded.take(ToolResult(at=at(2), session="s", call="c", failed=True, code="tests"))
    folded.take(UserTurn(at=at(60), session="s", id="b", text="y", line=2))
    folded.take(ToolCall(at=at(61), session="s", id="d", name="Bash", step="Bash"))
    folded.take(ToolResult(at=at(62), session="s", call="d", failed=False))
    folded.end()
    first, _ = folded.turns()
    assert first.observation.failures[0].recovery_ms == 60_000


def test_a_result_without_its_call_is_of_an_unknown_tool() -> None:
    folded = fold()
    folded.take(UserTurn(at=at(0), session="s", id="a", text="x", line=1))
    folded.take(ToolResult(at=at(2), session="s", call=None, failed=True))
    folded.end()
    (found,) = folded.turns()
    assert found.observation.failures[0].tool == "unknown"


def test_a_side_result_does_not_say_how_the_session_ended() -> None:
    folded = fold()
    folded.take(UserTurn(at=at(0), session="s", id="a", text="x", line=1))
    folded.take(Answer(at=at(1), session="s", text="done", line=2))
    folded.take(ToolResult(at=at(2), session="s", call="x", failed=True, side=True))
    folded.take(Trouble(at=at(3), session="s", side=True))
    folded.end()
    (found,) = folded.sessions()
    assert found.session.ended == "ok"


@pytest.mark.parametrize(
    ("last", "ended"),
    [
        (Trouble(at=at(5), session="s"), "error"),
        (Interrupted(at=at(5), session="s", id=None), "interruption"),
        (ToolResult(at=at(5), session="s", call="c", failed=True), "error"),
        (ToolResult(at=at(5), session="s", call="c", failed=False), "interruption"),
        (ToolResult(at=at(5), session="s", call="c", failed=True, rejected=True), "interruption"),
        (ToolCall(at=at(5), session="s", id="d", name="n", step="n"), "interruption"),
        (Answer(at=at(5), session="s", text="x", line=1), "ok"),
        (Finished(at=at(5), session="s", duration=7), "ok"),
        (Todos(at=at(5), session="s", open=2), "open-todos"),
    ],
)
def test_a_session_ends_as_its_last_event_says(last: AnyEvent, ended: str) -> None:
    folded = fold()
    folded.take(UserTurn(at=at(0), session="s", id="a", text="x", line=1))
    folded.take(Answer(at=at(1), session="s", text="y", line=2))
    folded.take(last)
    folded.end()
    (found,) = folded.sessions()
    assert found.session.ended == ended


def test_tokens_of_a_total_that_fell_are_never_negative() -> None:
    folded = fold()
    folded.take(Context(at=at(0), session="s", model="m"))
    folded.take(UserTurn(at=at(0), session="s", id="a", text="x", line=1))
    folded.take(Totals(at=at(1), session="s", input=100, output=10, cache_read=40))
    folded.take(Totals(at=at(2), session="s", input=20, output=1, cache_read=0))
    folded.end()
    (found,) = folded.sessions()
    (used,) = found.session.tokens
    assert (used.input, used.output, used.cache_read) == (20, 1, 0)
    assert folded.token_counts().input == 20
    assert next(folded.turns()).observation.tokens == 21
