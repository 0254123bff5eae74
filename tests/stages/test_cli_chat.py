"""Talking in a terminal: once, and as long as one likes."""

import io
import json
from collections.abc import Callable, Iterator

import msgspec
import pytest

from gnomon.cli.chat_session import ChatSession
from gnomon.cli.output import Output
from gnomon.domain.errors import ModelTimeoutError
from gnomon.domain.json_value import Fields
from gnomon.domain.views import Done, MessageView, SessionView, Source, TurnReply
from tests.fake_gnomon import FakeConnection, run_cli
from tests.stages.test_cli_verbs import STATUS

SOURCE = Source(
    source="codex", session="s-7", at="2026-05-24T18:00:00.000Z", path="/a", line=3, quote="pin it"
)


def reply(arguments: Fields) -> TurnReply:
    return TurnReply(
        session=str(arguments.get("session") or "s-new"),
        turn=1,
        reply="I pinned\x1b[2J the seed.",
        sources=(SOURCE,),
        steps=2,
        tools={"shell": 1},
        seconds=1.25,
        tokens_in=10,
        tokens_out=5,
    )


def gnomon(**other: object) -> FakeConnection:
    answers: dict[str, object] = {
        "chat.turn": reply,
        "chat.undo": Done(detail="Turn 1 is taken back."),
        "chat.sessions": [SessionView(session="s-7", title="flaky test", turns=2, last_at=None)],
        "chat.messages": [
            MessageView(turn=1, role="user", text="earlier", at=""),
            MessageView(turn=1, role="assistant", text="answer", at=""),
        ],
        "approvals.list": [],
        "model.list": [],
        "model.use": Done(detail="qwen answers."),
        "status.show": STATUS,
    }
    return FakeConnection({**answers, **{n.replace("_", "."): it for n, it in other.items()}})


def typed(*lines: str | type[BaseException]) -> Callable[[str], str]:
    feed: Iterator[str | type[BaseException]] = iter([*lines, EOFError])

    def read(_: str) -> str:
        line = next(feed)
        if isinstance(line, str):
            return line
        raise line

    return read


def converse(connection: FakeConnection, *lines: str | type[BaseException]) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    session = ChatSession(connection, Output(out=out, err=err, interactive=True))
    session.run(typed(*lines))
    return out.getvalue(), err.getvalue()


def test_one_message_is_answered_with_its_sources_and_price() -> None:
    connection = gnomon()
    ran = run_cli(connection, "chat", "how", "did I fix it?", "--session", "s-1")
    assert ran.code == 0
    assert connection.asked == [("chat.turn", {"text": "how did I fix it?", "session": "s-1"})]
    assert "I pinned\\x1b[2J the seed.\n[1] 2026-05-24 codex: pin it\n    /a:3\n" in ran.out
    assert "2 steps · shell 1 · 1.2 s · 10 tokens in, 5 out · s-1" in ran.out


def test_a_reply_that_is_made_of_quotes_is_not_followed_by_them_again() -> None:
    def quotes(arguments: Fields) -> TurnReply:
        said = "2026-05-24 · codex: “pin it”\n  /a:3"
        return msgspec.structs.replace(reply(arguments), reply=said)

    ran = run_cli(gnomon(chat_turn=quotes), "chat", "how?")
    assert ran.out.count("pin it") == 1
    assert "[1]" not in ran.out


def test_a_question_of_another_encoding_is_asked_as_text() -> None:
    connection = gnomon()
    foreign = "caf\u00e9".encode().decode("ascii", "surrogateescape")  # argv under LC_ALL=C
    assert run_cli(connection, "chat", foreign, "\udcff").code == 0
    assert connection.asked == [("chat.turn", {"text": "caf\u00e9 \ufffd"})]


def test_json_is_the_whole_reply() -> None:
    ran = run_cli(gnomon(), "chat", "x", "--json", "--reply-to", "n-1")
    assert json.loads(ran.out)["reply"] == "I pinned\x1b[2J the seed."
    assert "\x1b" not in ran.out


def test_a_message_may_come_by_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("from a pipe"))
    connection = gnomon()
    assert run_cli(connection, "chat").code == 0
    assert connection.asked == [("chat.turn", {"text": "from a pipe"})]
    monkeypatch.setattr("sys.stdin", io.StringIO(" \n"))
    assert run_cli(connection, "chat").code == 2


def test_a_terminal_sees_the_reply_as_it_comes_and_once() -> None:
    connection = gnomon()
    connection.parts = (
        {"event": {"step": "tool", "complete": False, "facts": {"tool": "shell"}}},
        {"event": {"step": "tool", "complete": True, "facts": {"tool": "shell"}}},
        {"event": {"step": "model", "complete": False}},
        {"text": "I pinned\x1b[2J"},
        {"text": " the seed."},
    )
    out, err = converse(connection, "why?")
    assert out.count("the seed.") == 1
    assert "\x1b" not in out
    assert err.count("· shell") == 1


