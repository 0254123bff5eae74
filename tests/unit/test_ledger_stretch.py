"""Which segment a line belongs to, for ledgers that count together when the clock was set back."""

from gnomon.domain.instants import HOUR, MINUTE, Millis
from gnomon.ledger.stretch import STEPPED_BACK, StretchCount

NOON = Millis(100 * HOUR)


def at_noon() -> StretchCount:
    stretch = StretchCount()
    stretch.date(NOON)
    return stretch


def test_a_line_dated_more_than_five_minutes_back_begins_the_next_stretch() -> None:
    stretch = at_noon()
    stretch.date(Millis(NOON - STEPPED_BACK))
    assert stretch.number == 1
    stretch.date(Millis(NOON - STEPPED_BACK - 1))
    assert stretch.number == 2
    stretch.date(NOON)
    stretch.date(Millis(NOON - MINUTE))
    assert stretch.number == 2


def test_no_line_of_a_stretch_is_dated_before_another() -> None:
    stretch = at_noon()
    assert stretch.date(Millis(NOON - MINUTE)) == NOON
    assert stretch.date(Millis(NOON + MINUTE)) == NOON + MINUTE
    assert stretch.date(Millis(NOON - HOUR)) == NOON - HOUR


def test_a_set_back_that_a_line_has_shown_already_is_not_counted_twice() -> None:
    stretch = at_noon()
    stretch.date(Millis(NOON - HOUR))
    stretch.set_back(Millis(NOON - HOUR))
    assert stretch.number == 2
    stretch.set_back(Millis(NOON - 2 * HOUR))
    stretch.set_back(Millis(NOON - 3 * HOUR))
    assert stretch.number == 3


def test_a_stretch_without_a_line_is_not_left() -> None:
    stretch = StretchCount()
    stretch.begin()
    stretch.set_back(Millis(0))
    assert stretch.number == 1


def test_who_joins_brings_the_furthest_of_the_last_stretch() -> None:
    stretch = StretchCount()
    stretch.join(2, None)
    stretch.join(1, Millis(NOON + HOUR))
    stretch.date(Millis(NOON - HOUR))
    assert stretch.number == 2
    stretch.join(2, NOON)
    stretch.date(Millis(NOON - HOUR))
    assert stretch.number == 3
