"""`gnomon refine`: the operator's word, and what is missing."""

import json

from gnomon.domain.views_change import Readiness
from tests.fake_gnomon import FakeConnection, run_cli

MISSING = Readiness(
    ready=False,
    enabled=False,
    dev_mode=False,
    codes=("few-days", "not-enabled"),
    reasons=("It has been measured on 3 of 7 days.", "You have not said that the number fits."),
    next_at=None,
    refused_calls=4,
)


def test_status_says_what_is_missing_and_the_json_has_it_whole() -> None:
    connection = FakeConnection({"refine.status": MISSING})
    ran = run_cli(connection, "refine", "status")
    assert (ran.code, connection.asked) == (0, [("refine.status", {})])
    assert "It has been measured on 3 of 7 days." in ran.out
    assert "4 calls beyond its four tools" in ran.out
    said = json.loads(run_cli(connection, "refine", "status", "--json").out)
    assert said["codes"] == ["few-days", "not-enabled"]
    assert said["ready"] is False


def test_enable_gives_the_operators_word() -> None:
    connection = FakeConnection({"refine.enable": MISSING})
    ran = run_cli(connection, "refine", "enable")
    assert (ran.code, connection.asked) == (0, [("refine.enable", {})])
    assert ran.out.startswith("Noted: the number fits what you see.")


def test_options_before_the_verb_count() -> None:
    connection = FakeConnection({"refine.status": MISSING})
    assert run_cli(connection, "refine", "--agent", "other", "status").agent == "other"


def test_disable_takes_it_back() -> None:
    connection = FakeConnection({"refine.disable": MISSING})
    ran = run_cli(connection, "refine", "disable")
    assert (ran.code, connection.asked) == (0, [("refine.disable", {})])
    assert ran.out.startswith("Noted: you take that word back.")
