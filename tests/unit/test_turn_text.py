"""What a turn says, and how much of a session it sends."""

import pytest

from gnomon.agent.run import RunResult, StopReason
from gnomon.domain.errors import ModelAuthError
from gnomon.domain.messages import Message
from gnomon.domain.views import Source
from gnomon.resident.quotes import IMPORT, NOTHING, answer_from, describe
from gnomon.resident.turn_text import aside, fitting, reply_text, source_name, unanswered


def result(text: str, reason: StopReason, error: ModelAuthError | None = None) -> RunResult:
    return RunResult(
        text=text, stop_reason=reason, steps=1, tools={}, failures=(), messages=(),
        tokens_in=None, tokens_out=None, seconds=0.0, model="m", error=error,
    )  # fmt: skip


def source(**changes: object) -> Source:
    plain: dict[str, object] = {
        "source": "codex", "session": "s-9", "at": "2026-05-24T18:00:00Z", "path": "/h/a.jsonl",
        "line": 7, "quote": "use\n pnpm",
    }  # fmt: skip
    return Source(**(plain | changes))  # type: ignore[arg-type]


def test_a_finished_turn_is_the_models_words_alone() -> None:
    assert reply_text(result(" Done. ", "done")) == "Done."


def test_a_turn_without_a_word_says_so() -> None:
    assert "without a word" in reply_text(result("", "done"))


@pytest.mark.parametrize(
    "reason",
    ["max-loops", "repeated-call", "invalid-calls", "length", "model-error", "cancelled"],
)
def test_every_other_ending_is_told_after_what_was_said(reason: StopReason) -> None:
    told = reply_text(result("Half.", reason))
    assert told.startswith("Half.\n\n")
    assert len(told) > 20


def test_an_error_of_the_model_says_what_to_do_next() -> None:
    error = ModelAuthError("The key is refused.", next_step="Set GNOMON_MODEL_KEY.")
    assert reply_text(result("", "model-error", error)) == (
        "The key is refused. Set GNOMON_MODEL_KEY."
    )


def test_what_did_not_work_is_said_with_what_to_do() -> None:
    error = ModelAuthError("The key is refused.", next_step="Set it.")
    assert unanswered("No words.", error) == "No words. The key is refused. Set it."


def test_the_newest_messages_that_fit_are_sent_beginning_with_a_question() -> None:
    def talk(number: int) -> list[Message]:
        return [
            Message(role="user", content=f"question {number} " + "x" * 300),
            Message(role="assistant", content=f"answer {number}"),
        ]

    history = [message for number in range(50) for message in talk(number)]
    kept = fitting(history, 2_000)
    assert kept == tuple(history[-len(kept) :])
    assert kept[0].role == "user"
    assert 2 < len(kept) < 40
    assert fitting(history[:2], 2_000) == tuple(history[:2])
    assert fitting([Message(role="assistant", content="alone")], 2_000) == ()
    assert fitting(history, 10) == ()


def test_a_quote_has_its_date_and_its_source() -> None:
    assert describe([source()]) == "2026-05-24 · codex: “use pnpm”\n  /h/a.jsonl:7"
    assert source_name(source(line=None)) == "/h/a.jsonl"
    undated = describe([source(at=None, path=None, quote="y" * 900)])
    assert undated.startswith("no date in its transcript · codex: “yyy")
    assert undated.endswith("codex/s-9")
    assert len(undated) < 470
    of_a_session = describe([source(at=None, session_at="2025-10-01T18:58:38.331Z")])
    assert of_a_session.startswith("session of 2025-10-01 · codex")
    assert describe([]) == "Nothing was found."


def test_an_answer_from_recall_says_when_there_is_none() -> None:
    assert answer_from("how?", [source()], False) == describe([source()])
    assert answer_from("how?", [], False).startswith(f"{NOTHING} {IMPORT}")
    assert answer_from("  ", [source()], True).startswith(f"{NOTHING} A better model")


def test_nobody_is_told_to_import_what_was_imported() -> None:
    assert "import" in answer_from("how?", [], False)
    assert "import" not in answer_from("how?", [], True)


def test_an_aside_is_one_short_line() -> None:
    assert aside(" two\n lines ") == "two lines"
    assert aside("  \n") is None
    assert aside("It was 2.5 MB. And then it is cut o") == "It was 2.5 MB."
    long = aside("word " * 200)
    assert long is not None
    assert len(long) == 400
    assert long.endswith("…")
