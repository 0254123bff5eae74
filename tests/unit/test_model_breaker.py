"""The breaker's three answers, by case."""

import pytest

from gnomon.brokers.model_breaker import Breaker, after_failure, shifted, stand


def failed(count: int, *, at: float = 100.0) -> Breaker:
    breaker = Breaker()
    for _ in range(count):
        breaker = after_failure(breaker, at, why="down", next_step="mend it")
    return breaker


@pytest.mark.parametrize(
    ("failures", "now", "foreground", "present", "answer"),
    [
        (0, 100.0, False, False, "closed"),
        (2, 100.0, False, False, "closed"),
        (3, 100.0, False, True, "open"),
        (3, 159.9, False, True, "open"),
        (3, 160.0, False, True, "trial"),
        (3, 1e9, False, False, "open"),
        (3, 1e9, True, False, "open"),
        (3, 114.9, True, True, "open"),
        (3, 115.0, True, True, "trial"),
        (4, 160.0, False, True, "open"),
        (4, 220.0, False, True, "trial"),
        (30, 100.0 + 6 * 3600, False, True, "trial"),
    ],
)
def test_who_may_call(
    failures: int, now: float, foreground: bool, present: bool, answer: str
) -> None:
    breaker = failed(failures)
    assert stand(breaker, now, foreground=foreground, operator_present=present) == answer


def test_a_refused_key_opens_at_once() -> None:
    breaker = after_failure(Breaker(), 0.0, why="refused", next_step="set it", at_once=True)
    assert breaker.open_until == 60.0
    assert (breaker.why, breaker.next_step) == ("refused", "set it")


def test_the_servers_wait_is_kept_where_it_is_the_longer() -> None:
    assert after_failure(Breaker(), 0.0, why="", retry_after=90.0).open_until == 90.0
    assert after_failure(failed(2, at=0.0), 0.0, why="", retry_after=5.0).open_until == 60.0


def test_it_moves_with_the_boot_clock() -> None:
    assert shifted(failed(3), 1_000.0).open_until == 1_160.0
    assert shifted(Breaker(), 1_000.0).open_until is None
