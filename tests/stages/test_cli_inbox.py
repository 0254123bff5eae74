"""The inbox verbs against a Gnomon that answers from a table."""

import json
from typing import Any

import msgspec
import pytest

from gnomon.domain.errors import UsageError
from gnomon.domain.views import Emitted, InboxItem, InboxShown
from tests.fake_gnomon import FakeConnection, run_cli

ITEM = InboxItem(
    surface_id="sf-1",
    kind="notification",
    title="You said 'use pnpm'\x1b[31m in 7 sessions.",
    emitted_at="2026-03-02T08:00:00.000Z",
    scaffold_version="000001-aaaaaaaaaaaa",
    origin="rule",
    outcome=None,
    source=None,
    open_until="2026-03-03T08:00:00.000Z",
)


def changed(**fields: Any) -> InboxItem:
    return msgspec.structs.replace(ITEM, **fields)


def test_the_list_has_the_promised_fields() -> None:
    ran = run_cli(FakeConnection({"inbox.list": [ITEM]}), "inbox", "list", "--json")
    (item,) = json.loads(ran.out)
    assert set(item) >= {
        "surface_id", "kind", "title", "emitted_at", "scaffold_version", "origin", "outcome",
        "source", "open_until",
    }  # fmt: skip
    assert (item["outcome"], item["source"]) == (None, None)


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (ITEM, "open until 2026-03-03 08:00 UTC"),
        (ITEM, "(by rule)"),
        (changed(outcome="acted", source="cli"), "used"),
        (changed(outcome="acked"), "dismissed"),
        (changed(outcome="ignored", open_until=None), "let pass"),
        (changed(outcome="system_unavailable"), "missed (Gnomon was off)"),
        (changed(synthetic=True), "(your test)"),
        (changed(origin="model"), "in 7 sessions."),
    ],
)
def test_the_list_says_what_became_of_each(item: InboxItem, said: str) -> None:
    ran = run_cli(FakeConnection({"inbox.list": [item]}), "inbox", "list")
    assert said in ran.out
    assert "\x1b" not in ran.out


def test_an_empty_inbox_says_so() -> None:
    ran = run_cli(FakeConnection({"inbox.list": []}), "inbox", "list", "--limit", "3")
    assert ran.out == "Nothing was brought to you yet.\n"


@pytest.mark.parametrize("verb", ["use", "dismiss", "read"])
def test_an_answer_names_the_item_and_nothing_else(verb: str) -> None:
    gnomon = FakeConnection({f"inbox.{verb}": changed(outcome="acted", source="cli")})
    ran = run_cli(gnomon, "inbox", verb, "sf-1")
    assert gnomon.asked == [(f"inbox.{verb}", {"surface_id": "sf-1"})]
    assert "used" in ran.out
    ran = run_cli(gnomon, "inbox", verb, "sf-1", "--json")
    assert json.loads(ran.out)["outcome"] == "acted"


def test_an_unknown_item_is_wrong_usage() -> None:
    gnomon = FakeConnection({"inbox.use": UsageError("There is no item 'sf-2' in the inbox.")})
    assert run_cli(gnomon, "inbox", "use", "sf-2").code == 2


def test_a_test_item_is_brought() -> None:
    gnomon = FakeConnection({"inbox.emit": Emitted(surface_id="sf-9")})
    ran = run_cli(
        gnomon, "inbox", "emit", "--kind", "pending", "--title", "T", "--body", "B", "--json"
    )
    assert json.loads(ran.out) == {"surface_id": "sf-9"}
    given = {"kind": "pending", "title": "T", "body": "B", "count": False}
    assert gnomon.asked == [("inbox.emit", given)]
    assert "sf-9" in run_cli(gnomon, "inbox", "emit", "--title", "T", "--count").out
    assert gnomon.asked[-1][1]["count"] is True


def test_one_item_is_shown_with_its_text() -> None:
    shown = InboxShown(item=changed(body="One.\nTwo.", artifact="draft-t@v1"))
    ran = run_cli(FakeConnection({"inbox.show": shown}), "inbox", "show", "sf-1")
    assert "One.\nTwo.\nDocument: draft-t@v1" in ran.out
    mine = msgspec.structs.replace(shown, edited="Mine.")
    assert "Mine." in run_cli(FakeConnection({"inbox.show": mine}), "inbox", "show", "sf-1").out
    bare = InboxShown(item=changed(body="Only this."))
    told = run_cli(FakeConnection({"inbox.show": bare}), "inbox", "show", "x").out
    assert told.endswith("Only this.\n")
    lost = InboxShown(item=ITEM, fault="It is gone.")
    assert "It is gone." in run_cli(FakeConnection({"inbox.show": lost}), "inbox", "show", "x").out


def test_to_dismiss_what_was_used_says_that_it_stands() -> None:
    def dismissed(outcome: str) -> str:
        answers = {"inbox.dismiss": changed(title="A test", outcome=outcome, open_until=None)}
        ran = run_cli(FakeConnection(answers), "inbox", "dismiss", "sf-1")
        assert ran.code == 0
        return ran.out

    stands = "A test: it was used already, and that stands: to use says more than to dismiss.\n"
    assert dismissed("acted") == stands
    assert dismissed("acked") == "A test: dismissed.\n"


@pytest.mark.parametrize(
    ("item", "edited", "said"),
    [
        (changed(body="`gnomon up`"), None, "`gnomon --home /h up`"),
        (changed(body="`gnomon up`", origin="model"), None, "`gnomon up`"),
        (changed(body="x"), "I type `gnomon up`", "I type `gnomon up`"),
    ],
)
def test_only_our_own_text_gets_the_home_that_its_commands_need(
    item: InboxItem, edited: str | None, said: str
) -> None:
    answers = {"inbox.show": InboxShown(item=item, edited=edited)}
    ran = run_cli(FakeConnection(answers), "inbox", "show", "sf-1", "--home", "/h")
    assert ran.out.splitlines()[-1] == said
