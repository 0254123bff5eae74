"""The small deciding rules of observe: families, steps, wording, order, text, keys, prices."""

import json

import pytest

from gnomon.domain.instants import Millis
from gnomon.domain.plain_text import boundary, clean, cut, one_line
from gnomon.domain.records_observe import ModelTokens
from gnomon.observe.corrections import Situation, correcting_rule, own_words
from gnomon.observe.families import family, is_rejection, telling_line, words_of_rejection
from gnomon.observe.identity import ENTRY, Owners, Recent, compacted, digest, key
from gnomon.observe.price_list import Price, PriceList
from gnomon.observe.procedure import MOST_STEPS, appended, call_words, program, step
from gnomon.observe.transcripts.events import Answer
from gnomon.observe.transcripts.lines import RawLine, head_of, trimmed
from gnomon.observe.transcripts.recognise import kind_of
from gnomon.observe.transcripts.records import salvage, why_unreadable
from gnomon.observe.transcripts.reorder import Reorder
from gnomon.observe.transcripts.values import count, instant
from gnomon.observe.wording import groups, same_wording, words

AFTER = Situation(after_work=True)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The user doesn't want to proceed with this tool use.", "rejected_by_user"),
        ("<tool_use_error>InputValidationError: x", "invalid-input"),
        ("<tool_use_error>File has not been read yet. Read it first", "file-not-read"),
        ("String to replace not found in file.", "text-not-found"),
        ("bash: foo: command not found", "program-not-found"),
        ("ls: x: No such file or directory", "file-not-found"),
        ("Permission denied", "permission"),
        ("Command timed out after 2m", "timeout"),
        ("3 failed, 2 passed", "tests"),
        ("Exit code 128\nsomething", "exit-128"),
        ("some words", "error"),
        ("", "error"),
    ],
)
def test_an_error_has_a_family(text: str, code: str) -> None:
    assert family(text) == code


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Exit code 2\n\n  make: *** no rule\nmore", "make: *** no rule"),
        ("Exit code: 1\nWall time: 1 s\nOutput:\nE   assert 1 == 2", "E   assert 1 == 2"),
        ("<tool_use_error>File has not been read yet.</tool_use_error>",
         "File has not been read yet."),
        ("Exit code 1\n", "Exit code 1"),
        ("collecting\n\nFAILED a.py::test_x\n1 failed", "FAILED a.py::test_x"),
        ("3 passed\nls: x: No such file or directory", "ls: x: No such file or directory"),
        ("\n \n", None),
        ("x" * 900, "x" * 199 + "…"),
    ],
)  # fmt: skip
def test_an_errors_telling_line_is_not_its_frame(text: str, line: str | None) -> None:
    assert telling_line(text) == (None if line is None else " ".join(line.split()))


def test_a_call_says_its_command_or_its_input() -> None:
    assert call_words("git  status\n-s", b"{}") == "git status -s"
    assert call_words(None, b'{"file_path": "/a/b.py"}') == '{"file_path": "/a/b.py"}'
    assert call_words(None, "*** Begin Patch") == "*** Begin Patch"
    assert call_words(None, b"") is None
    assert len(call_words("x" * 9_000, b"") or "") == 200


def test_the_words_of_a_rejection_are_the_users() -> None:
    text = "The user doesn't want to proceed. To tell you how, the user said:\nuse the other file"
    assert is_rejection(text)
    assert words_of_rejection(text) == "use the other file"
    assert words_of_rejection("The user doesn't want to proceed. STOP.") is None
    assert words_of_rejection("the user said: ") is None


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("git commit -m x", "git commit"),
        ("cd a && FOO=1 sudo /usr/bin/npm run build", "npm run"),
        ("pytest -q", "pytest"),
        ("git -C x status", "git"),
        ("", None),
        ("FOO=1", None),
        ("<<<", None),
    ],
)
def test_a_command_is_named_by_its_program(command: str, name: str | None) -> None:
    assert program(command) == name


def test_a_step_is_a_tool_and_for_a_shell_its_program() -> None:
    assert step("Bash", "ls -la") == "Bash(ls)"
    assert step("Bash", None) == "Bash"
    assert step("Read", "ls") == "Read"


def test_steps_that_repeat_are_written_once_and_end_at_a_bound() -> None:
    assert appended(("Read",), "Read") == ("Read",)
    assert appended(("Read",), "Edit") == ("Read", "Edit")
    full = tuple(str(number) for number in range(MOST_STEPS))
    assert appended(full, "more") == full


def test_near_same_texts_are_grouped_and_others_are_not() -> None:
    texts = [
        "use pnpm, not npm",
        "please use pnpm and not npm here",
        "never touch the migrations folder",
        "the weather is nice",
        "",
    ]
    assert groups(texts) == [[0, 1], [2], [3]]


