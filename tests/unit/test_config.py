"""The operator's file: defaults, refusals that name a line, edits that keep the rest."""

import re
import tomllib
from pathlib import Path

import pytest

from gnomon.config import (
    Config,
    check_environment,
    default_text,
    fields,
    line_of,
    parse,
    set_value,
)
from gnomon.domain.errors import ConfigError

FILE = Path("config.toml")


def test_the_written_file_says_nothing_until_a_key_is_uncommented() -> None:
    assert parse(default_text(), FILE) == Config()
    assert set(tomllib.loads(default_text())) == {
        "kernel", "model", "budget", "improve", "observe", "notify", "gateway",
    }  # fmt: skip


def test_uncommenting_every_key_gives_the_defaults_and_names_every_key() -> None:
    text = re.sub(r"(?m)^# (\w+ = )", r"\1", default_text())
    assert parse(text, FILE) == Config()
    assert {(t, k) for t, keys in tomllib.loads(text).items() for k in keys} == {
        (table, key) for table, key, *_ in fields()
    }


def test_every_key_has_a_description_and_says_what_it_takes() -> None:
    assert all(description and takes for _, _, _, description, takes in fields())


def test_the_seeds_default_tick_stands_and_an_explicit_one_wins() -> None:
    assert Config().kernel.tick_ms == 120_000
    assert Config().kernel.salience_gate is False
    assert "\n# tick_ms = 120000\n" in default_text()
    assert parse("[kernel]\ntick_ms = 30000\n", FILE).kernel.tick_ms == 30_000
    assert parse("[kernel]\ntick_ms = 1000\n", FILE).kernel.tick_ms == 1_000


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[kernel]\n\ntick_ms = 999\n", 3, "a whole number from 1000 to 2678400000, not 999"),
        ("[kernel]\ntick_ms = '5s'\n", 2, 'a whole number from 1000 to 2678400000, not "5s"'),
        ("[kernel]\ntick_msec = 3\n", 2, "did you mean tick_ms?"),
        ("[kernel]\nxyzzy = 3\n", 2, "there are tick_ms, mode"),
        ("# a\n[kernle]\ntick_ms = 5000\n", 2, "did you mean kernel?"),
        ("[model]\ntick_ms = 5000\n", 2, "it belongs under [kernel]"),
        ("[kernel]\nmode = 'loud'\n", 2, '"full", "off", "shadow", "soft", not "loud"'),
        ("[kernel]\nsalience_gate = 1\n", 2, "true or false, not 1"),
        ("[kernel]\nmax_duty_cycle = 1.5\n", 2, "a number from 0 to 1, not 1.5"),
        ("[model]\ntimeout_seconds = 0\n", 2, "a number above 0, at most 3600, not 0"),
        ("[model]\ntimeout_seconds = nan\n", 2, "not nan"),
        ("[budget]\nusd_per_day = inf\n", 2, "a finite number"),
        ("[model]\nname = ''\n", 2, 'text in quotes, not empty, not ""'),
        ("[model]\nname = ['a']\n", 2, "not a list"),
        ("[model]\nkey_env = 3\n", 2, "text in quotes, not 3"),
        ("[model]\nurl = 'localhost:1'\n", 2, 'ends in "/v1"'),
        (f"[model]\nurl = '{'u' * 200}'\n", 2, "..."),
        ("kernel = 3\n", 1, "kernel is a table"),
        ("\nkernel.tick_ms = 1\n", 2, "from 1000"),
        ("kernel = { tick_ms = 1 }\n", 1, "from 1000"),
        ("[kernel]\ntick_ms = 99999999999999999999\n", 2, "to 2678400000, not 9999"),
        ("[kernel]\ntick_ms = \n", 2, "it is not TOML"),
        ("[kernel]\n[kernel]\n", 2, "it is not TOML"),
        ("a = '''\n", 1, "it is not TOML"),
        ("a = " + "[" * 5_000, 1, "nests too deeply"),
    ],
)
def test_a_wrong_setting_is_one_error_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, FILE)
    assert words in str(caught.value)
    assert f"config.toml, line {line}:" in str(caught.value)
    assert caught.value.facts == {"file": "config.toml", "line": line}
    assert caught.value.next_step


def test_a_misspelt_variable_of_the_environment_is_not_ignored() -> None:
    check_environment({"GNOMON_MODEL": "none", "GNOMON_TESTS_REQUIRE_ALL": "1", "PATH": "/bin"})
    with pytest.raises(ConfigError, match="Did you mean GNOMON_MODEL_URL"):
        check_environment({"GNOMON_MODEL_ULR": "x"})


def test_a_value_is_set_in_place_of_its_commented_default() -> None:
    text = set_value(default_text(), "model", "name", 'a "quoted" \x7f name')
    assert parse(text, FILE).model.name == 'a "quoted" \x7f name'
    assert len(text.splitlines()) == len(default_text().splitlines())
    assert set_value(text, "model", "name", "embedded").count("name = ") == 1


def test_an_edit_keeps_the_operators_remarks_order_and_line_ends() -> None:
    before = "# mine\r\n[budget]\r\nusd_per_day = 2 # enough\r\n\r\n[model]\r\nname = 'x'\r\n"
    after = set_value(before, "budget", "usd_per_day", 0.5)
    assert after == before.replace("= 2 #", "= 0.5 #")
    assert set_value(before, "model", "name", "y") == before.replace("'x'", '"y"')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "[kernel]\nsalience_gate = true\n"),
        ("[model]\nname = 'x'", "[model]\nname = 'x'\n\n[kernel]\nsalience_gate = true\n"),
        ("[kernel]", "[kernel]\nsalience_gate = true\n"),
        ("[kernel]\n[model]\n", "[kernel]\nsalience_gate = true\n[model]\n"),
        ("[model]\n", "[model]\n\n[kernel]\nsalience_gate = true\n"),
    ],
)
def test_a_missing_table_or_key_is_added(before: str, after: str) -> None:
    assert set_value(before, "kernel", "salience_gate", True) == after


@pytest.mark.parametrize(
    "text", ["[model]\nname = '''\nx'''\n", "model.name = 'x'\n", "model = { name = 'x' }\n"]
)
def test_a_file_that_cannot_be_followed_is_left_to_the_operator(text: str) -> None:
    with pytest.raises(ConfigError, match="by hand"):
        set_value(text, "model", "name", "y")


def test_a_line_is_found_in_every_way_of_writing() -> None:
    assert line_of("[a]\nx = 1\n[kernel]\n'x' = 1\n", "kernel", "x") == 4
    assert line_of("[kernel]\ny = 1\n[b]\nx = 1\n", "kernel", "x") == 1
    assert line_of("", "kernel", "x") == 1