@pytest.mark.parametrize(
    ("streamed", "rest"),
    [
        ("I pinned it.", "But the model failed."),  # what was added after it was streamed
        ("Let me look. I pinned it.\n\nBut the model failed.", ""),
        ("I pin", "I pinned it.\n\nBut the model failed."),  # it broke off: then all of it
    ],
)
def test_of_a_streamed_reply_only_what_is_missing_follows(streamed: str, rest: str) -> None:
    whole = "I pinned it.\n\nBut the model failed."
    said = msgspec.structs.replace(reply({}), reply=whole, sources=())
    connection = gnomon(chat_turn=said)
    connection.parts = ({"text": streamed},)
    out, _ = converse(connection, "why?")
    assert out.startswith(f"{streamed}\n{rest}\n" if rest else f"{streamed}\n2 steps")
    assert out.count("But the model failed.") == 1


def test_what_is_streamed_to_a_terminal_is_broken_between_words() -> None:
    words = "one two three four five six seven eight nine ten"
    connection = gnomon(chat_turn=msgspec.structs.replace(reply({}), reply=words))
    connection.parts = tuple({"text": words[at : at + 3]} for at in range(0, len(words), 3))
    ran = run_cli(connection, "chat", "count", interactive=True, width=30)
    assert ran.out.startswith("one two three four five six\nseven eight nine ten\n[1] ")


def test_nobody_waits_without_being_told_for_what() -> None:
    connection = gnomon()
    connection.parts = (
        {"event": {"step": "recall", "complete": False}},
        {"event": {"step": "recall", "complete": True}},
        {"text": "a quote"},
        {"event": {"step": "model", "complete": False, "facts": {"demo": True}}},
        {"event": {"step": "model", "complete": True, "facts": {"demo": True}}},
    )
    out, err = converse(connection, "why?")
    assert err.count("· looking through your history\n") == 1
    assert err.count("· the built-in demo model adds a sentence") == 1
    assert "a quote\n" in out
    assert "a quote\n\n" not in out


def test_a_long_turn_says_once_that_the_model_is_at_work() -> None:
    connection = gnomon()
    model = {"event": {"step": "model", "complete": False}}
    connection.parts = (model, {"event": {"step": "merge", "complete": False}}, model, model)
    _, err = converse(connection, "why?")
    assert err.count("· ") == 1


@pytest.mark.parametrize("how", [(), ("--json",)])
def test_a_turn_that_the_model_failed_is_printed_and_is_a_fault(how: tuple[str, ...]) -> None:
    def failed(arguments: Fields) -> TurnReply:
        return msgspec.structs.replace(reply(arguments), stop_reason="model-error")

    ran = run_cli(gnomon(chat_turn=failed), "chat", "x", *how)
    assert ran.code == 1
    assert "I pinned" in ran.out
    assert "The model did not answer" in ran.err


def test_a_conversation_stays_in_one_session_until_a_new_one_is_asked_for() -> None:
    connection = gnomon()
    converse(connection, "one", "", "two", "/new", "three", "/sessions s-7", "four")
    turns = [asked for name, asked in connection.asked if name == "chat.turn"]
    assert [turn.get("session") for turn in turns] == [None, "s-new", None, "s-7"]


def test_ctrl_c_takes_the_turn_back_and_the_conversation_goes_on() -> None:
    def interrupt_once(arguments: Fields) -> object:
        return KeyboardInterrupt() if arguments["text"] == "long" else reply(arguments)

    connection = gnomon(chat_turn=interrupt_once)
    out, err = converse(connection, "long", KeyboardInterrupt, "short")
    assert "Taken back. The session goes on." in err
    assert "the seed." in out


def test_an_error_ends_the_turn_alone() -> None:
    failing = gnomon(chat_turn=ModelTimeoutError("The model did not answer.", next_step="Wait."))
    _, err = converse(failing, "one", "/help")
    assert "The model did not answer. Wait." in err


def test_commands_show_and_change_what_they_say() -> None:
    connection = gnomon()
    commands = (
        "/undo",
        "hi",
        "/undo",
        "/model",
        "/model qwen",
        "/cost",
        "/sessions",
        "/help",
        "/x",
    )
    out, err = converse(connection, *commands, "/quit", "never read")
    assert "nothing to undo in a new session" in err
    assert "Turn 1 is taken back." in err
    assert "qwen answers." in err
    assert "$0.00 of $1.00 today" in out
    assert "s-7  undated  2 turns  flaky test" in out
    assert "/sessions [ID]  list sessions" in out
    assert "There is no /x." in err
    assert [asked["text"] for name, asked in connection.asked if name == "chat.turn"] == ["hi"]


def test_the_demo_models_sentence_stands_apart_and_an_early_stop_is_told() -> None:
    def demo(arguments: Fields) -> TurnReply:
        import msgspec

        return msgspec.structs.replace(
            reply(arguments), model_says="the moon", stop_reason="max-loops", tokens_in=None
        )

    out = run_cli(gnomon(chat_turn=demo), "chat", "x").out
    assert "The demo model says (don't trust it): the moon" in out
    assert "It stopped early: max-loops." in out
    assert "tokens" not in out


def test_a_reply_that_needed_nothing_shows_nothing_for_it() -> None:
    import msgspec

    plain = msgspec.structs.replace(reply({}), sources=(), tools={}, steps=1)
    out = run_cli(gnomon(chat_turn=plain), "chat", "x").out
    assert out.splitlines()[1].startswith("1 step · 1.2 s · 10 tokens in")


def test_a_home_without_sessions_says_so() -> None:
    out, _ = converse(gnomon(chat_sessions=[]), "/sessions")
    assert "No sessions yet." in out
