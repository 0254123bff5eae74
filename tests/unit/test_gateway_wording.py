"""What a page says of the facts, and above all what it must not say."""

import msgspec
import pytest

from gnomon.domain.instants import Millis
from gnomon.domain.views import Check, ModelKind, ModelOffer, ModelView
from gnomon.domain.views_history import Report
from gnomon.gateway.dashboard import wording
from gnomon.gateway.dashboard.exact_text import exact
from gnomon.gateway.dashboard.labels import Labels, read_labels
from gnomon.gateway.stream import Entry
from gnomon.testing.facts import a_report, a_status

DEMO = ModelView(name="smollm2", kind="demo", loaded=True)
LABELS = read_labels()
REMOTE = ModelView(name="claude", kind="remote", loaded=True)


def keys(**changed) -> list[str]:
    return [each.key for each in wording.headline(a_status(**changed))]


def test_a_fresh_gnomon_says_that_nothing_has_left():
    assert keys() == ["headline.running", "headline.nothing-left", "headline.spent"]
    assert wording.headline(a_status())[2].values == {"usd": "$0.00"}


@pytest.mark.parametrize(
    ("model", "calls", "key"),
    [
        (DEMO, 0, "nothing-left"),
        (DEMO, 1, "left-before"),
        (DEMO, None, "model-here"),
        (REMOTE, 0, "nothing-left-yet"),
        (REMOTE, 7, "leaves"),
        (REMOTE, None, "leaves"),
    ],
)
def test_nothing_has_left_is_said_at_a_known_zero_alone(model, calls, key):
    assert keys(model=model, remote_calls=calls)[1] == f"headline.{key}"


def test_spent_is_all_that_was_ever_spent_or_says_that_it_is_todays():
    assert keys(usd_spent=None)[2] == "headline.spent-today"
    assert wording.headline(a_status(usd_spent=3.5))[2].values == {"usd": "$3.50"}


def test_a_pause_says_until_when():
    said = wording.headline(a_status(paused_until="2026-05-28T20:30:00.000Z"))[0]
    assert said.values == {"until": "2026-05-28 20:30 UTC"}
    assert wording.headline(a_status(paused_until="you resume it"))[0].values == {
        "until": "you resume it"
    }


@pytest.mark.parametrize(
    ("doing", "paused_until", "word"),
    [
        (None, None, "nothing"),
        ("reflecting", None, "reflecting"),
        ("reflecting", "you resume it", "pausing"),
        ("no-model", "you resume it", "paused"),
        (None, "you resume it", "paused"),
        ("chat", "you resume it", "chat"),
    ],
)
def test_there_is_one_state_at_a_time(doing, paused_until, word):
    assert wording.doing(a_status(doing=doing, paused_until=paused_until)) == word


@pytest.mark.parametrize(
    ("minutes", "text"),
    [
        (0.001, "1 s"),
        (0.42, "25 s"),
        (0.999, "1 min"),
        (1.0, "1 min"),
        (2.5, "2.5 min"),
        (42.26, "42.3 min"),
        (180.0, "3 h"),
        (90_000.0, "1,500 h"),
    ],
)
def test_a_time_is_told_in_the_unit_that_people_would_say(minutes, text):
    said = wording.lasted(minutes)
    assert LABELS(said.key, **said.values) == text


def test_what_a_check_found_of_several_is_a_list_without_raw_moments():
    found = "judge (full, 2026-11-30T19:27:13.068Z): exec held; recall (full): read held"
    assert wording.several(found) == [
        "judge (full, 2026-11-30 19:27 UTC): exec held",
        "recall (full): read held",
    ]


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (0, "$0.00"),
        (0.004, "$0.004"),
        (0.0000001, "less than $0.000001"),
        (0.01, "$0.01"),
        (1234.5, "$1,234.50"),
    ],
)
def test_a_small_amount_is_not_shown_as_nothing(usd: float, text: str):
    assert wording.money(usd) == text


def test_numbers_are_grouped():
    assert wording.number(1234567) == "1,234,567"


