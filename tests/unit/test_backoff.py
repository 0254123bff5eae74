"""How long a job that fails waits."""

from gnomon.domain.instants import HOUR, MINUTE, Millis
from gnomon.referee.backoff import Backoff
from tests.referee_kit import MORNING


def test_each_failure_doubles_the_wait_up_to_an_hour():
    backoff, waits = Backoff(), list[int]()
    for _ in range(9):
        backoff.begin(MORNING)
        waited = 0
        while backoff.waits(Millis(MORNING + waited)):
            waited += MINUTE
        waits.append(waited // MINUTE)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_it_waits_for_nothing_before_a_failure_and_after_a_success():
    backoff = Backoff()
    assert not backoff.waits(MORNING)
    backoff.begin(MORNING)
    assert backoff.waits(MORNING)
    backoff.succeed()
    assert not backoff.waits(MORNING)
    backoff.begin(MORNING)
    assert not backoff.waits(Millis(MORNING + MINUTE)), "the count began anew"


def test_a_clock_that_was_set_back_does_not_make_it_wait_for_a_year():
    backoff = Backoff()
    backoff.begin(Millis(MORNING + 365 * 24 * HOUR))
    assert not backoff.waits(MORNING)


def test_two_failures_in_a_row_are_a_job_that_fails():
    backoff = Backoff()
    for running, failing in ((False, False), (True, False)):
        assert backoff.is_failing(running=running) is failing
        backoff.begin(MORNING)
    assert not backoff.is_failing(running=True), "the second one is still under way"
    assert backoff.is_failing(running=False)
    backoff.succeed()
    assert not backoff.is_failing(running=False)