def test_same_wording_needs_three_words_and_45_percent_of_the_smaller() -> None:
    assert same_wording(3, 3, 40)
    assert same_wording(3, 6, 6)
    assert not same_wording(3, 7, 7)
    assert not same_wording(2, 5, 5)
    assert same_wording(2, 2, 2)
    assert not same_wording(2, 2, 3)
    assert not same_wording(0, 0, 0)


def test_words_keep_negations_and_split_scripts_without_spaces() -> None:
    assert words("Do NOT use the old API") == {"not", "use", "old", "api"}
    assert words("使用中文") == {"使用", "用中", "中文"}
    assert len(words(" ".join(f"w{number}" for number in range(500)))) == 64


def test_a_turn_before_any_work_corrects_nothing() -> None:
    assert correcting_rule("no, use pnpm, not npm", Situation(after_work=False)) is None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("no, the other one", "refusal"),
        ("That is not what I asked for", "not-asked"),
        ("you broke it", "wrong"),
        ("as I said, tabs", "again"),
        ("please use tabs instead", "this-not-that"),
        ("you renamed the wrong thing", "wrong"),
        ("go on", None),
        ("```\nno, this is wrong\n```", None),
        ("", None),
        ("no problem", None),
    ],
)
def test_a_rule_says_why_a_turn_corrects(text: str, rule: str | None) -> None:
    assert correcting_rule(text, AFTER) == rule


def test_after_a_stop_weaker_words_correct() -> None:
    stopped = Situation(after_work=True, after_stop=True)
    assert correcting_rule("only the header", AFTER) is None
    assert correcting_rule("only the header", stopped) == "after-stop"
    assert correcting_rule("go on", stopped) is None


def test_own_words_leave_out_code_and_quotes() -> None:
    assert own_words("look `x` here\n> quoted\n```\ncode\n``` end").split() == [
        "look",
        "here",
        "end",
    ]


def test_text_is_cleaned_of_what_utf8_cannot_hold() -> None:
    assert clean("a\ud83cb\0") == "a\ufffdb\ufffd"
    assert clean("plain\0") == "plain\ufffd"
    assert clean("\u00e9") == "\u00e9"


@pytest.mark.parametrize("limit", range(1, 12))
def test_a_cut_parts_no_visible_character(limit: int) -> None:
    family_of_three = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    for text in (
        f"ab{family_of_three}cd",
        "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301",
        "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7\U0001f1ea\U0001f1f8abcdefgh",
        "\U0001f44d\U0001f3fd\U0001f44d\U0001f3fd\U0001f44d\U0001f3fd\U0001f44d\U0001f3fdx",
        "ab\u2764\ufe0fcdefghijklmnop",
    ):
        short = cut(text, limit)
        assert len(short) <= max(limit, 1)
        kept = short.removesuffix("\u2026")
        assert text.startswith(kept)
        if kept and len(kept) < len(text):
            assert text[len(kept)] not in "\u200d\u0301\ufe0f\U0001f3fd"
            assert kept[-1] != "\u200d"
            flags = [c for c in kept if "\U0001f1e6" <= c <= "\U0001f1ff"]
            assert len(flags) % 2 == 0


def test_a_boundary_is_found_in_endless_marks_too() -> None:
    assert 0 <= boundary("a" + "\u0301" * 100, 60) <= 60
    assert boundary("abc", 0) == 0
    assert boundary("abc", 99) == 3
    assert one_line(" a\n  b ", 10) == "a b"


def test_recent_forgets_only_the_oldest() -> None:
    seen = Recent(2)
    assert [seen.add(value) for value in (1, 2, 3, 1, 4, 5, 1)] == [
        True, True, True, False, True, True, True,
    ]  # fmt: skip


def test_what_was_told_first_belongs_to_its_teller() -> None:
    owners = Owners()
    assert owners.news(1, 10, 5) is True
    assert owners.news(1, 10, 5) is False
    assert owners.news(1, 10, 6) is None
    assert owners.news(1, 11, 7) is False
    assert owners.claim(2, 10)
    assert not owners.claim(2, 11)
    again = Owners(owners.take_new() + b"torn")
    assert again.news(1, 10, 6) is False
    assert not again.claim(2, 11)
    assert len(again) == 2
    assert owners.take_new() == b""


def test_compacting_keeps_the_last_entry_of_each_key() -> None:
    entries = ENTRY.pack(1, 2, 3) + ENTRY.pack(4, 5, 6) + ENTRY.pack(1, 2, 9)
    assert sorted(ENTRY.iter_unpack(compacted(entries))) == [(1, 2, 9), (4, 5, 6)]


def test_keys_keep_their_parts_apart() -> None:
    assert key("ab", "c") != key("a", "bc")
    assert digest(b"") > 0


