"""When a reflection speaks."""

import pytest

from gnomon.domain.instants import DAY, HOUR, MINUTE, Millis
from gnomon.resident.notices import HandedOver, apart, has_room, notice_of
from gnomon.resident.reflection import Item, ReflectionOutput
from gnomon.resident.stall import Weighed

NOW = Millis(1_780_000_000_000)


def weighed(source: str | None = "concern", repeats: int = 0, **changes: object) -> Weighed:
    fields: dict[str, object] = {
        "focus": "f",
        "desired_action": "rest",
        "summary": "what is so",
        "concerns": (),
        "interests": (),
        "open_questions": (),
        "candidate_items": (),
        "active_item": Item(title=" the  item ", source=source) if source else None,  # type: ignore[arg-type]
        "next_step": "do this",
    }
    output = ReflectionOutput(**(fields | changes))  # type: ignore[arg-type]
    return Weighed(
        output=output,
        action="rest",
        signature="0" * 64,
        repeats=repeats,
        pressure="hold" if repeats > 2 else "none",
    )


def test_a_concern_is_a_notification_in_its_own_words() -> None:
    notice = notice_of(weighed(last_conclusion="so it is"), (), NOW)
    assert notice is not None
    assert (notice.kind, notice.title) == ("notification", "the item")
    assert notice.body == "what is so\n\nso it is\n\ndo this"


def test_the_operators_own_item_waits_for_them_when_there_is_a_next_step() -> None:
    waits = notice_of(weighed("operator"), (), NOW)
    tells = notice_of(weighed("operator", next_step=None, last_conclusion="done"), (), NOW)
    assert waits is not None
    assert tells is not None
    assert (waits.kind, tells.kind) == ("pending", "notification")


@pytest.mark.parametrize(
    "silent",
    [
        weighed(None),
        weighed("background"),
        weighed("interest", last_conclusion="x"),
        weighed("continuity"),
        weighed("concern", next_step=None),
        weighed("concern", repeats=1),
        weighed("concern", repeats=3),
    ],
)
def test_what_stays_private(silent: Weighed) -> None:
    assert notice_of(silent, (), NOW) is None


def test_a_carried_thread_speaks_once_it_came_to_a_conclusion() -> None:
    assert notice_of(weighed("continuity", last_conclusion="found"), (), NOW) is not None


def told(title: str, ago: int) -> HandedOver:
    return HandedOver(title=title, at=NOW - ago)


def test_the_same_is_not_said_twice_within_a_day() -> None:
    assert notice_of(weighed(), (told("The Item", 23 * HOUR),), NOW) is None
    assert notice_of(weighed(), (told("The Item", DAY),), NOW) is not None


def test_five_a_day_an_hour_apart_and_a_clock_set_back_forgets() -> None:
    assert not has_room((told("x", 59 * MINUTE),), NOW)
    assert has_room((told("x", HOUR),), NOW)
    assert has_room((told("x", -HOUR),), NOW)
    assert not has_room(tuple(told(f"x{n}", (n + 1) * HOUR) for n in range(5)), NOW)
    assert has_room(tuple(told(f"x{n}", (n + 1) * HOUR) for n in range(4)), NOW)
    midnight = Millis(NOW - NOW % DAY + DAY)
    evening = tuple(HandedOver(title=f"x{n}", at=midnight - (n + 1) * HOUR) for n in range(5))
    assert not has_room(evening, Millis(midnight - 1))
    assert has_room(evening, midnight)


def test_the_operator_may_let_it_say_more_and_then_more_often() -> None:
    assert apart(5) == HOUR
    assert apart(100) == DAY // 200
    said = tuple(told(str(each), each * 10 * MINUTE) for each in range(1, 8))
    assert not has_room(said, NOW)
    assert has_room(said, NOW, 100)
    assert notice_of(weighed("operator"), said, NOW, 100) is not None
