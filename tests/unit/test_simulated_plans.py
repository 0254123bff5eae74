"""What simulated operators mean to do, and what is to go wrong: functions of a seed."""

from collections import Counter
from itertools import pairwise

import pytest

from gnomon.domain.instants import DAY, HOUR, Millis, parse_iso
from gnomon.simulate import faults, operators
from gnomon.simulate.operators import Look, Nap, Say, Stop
from gnomon.simulate.story import Story

START = parse_iso("2026-03-02T06:00:00Z")


@pytest.mark.parametrize("name", operators.NAMES)
def test_one_seed_is_one_plan_in_order_of_time(name: operators.Name) -> None:
    plan = operators.plan(name, 3, START, 10)
    assert plan == operators.plan(name, 3, START, 10)
    assert name == "absent" or plan != operators.plan(name, 4, START, 10)
    assert [deed.at for deed in plan] == sorted(deed.at for deed in plan)
    assert all(START < deed.at < START + 10 * DAY for deed in plan)


def test_an_absent_operator_does_nothing() -> None:
    assert operators.plan("absent", 1, START, 30) == ()


@pytest.mark.parametrize("name", operators.NAMES)
def test_nobody_does_anything_at_night(name: operators.Name) -> None:
    habits = operators.HABITS[name]
    for deed in operators.plan(name, 5, START, 30):
        if isinstance(deed, Say | Look):
            assert habits.wakes * HOUR <= deed.at % DAY < habits.sleeps * HOUR


def test_only_the_one_who_stops_the_gateway_does_so_every_day() -> None:
    stops = {
        name: sum(isinstance(each, Stop) for each in operators.plan(name, 1, START, 30))
        for name in operators.NAMES
    }
    assert stops["stops-the-gateway"] > 30
    assert 0 < stops["ordinary"] < 15
    assert stops["attentive"] == stops["absent"] == stops["diurnal"] == 0


def test_the_machine_of_a_diurnal_operator_sleeps_every_night_and_never_twice_at_once() -> None:
    naps = [each for each in operators.plan("diurnal", 1, START, 30) if isinstance(each, Nap)]
    assert len([nap for nap in naps if nap.seconds > 6 * 3600]) == 30
    for one, other in pairwise(naps):
        assert one.at + one.seconds * 1000 < other.at


def test_what_becomes_of_a_surface_follows_the_operator() -> None:
    def share(name: operators.Name) -> Counter[str]:
        answers = [operators.answer(name, 1, f"sf-{n}", "notification") for n in range(2_000)]
        assert answers == [
            operators.answer(name, 1, f"sf-{n}", "notification") for n in range(2_000)
        ]
        kinds = ("dismiss", "pass")
        return Counter(each.what if each.what in kinds else "act" for each in answers)

    assert 1_330 < share("attentive")["act"] < 1_470
    assert 330 < share("busy")["act"] < 470
    assert 530 < share("ordinary")["pass"] < 670


def test_one_seed_is_one_plan_of_faults() -> None:
    plan = faults.plan(3, START, 10)
    assert plan == faults.plan(3, START, 10)
    assert plan != faults.plan(4, START, 10)
    assert [each.at for each in plan] == sorted(each.at for each in plan)


def test_every_kind_of_fault_comes_within_a_month() -> None:
    kinds = Counter(each.kind for each in faults.plan(1, START, 30))
    assert set(kinds) == set(faults.KINDS)
    assert all(
        (each.kill is not None) == (each.kind in {"kill", "power-cut"})
        for each in faults.plan(1, START, 30)
    )


def test_a_story_counts_only_the_time_in_which_it_was_there() -> None:
    story = Story()
    story.up(Millis(0))
    story.away(Millis(100), "asleep")
    story.up(Millis(200))
    story.pause(Millis(300), Millis(500))
    story.up(Millis(400))  # started again, and paused still
    assert not story.is_up
    story.up(Millis(500))
    story.away(Millis(600), "killed")
    assert story.awake_between(Millis(0), Millis(1_000)) == 300
    assert story.awake_between(Millis(50), Millis(250)) == 100


def test_the_last_sign_of_the_operator_is_found() -> None:
    story = Story(signs=[Millis(10), Millis(20)])
    assert story.near_at(Millis(5)) is None
    assert story.near_at(Millis(10)) == 10
    assert story.near_at(Millis(25)) == 20
