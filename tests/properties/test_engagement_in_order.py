"""Which windows' engagement a verdict may rest on, whatever ripens first."""

from itertools import takewhile
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from bench.learning.judging import Version
from bench.learning.windows import Counted, counted, matures_after
from bench.learning.world import BUSY, World
from gnomon.referee.config import FitnessConfig
from tests.judge_kit import Trial

K = FitnessConfig().k_windows
windows = st.lists(
    st.tuples(st.one_of(st.none(), st.sampled_from((0.2, 0.5, 1.0))), st.booleans()), max_size=30
)


@given(windows)
def test_a_verdict_rests_on_the_first_windows_that_were_emitted_not_the_first_that_ripened(
    told: list[tuple[float | None, bool]],
) -> None:
    trial = Trial().before([0.4] * K, [0.5] * K)
    for rate, mature in told:
        trial.after([0.4], [rate], mature=mature)
    candidate = list(zip(trial.measured()[K:], told, strict=True))
    ripe = takewhile(lambda each: each[1][1], candidate)
    valid = [window.window_start for window, (rate, _) in ripe if rate is not None]
    assert list(trial.weighed().engagement.windows_after) == valid[:K]


@given(st.lists(st.integers(1, 25), max_size=40), st.integers(0, 70))
def test_the_benchmark_ripens_windows_in_that_order_too(after: list[int], now: int) -> None:
    version = Version(0.0)
    for index, hours in enumerate(after):
        version.take(index, Counted(index, None, 0.5, hours))
    version.settle(now)
    ripe = list(takewhile(lambda each: each[0] + each[1] <= now, enumerate(after)))
    assert len(version.rates) == len(ripe)


@given(st.integers(0, 2**32), st.floats(-0.4, 0.5))
def test_what_a_lived_hour_counts_is_in_its_bounds(seed: int, quality: float) -> None:
    hour = World(BUSY, Random(seed)).live(quality)
    window = counted(hour, FitnessConfig())
    assert window.stall is None or 0 <= window.stall <= 1
    assert window.engagement is None or 0 <= window.engagement <= 1
    assert 1 <= matures_after(hour) <= 25
    assert (window.engagement is None) == (len(hour.surfaces) < 3)
