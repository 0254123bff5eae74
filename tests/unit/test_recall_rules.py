"""What is asked of the index, how notes are ranked, and how quotes are cut."""

from typing import Any

import pytest

from gnomon.memory.query import MOST_TERMS, Query, parse
from gnomon.memory.ranking import estimated_notes, score, stem, weight
from gnomon.memory.recall import MOST_QUOTED, QUOTE, Hit, around, ordered, quoted, sources


def hit(note: int, *, points: float = 1.0, at: str | None = None, **more) -> Hit:
    fields: dict[str, Any] = {
        "note": note,
        "score": points,
        "source": "claude-code",
        "session": "s",
        "at": at,
        "path": "/h/s.jsonl",
        "line": note,
        "task": f"task {note}",
        "answer": "",
    }
    return Hit(**(fields | more))


def test_a_question_is_reduced_to_the_words_that_carry_it() -> None:
    assert parse("How did I fix the flaky test?").terms == ("fix", "flaky", "test")
    assert parse("wie habe ich das migriert").terms == ("migriert",)
    assert parse("what was it").terms == ("what", "was", "it")
    assert parse("!?").terms == ()
    assert parse("数据库迁移").terms == ("数据", "据库", "库迁", "迁移")
    assert parse("a x x y").terms == ("x", "y")
    assert len(parse(" ".join(f"word{n}" for n in range(99))).terms) == MOST_TERMS


@pytest.mark.parametrize("text", ['"', "a OR b", "NEAR(a b)", "x*", "col:y", "-z", "a AND NOT b"])
def test_nothing_in_a_question_is_an_operator(text: str) -> None:
    for term in parse(text).all_of.split():
        assert term.startswith('"')


def test_terms_are_asked_for_together_and_as_data() -> None:
    assert Query(("test", "a-b")).all_of == '"test" "a-b"'
    assert Query(('x"y',)).all_of == '"x""y"'


def test_how_common_a_term_is_is_told_by_its_newest_notes() -> None:
    assert estimated_notes([9, 5], 48, 100_000) == 2.0
    assert estimated_notes(list(range(100_000, 99_952, -1)), 48, 100_000) == 100_000
    assert weight(10, 100_000) > weight(50_000, 100_000) >= 0


def test_a_note_that_was_asked_about_it_ranks_above_one_that_mentions_it() -> None:
    weights = {"flaky": 2.0}
    assert score("flaky test", "x", weights) > score("x", "flaky test", weights) > 0
    assert score("x", "y", weights) == 0
    assert score("flaky", "", weights) > score("flaky", "long " * 900, weights)


def test_forms_of_a_word_share_a_stem() -> None:
    assert [stem(word) for word in ("fixing", "fixed", "fixes", "fix", "is", "used")] == [
        "fix", "fix", "fix", "fix", "is", "used",
    ]  # fmt: skip
    assert score("we fixed it", "", {"fixing": 1.0}) > 0


def test_equal_scores_are_ordered_by_the_newer() -> None:
    hits = [hit(1, at="2026-01-01"), hit(2, at="2026-03-01"), hit(3), hit(4, points=2.0)]
    assert [each.note for each in ordered(hits)] == [4, 2, 1, 3]


def test_a_quote_shows_what_was_asked_and_the_words_that_match() -> None:
    found = hit(
        1, task="fix it", answer=f"{'before ' * 100}the clock was the cause{' after' * 100}"
    )
    quote = quoted(found, parse("clock cause"))
    assert quote.startswith("fix it → …")
    assert "the clock was the cause" in quote
    assert len(quote) <= QUOTE + 10


def test_a_quote_is_cut_inside_no_character() -> None:
    text = "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 200 + " needle " + "e\u0301" * 400
    for limit in range(20, 60):
        short = around(text, ("needle",), limit)
        assert len(short) <= limit + 1
        assert not short.strip("…").startswith(("\u200d", "\u0301"))
        assert not short.strip("…").endswith("\u200d")
        short.encode("utf-8")


def test_short_texts_are_quoted_whole_and_in_one_line() -> None:
    assert around("a\n b", ("x",), 100) == "a b"
    assert quoted(hit(1), parse("task")) == "task 1"
    assert around("word " * 100, ("absent",), 20).endswith("…")


def test_quotes_are_bounded_together_and_each_text_is_shown_once() -> None:
    hits = [hit(1), hit(1), hit(2)]
    assert [each.line for each in sources(hits, parse("task"), 10)] == [1, 2]
    assert len(sources(hits, parse("task"), 1)) == 1
    many = [hit(n, task=f"{n} " + "word " * 200) for n in range(100)]
    told = sources(many, parse("word"), 100)
    assert sum(len(each.quote) for each in told) <= MOST_QUOTED
    assert len(told) >= 10