def test_events_come_in_the_order_of_time_within_the_window() -> None:
    order = Reorder(3)
    times = [5, 3, None, 4, 1, 9, 2]
    out = [
        order.push(Answer(at=at if at is None else Millis(at), session=None, text=str(at), line=n))
        for n, at in enumerate(times)
    ]
    events = [*filter(None, out), *order.rest()]
    told = [event.text for event in events if isinstance(event, Answer)]
    assert told == ["3", "1", "None", "2", "4", "5", "9"]


def test_no_time_is_made_up() -> None:
    assert instant("2026-01-01T00:00:00") is None
    assert instant("yesterday, at some time") is None
    assert instant("soon") is None
    assert instant(None) is None
    assert instant("2026-01-01T00:00:00+01:00") == instant("2025-12-31T23:00:00Z")


def test_counts_are_whole_bounded_and_never_negative() -> None:
    assert [count(each) for each in (None, -1, 3.0, 2.0**60, 7)] == [0, 0, 3, 0, 7]


def line(data: bytes, *, ended: bool = True) -> RawLine:
    return RawLine(1, data, ended)


def test_fused_and_torn_lines_give_what_is_whole() -> None:
    assert salvage(line(b'{"a":1}{"b":2}')).values == ({"a": 1}, {"b": 2})
    assert salvage(line(b'{"a":1}{"b":2}')).reason is None
    torn = salvage(line(b'{"a":{"x":1},"b":"exter{"c":{"d":3}}'))
    assert torn.values == ({"c": {"d": 3}},)
    assert torn.reason == "torn record; the one behind it was read"
    assert salvage(line(b'{"a":1}{"b"')).reason == "torn after a whole record"
    assert salvage(line(b'{"a"', ended=False)).reason == "cut off: the file ends inside it"
    assert salvage(line(b"nothing")).reason == "not JSON"


def test_lone_surrogates_nuls_and_bad_bytes_are_replaced() -> None:
    assert salvage(line(b'{"a":"x\\ud83cy"}')).values == ({"a": "x\ufffdy"},)
    assert salvage(line(b'{"a":"x\\ud83cy"}')).reason is None
    assert "UTF-8" in (salvage(line(b'{"a":"\xff"}')).reason or "")
    assert "NUL" in (salvage(line(b'\0\0{"a":1}')).reason or "")


def test_nesting_without_end_is_survived() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    assert salvage(line(deep)).reason == "not JSON"
    nested = json.dumps({"a": 1})
    for _ in range(100):
        nested = '{"a":' + nested + "}"
    assert salvage(line(nested.encode() + b"{}")).values


def test_blank_lines_are_not_bad_and_nul_lines_are() -> None:
    assert why_unreadable(line(b"  ")) is None
    assert "NUL" in (why_unreadable(line(b"\0\0\0")) or "")
    assert trimmed(b"a\r\n") == b"a"


def test_the_head_of_a_long_string_is_whole_text() -> None:
    assert head_of(b"abc") == b"abc"
    assert head_of(b"\\ud83c\\udf88"[:6]) == b""
    assert head_of(b"\\u00") == b""
    assert head_of(b"\xff") == b""


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        ({"type": "user", "uuid": "x"}, "claude-code"),
        ({"type": "summary", "leafUuid": "x"}, "claude-code"),
        ({"type": "event_msg", "payload": {}}, "codex-rollout"),
        ({"record_type": "state"}, "codex-rollout-legacy-bare"),
        ({"id": "x", "timestamp": "t", "instructions": None}, "codex-rollout-legacy-bare"),
        ({"type": "function_call", "call_id": "x"}, "codex-rollout-legacy-bare"),
        (
            {"type": "message", "role": "user", "content": [{"type": "input_text"}]},
            "codex-rollout-legacy-bare",
        ),
        ({"type": "message", "role": "user", "content": "x"}, None),
        ({"type": "message", "id": "x", "message": {}}, None),
        ({"role": "user", "content": "x"}, None),
        ([1], None),
        ("text", None),
    ],
)
def test_a_record_shows_its_format(record: object, kind: str | None) -> None:
    assert kind_of(record) == kind


PRICES = PriceList(
    as_of="2026-01",
    note="",
    models={
        "m": Price(input=1.0, output=2.0, cache_read=0.1),
        "n": Price(input=1.0, output=2.0),
    },
)


def test_a_price_is_found_also_under_a_dated_name() -> None:
    million = ModelTokens(model="m-20250101", input=1_000_000, output=1_000_000)
    assert PRICES.cost(million) == 3.0
    assert PRICES.price("anthropic/m") is not None
    assert PRICES.price("us.anthropic.m-20250101-v1:0") is not None


def test_what_has_no_price_is_unknown_and_not_free() -> None:
    assert PRICES.cost(ModelTokens(model="other", input=1)) is None
    assert PRICES.cost(ModelTokens(model="n", input=1, cache_read=5)) is None
    assert PRICES.cost(ModelTokens(model="n", input=0)) == 0.0
