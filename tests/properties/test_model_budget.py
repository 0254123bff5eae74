"""No schedule of calls, however odd, gets past the budget, the duty cycle or the breaker."""

from hypothesis import given
from hypothesis import strategies as st

from gnomon.brokers import model_breaker, model_budget
from gnomon.brokers.model_breaker import CAP_SECONDS, FAILURES_TO_OPEN, Breaker
from gnomon.brokers.model_budget import Ask, BudgetState, Limits, Now, Used
from gnomon.domain.instants import DAY, Millis
from gnomon.domain.records import Spend

START = Millis(1_780_000_000_000)
BOOT = 500.0

gaps = st.one_of(
    st.floats(0, 300), st.floats(0, 4_000), st.sampled_from([0.0, 59.999, 60.0, 3_540.0, 3_600.0])
)
calls = st.lists(st.tuples(gaps, st.floats(0.01, 400), st.booleans()), max_size=60)
limits = st.builds(
    Limits,
    usd_per_day=st.floats(0, 5),
    tokens_per_day=st.integers(0, 5_000),
    max_duty_cycle=st.floats(0, 1),
)


def at(boot: float) -> Now:
    return Now(Millis(START + round((boot - BOOT) * 1000)), boot)


@given(calls, limits)
def test_in_every_sliding_hour_the_background_keeps_to_its_share(
    schedule: list[tuple[float, float, bool]], limits: Limits
) -> None:
    """A call is cut where the hour's share ends, as the broker cuts it."""
    state = BudgetState(since=BOOT)
    boot = BOOT
    work: list[tuple[float, float]] = []
    for gap, wanted, background in schedule:
        boot += gap
        ask = Ask(background=background, tokens=0, usd=0.0)
        if model_budget.refusal(state, limits, at(boot), ask) is not None:
            continue
        seconds = wanted
        if background:
            seconds = min(wanted, model_budget.duty_left(state, limits, at(boot)))
            work.append((boot, boot + seconds))
        boot += seconds
        state = model_budget.settle(
            state, at(boot), Used(background=background, seconds=seconds, tokens=0, usd=0.0)
        )
        assert len(state.worked) <= 61
    for end in [end for _, end in work] + [begin + 3_600 for begin, _ in work]:
        spent = sum(max(0.0, min(e, end) - max(b, end - 3_600)) for b, e in work)
        assert spent <= limits.duty_seconds + 1e-6


@given(calls, limits)
def test_a_refused_background_call_may_be_made_when_it_was_told_to_come(
    schedule: list[tuple[float, float, bool]], limits: Limits
) -> None:
    state = BudgetState(since=BOOT)
    boot = BOOT
    for gap, seconds, _ in schedule:
        boot += gap + seconds
        state = model_budget.settle(
            state, at(boot), Used(background=True, seconds=seconds, tokens=0, usd=0.0)
        )
    ask = Ask(background=True, tokens=0, usd=0.0)
    refused = model_budget.refusal(state, limits, at(boot), ask)
    if refused is None or limits.duty_seconds == 0:
        return
    then = boot + (refused.until - at(boot).wall) / 1000 + 0.001
    assert model_budget.refusal(state, limits, at(then), ask) is None


