"""What people see of text that others wrote, and how they write times."""

import pytest

from gnomon.cli.durations import is_duration, parse_duration, spoken
from gnomon.cli.main import daemon_arguments
from gnomon.cli.terminal_text import clean, one_line
from gnomon.domain.errors import UsageError


def test_a_terminal_is_never_handed_a_control_character() -> None:
    assert clean("\x1b]0;owned\x07 and \x9b2J") == "\\x1b]0;owned\\x07 and \\x9b2J"
    assert clean("over\rwritten\r\n") == "over\\x0dwritten\n"
    assert clean("a\u202eb\u2066c\ufeff") == "a\\u202eb\\u2066c\\ufeff"
    assert clean("Grüße, 你好 👩‍🔬\tok\n") == "Grüße, 你好 👩‍🔬\tok\n"
    assert clean("plain") == "plain"


def test_a_terminal_shows_what_hides_and_what_only_fills() -> None:
    assert clean("al\u200bi\u2060c\u00ade") == "al\\u200bi\\u2060c\\xade"
    assert clean("\u180e\u3164\U000e0041\u2028") == "\\u180e\\u3164\\U000e0041\\u2028"


def test_a_picture_that_comes_in_parts_is_whole() -> None:
    assert "".join(clean(part, whole=False) for part in ("👩", "\u200d", "🔬")) == "👩‍🔬"
    assert clean("a\u200db", whole=False) == "a\\u200db"


def test_a_quote_is_one_bounded_line() -> None:
    assert one_line("  two\n lines\x1b ") == "two lines\\x1b"
    assert one_line("word " * 100, 20) == "word word word word…"


def test_durations_read_as_people_write_them() -> None:
    assert parse_duration("90s") == 90
    assert parse_duration("1h30m") == 5_400
    assert parse_duration("3d") == 259_200
    assert parse_duration("2w") == 1_209_600
    assert is_duration("7d")
    assert not is_duration("2026-05-24")


@pytest.mark.parametrize("text", ["", "3", "d", "-3d", "3 d", "3dx", "1.5h"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no duration"):
        parse_duration(text)


def test_a_duration_of_nothing_is_refused_as_that() -> None:
    with pytest.raises(UsageError, match=r"'0m' is no time at all\. Write it like 30m"):
        parse_duration("0m")


def test_durations_are_told_in_the_units_that_count() -> None:
    told = [spoken(s) for s in (42, 61, 3_600, 5_400, 86_400, 90_000, 259_200)]
    assert told == ["42 s", "1 min", "1 h", "1 h 30 min", "1 day", "1 day 1 h", "3 days"]


def test_up_goes_to_the_daemons_own_program_with_all_its_options() -> None:
    assert daemon_arguments(["up", "--port", "0"]) == ["--port", "0"]
    given_before = ["--home", "/h", "--agent=a", "up", "--json"]
    assert daemon_arguments(given_before) == ["--home", "/h", "--agent=a", "--json"]


@pytest.mark.parametrize(
    "arguments", [[], ["status"], ["up", "--help"], ["--home"], ["chat", "up"], ["--home", "up"]]
)
def test_every_other_verb_stays_with_the_cli(arguments: list[str]) -> None:
    assert daemon_arguments(arguments) is None
