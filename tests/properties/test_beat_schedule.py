"""The beat's schedule, whatever the lateness."""

from hypothesis import given
from hypothesis import strategies as st

from gnomon.daemon import beat


@given(
    period=st.floats(1.0, 900.0),
    late=st.lists(st.floats(0.0, 5_000.0), min_size=1, max_size=30),
)
def test_what_is_due_is_always_followed_by_something_later(
    period: float, late: list[float]
) -> None:
    schedule, now = beat.first(0.0, period), 0.0
    for delay in late:
        now = max(now, min(schedule.tick_at, schedule.heartbeat_at)) + delay
        things, schedule = beat.due(schedule, now, period)
        assert things
        assert min(schedule.tick_at, schedule.heartbeat_at, schedule.anchor_at) > now
