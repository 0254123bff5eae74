"""Long lines are broken between words, and what follows stands below its column."""

from gnomon.cli.wrapping import Flow, wrapped


def test_a_line_that_fits_stays_as_it_is() -> None:
    assert wrapped("  a  b\tc \n\n d", 40) == "  a  b\tc \n\n d"


def test_rows_begin_below_the_last_column_or_where_their_line_does() -> None:
    assert wrapped("mode    soft and some more words", 20) == (
        "mode    soft and\n        some more\n        words"
    )
    assert wrapped("  one two three four", 12) == "  one two\n  three four"
    assert wrapped("one two three  four", 12) == "one two\nthree  four"


def test_a_mark_hangs_and_a_short_cell_of_a_table_is_whole() -> None:
    assert wrapped("- one two three", 10) == "- one two\n  three"
    assert wrapped("[1] one two three", 12) == "[1] one two\n    three"
    row = "judge  Decides whether the change stays  on a day  Nothing yet"
    assert wrapped(row, 40) == (
        "judge  Decides whether the change stays\n       on a day  Nothing yet"
    )


def test_a_word_that_is_longer_than_a_row_is_whole() -> None:
    address = "http://127.0.0.1:4666/login?t=abc-def"
    assert wrapped(f"see {address} now", 20) == f"see\n{address}\nnow"


def test_a_long_path_has_the_room_that_it_needs() -> None:
    assert wrapped("codex  9 turns  /home/user/long/path", 24) == (
        "codex  9 turns\n  /home/user/long/path"
    )


def test_a_command_is_not_broken() -> None:
    assert wrapped("to end it type `gnomon model use x` here", 30) == (
        "to end it type\n`gnomon model use x` here"
    )
    assert wrapped("Start it now: gnomon --home /h up", 24) == (
        "Start it now:\ngnomon --home /h up"
    )


def flowed(width: int | None, *parts: str) -> str:
    flow = Flow(width)
    return "".join([*map(flow.take, parts), flow.end()])


def test_a_text_that_comes_in_parts_is_broken_like_a_whole_one() -> None:
    assert flowed(10, "one tw", "o th", "ree four") == "one two\nthree four"
    assert flowed(10, "one\ntwo  three", " four\n") == "one\ntwo  three\nfour\n"
    assert flowed(16, "now type `gnomon up` here") == "now type\n`gnomon up` here"
    assert flowed(8, "a ` alone is no command") == "a\n` alone is\nno\ncommand"
    assert flowed(5, "incomprehensible words") == "incomprehensible\nwords"
    assert flowed(None, "one two ", "three") == "one two three"


def test_a_word_is_shown_when_it_is_whole_and_a_sign_that_is_a_word_with_the_next() -> None:
    flow = Flow(10)
    assert flow.take("hal") == ""
    assert flow.take("f an") == "half"
    flow = Flow(3)
    assert flow.take("你好世界a") == "你好世\n界"
    assert flow.end() == "a"