def an_offer(kind: ModelKind, *, current: bool = False) -> ModelOffer:
    return ModelOffer(name="q", kind=kind, current=current, detail="", use={})


def test_an_offer_that_costs_says_its_bound():
    assert wording.offer_button(an_offer("local"), 1.0).key == "card.model.use"
    said = wording.offer_button(an_offer("remote"), 1.0)
    assert (said.key, said.values) == ("card.model.use-capped", {"usd": "$1"})


def test_neither_the_model_in_use_nor_having_none_is_offered():
    better = an_offer("local")
    assert wording.worth_offering([an_offer("demo", current=True), better, an_offer("none")]) == [
        better
    ]


def test_faults_are_listed_before_what_is_well():
    checks = [
        Check(name=level, ok=level != "error", level=level, detail="", fix="")
        for level in ("ok", "error", "warning")
    ]
    assert [each.name for each in wording.by_weight(checks)] == ["error", "warning", "ok"]


@pytest.mark.parametrize(
    ("levels", "weakest"),
    [
        ({}, None),
        ({"a": "full"}, "full"),
        ({"a": "full", "b": "partial"}, "partial"),
        ({"a": "none", "b": "full"}, "none"),
    ],
)
def test_the_jail_is_as_good_as_its_weakest_part(levels, weakest):
    assert wording.weakest(levels) == weakest


def test_what_cannot_be_seen_is_not_shown():
    hostile = "a\x1b[31mb\u202eevil\u2066\x00\u200b\x9b\ud800\ttab\nline"
    assert wording.clean(hostile) == "a[31mbevil\ttab\nline"
    assert wording.clean("plain 👩‍💻 é") == "plain 👩‍💻 é"


def test_what_is_decided_on_shows_what_cannot_be_seen():
    assert exact('pay("\u202ealice\u2066\u200b")') == ('pay("⟨U+202E⟩alice⟨U+2066⟩⟨U+200B⟩")')
    assert exact("⟨U+202E⟩") == "⟨U+27E8⟩U+202E⟩", "a text cannot pretend to hold one"
    assert exact("a\r\n\tb") == "a⟨U+000D⟩\n\tb"


def entry(number: int, **fields) -> Entry:
    event = {"agent": "a", "run": "r", "step": "tool", "span": "1", "complete": False} | fields
    return Entry(number=number, kind="event", at="2026", data=msgspec.json.encode(event))


def test_of_a_steps_two_events_the_later_is_shown():
    newest_first = [
        entry(3, span="2", step="model"),
        entry(2, complete=True, facts={"name": "shell"}),
        entry(1, facts={"name": "shell"}),
    ]
    shown = wording.happenings(newest_first, 10)
    assert [(each.label.key, each.complete) for each in shown] == [
        ("step.model", False),
        ("step.tool-named", True),
    ]
    assert shown[1].label.values == {"name": "shell"}
    assert len(wording.happenings(newest_first, 1)) == 1


def test_a_filters_day_counts_back_from_today():
    assert wording.days_ago(Millis(1_780_000_000_000), 7) == "2026-05-21"


def test_a_report_is_empty_while_nothing_was_read():
    empty = Report(corrections=(), failures=(), repeats=(), loose_ends=(), cost=())
    assert wording.is_empty(empty)
    assert not wording.is_empty(a_report())
    assert not wording.is_empty(msgspec.structs.replace(empty, turns=1))


def test_labels_agree_with_their_count_and_miss_nothing_silently():
    labels = Labels({"a": {"n": {"one": "{n} turn", "other": "{n} turns"}, "plain": "p {x}"}})
    assert labels("a.n", n=1) == "1 turn"
    assert labels("a.n", n=0) == "0 turns"
    assert labels("a.plain", x="{n}") == "p {n}"
    assert "a.plain" in labels
    assert labels.under("a") == {"n.one": "{n} turn", "n.other": "{n} turns", "plain": "p {x}"}
    assert list(labels) == ["a.n.one", "a.n.other", "a.plain"]
    with pytest.raises(KeyError):
        labels("a.missing", n=2)
    with pytest.raises(KeyError):
        labels("a.plain")