@given(
    st.lists(st.tuples(st.integers(0, 2 * DAY), st.integers(0, 500), st.floats(0, 1)), max_size=60),
    limits,
)
def test_no_day_is_overspent(schedule: list[tuple[int, int, float]], limits: Limits) -> None:
    state = BudgetState(day=START // DAY)
    wall = START
    spent: dict[int, tuple[int, float]] = {}
    for gap, tokens, usd in schedule:
        wall = Millis(wall + gap)
        now = Now(wall, BOOT)
        if model_budget.refusal(state, limits, now, Ask(background=False, tokens=tokens, usd=usd)):
            continue
        state = model_budget.settle(
            state, now, Used(background=False, seconds=1.0, tokens=tokens, usd=usd)
        )
        before = spent.get(wall // DAY, (0, 0.0))
        spent[wall // DAY] = (before[0] + tokens, before[1] + usd)
    for tokens, usd in spent.values():
        assert tokens <= limits.tokens_per_day
        assert usd <= limits.usd_per_day + 1e-4


@given(st.integers(-400, 400), st.integers(-400, 400))
def test_stepping_the_clock_back_never_refills_a_day(first: int, second: int) -> None:
    state = model_budget.settle(
        BudgetState(day=START // DAY),
        Now(START, BOOT),
        Used(background=False, seconds=1.0, tokens=100, usd=0.5),
    )
    back = model_budget.of_today(state, Now(Millis(START - abs(first) * DAY), BOOT))
    assert back.tokens == 100
    onward = model_budget.of_today(back, Now(Millis(START + (abs(second) + 1) * DAY), BOOT))
    assert onward.tokens == 0


@given(st.lists(st.tuples(st.floats(0, 50_000), st.booleans(), st.floats(0, 400)), max_size=80))
def test_a_breaker_that_opened_lets_nobody_pass_without_an_operator(
    failures: list[tuple[float, bool, float]],
) -> None:
    breaker, now = Breaker(), 0.0
    opened = False
    for gap, at_once, retry_after in failures:
        now += gap
        stand = model_breaker.stand(breaker, now, foreground=False, operator_present=False)
        assert stand != "trial"
        assert not (opened and stand == "closed")
        breaker = model_breaker.after_failure(
            breaker, now, why="down", at_once=at_once, retry_after=retry_after
        )
        opened = opened or breaker.failures >= FAILURES_TO_OPEN
        if breaker.open_until is not None:
            assert breaker.open_until - now <= CAP_SECONDS + 1e-6


@given(st.integers(1, 40), st.floats(0, 1e6))
def test_the_back_off_never_shrinks(failures: int, now: float) -> None:
    breaker, last = Breaker(), 0.0
    for _ in range(failures):
        breaker = model_breaker.after_failure(breaker, now, why="down")
        wait = (breaker.open_until or now) - now
        assert wait >= last - 1e-6
        last = wait
    assert last <= CAP_SECONDS + 1e-6


@given(calls, st.floats(-1e6, 1e6))
def test_a_moved_boot_clock_changes_no_count(
    schedule: list[tuple[float, float, bool]], shift: float
) -> None:
    limits = Limits(usd_per_day=1, tokens_per_day=100, max_duty_cycle=0.1)
    state, boot = BudgetState(since=BOOT), BOOT
    for gap, seconds, background in schedule:
        boot += gap + seconds
        state = model_budget.settle(
            state, at(boot), Used(background=background, seconds=seconds, tokens=1, usd=0.0)
        )
    moved = model_budget.shifted(state, shift)
    now = at(boot)
    later = Now(now.wall, boot + shift)
    difference = model_budget.duty_left(state, limits, now) - model_budget.duty_left(
        moved, limits, later
    )
    assert abs(difference) <= max((w.seconds for w in state.worked), default=0.0) + 1e-6


def spent(**fields: object) -> Spend:
    known: dict[str, object] = {
        "role": "resident",
        "purpose": "chat",
        "agent": "main",
        "model": "m",
        "prompt": "",
        "tokens_in": 10,
        "tokens_out": 5,
        "tokens_cached": None,
        "seconds": 1.0,
        "cost_usd": 0.25,
        "joules": None,
        "off_machine": True,
    }
    return Spend(**{**known, **fields})  # pyright: ignore[reportArgumentType]


def test_lost_counters_are_counted_from_the_ledger_and_what_is_unknown_counts_as_used() -> None:
    bounds = Limits(usd_per_day=1.0, tokens_per_day=1_000, max_duty_cycle=0.1)
    state = model_budget.recounted([spent(), spent()], bounds, at(BOOT))
    assert (state.usd, state.tokens, state.day) == (0.5, 30, START // DAY)
    assert model_budget.duty_left(state, bounds, at(BOOT)) == 0.0
    assert model_budget.duty_left(state, bounds, at(BOOT + 3_661)) == 360.0
    assert model_budget.last_hour(state, at(BOOT)).seconds == 0.0, "a bound is no use"
    here = spent(tokens_in=None, cost_usd=None, off_machine=False)
    assert model_budget.recounted([here], bounds, at(BOOT)).tokens == 0
    assert model_budget.recounted([here], bounds, at(BOOT)).usd == 0.0
    there = model_budget.recounted([spent(tokens_out=None, cost_usd=None)], bounds, at(BOOT))
    for ask in (
        Ask(background=False, tokens=1, usd=0.0),
        Ask(background=False, tokens=0, usd=0.01),
    ):
        assert model_budget.refusal(there, bounds, at(BOOT), ask) is not None
