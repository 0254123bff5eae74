"""The one door to a model: who may pass, who goes first, what each call leaves behind."""

import asyncio

import pytest
from msgspec.structs import replace

from gnomon.brokers.model import ModelBroker
from gnomon.brokers.model_budget import Limits
from gnomon.brokers.model_in_force import NO_MODEL, InForce, Prices
from gnomon.domain.errors import (
    BreakerOpenError,
    BudgetError,
    InvalidOutputError,
    ModelAuthError,
    ModelError,
    ModelRateLimitError,
    ModelTimeoutError,
    ModelUnavailableError,
    NoModelError,
    PausedError,
    PipeError,
    TrustError,
)
from gnomon.domain.instants import DAY
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.domain.policy import Role
from gnomon.testing.models import ScriptedModel, hangs, says
from tests.model_kit import World, ask

DOWN = ModelUnavailableError("It is down.", next_step="Start it.")


async def chat(broker: ModelBroker, request: ModelRequest | None = None) -> ModelReply:
    return await broker.complete("resident", "chat", "main", request or ask())


async def reflect(broker: ModelBroker, request: ModelRequest | None = None) -> ModelReply:
    return await broker.complete("resident", "reflection", "main", request or ask())


async def fail(broker: ModelBroker, error: type[ModelError] = ModelUnavailableError) -> None:
    with pytest.raises(error):
        await reflect(broker)


# --- metering ------------------------------------------------------------------------------


async def test_each_call_leaves_one_spend() -> None:
    world = World(ScriptedModel())
    world.prices = Prices(usd_per_million_in=2.0, usd_per_million_out=10.0)
    reply = replace(says("hi", tokens=0), tokens_in=1_000, tokens_out=500, tokens_cached=100)
    world.model = world.takes(2.5, reply)
    request = replace(ask(), prompt="chat-system@default#abc")
    await world.broker().complete(
        "resident", "chat", "main", request, run="run-1", change_id="change-1"
    )
    [spend] = world.spends
    assert (spend.role, spend.purpose, spend.agent) == ("resident", "chat", "main")
    assert (spend.tokens_in, spend.tokens_out, spend.tokens_cached) == (1_000, 500, 100)
    assert spend.cost_usd == 0.007
    assert spend.seconds == 2.5
    assert (spend.prompt, spend.run, spend.change_id) == (
        "chat-system@default#abc",
        "run-1",
        "change-1",
    )
    assert spend.error is None


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (DOWN, "model-unavailable"),
        (ModelAuthError("no"), "model-auth"),
        (PipeError("gone"), "model-unavailable"),
    ],
)
async def test_a_failed_call_is_metered_with_its_error(raised: Exception, code: str) -> None:
    world = World(ScriptedModel([raised]))
    with pytest.raises(ModelError) as caught:
        await chat(world.broker())
    assert caught.value.code == code
    [spend] = world.spends
    assert (spend.error, spend.tokens_in, spend.tokens_out) == (code, None, None)


async def test_a_cancelled_call_is_metered_and_is_no_failure() -> None:
    world = World(ScriptedModel([hangs], then="hi"))
    broker = world.broker()
    call = asyncio.create_task(reflect(broker))
    while not world.model.requests:
        await asyncio.sleep(0)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert [spend.error for spend in world.spends] == ["cancelled"]
    assert broker.snapshot().breaker.failures == 0
    await reflect(broker)


async def test_a_fault_of_ours_is_metered_and_raised_as_it_is() -> None:
    world = World(ScriptedModel([ZeroDivisionError()]))
    with pytest.raises(ZeroDivisionError):
        await chat(world.broker())
    assert [spend.error for spend in world.spends] == ["bug"]


async def test_unknown_prices_are_null_and_free_is_zero() -> None:
    world = World(ScriptedModel(then=says("hi", tokens=5)))
    world.prices = Prices()
    await chat(world.broker())
    world.prices = Prices(usd_per_million_in=0.0, usd_per_million_out=0.0)
    await chat(world.broker())
    assert [spend.cost_usd for spend in world.spends] == [None, 0.0]


async def test_uncounted_tokens_are_null_in_the_line_and_estimated_in_the_budget() -> None:
    world = World(ScriptedModel(then=says("x" * 300)))
    broker = world.broker()
    await chat(broker, ask("y" * 600))
    [spend] = world.spends
    assert (spend.tokens_in, spend.tokens_out) == (None, None)
    assert broker.budget_view().tokens_spent_today >= 300


async def test_a_model_that_never_answers_is_left_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gnomon.brokers.model.KILL_GRACE_SECONDS", 0.05)
    world = World(ScriptedModel(then=hangs))
    with pytest.raises(ModelTimeoutError):
        await chat(world.broker(), ask(timeout=0.05))
    assert [spend.error for spend in world.spends] == ["model-timeout"]


@pytest.mark.parametrize(
    ("asked", "operators", "given"),
    [(120.0, 300.0, 300.0), (1e9, 60.0, 60.0), (5.0, 60.0, 5.0), (90.0, 60.0, 60.0)],
)
async def test_the_operators_time_bounds_every_call(
    asked: float, operators: float, given: float
) -> None:
    model = ScriptedModel(then="hi")
    broker = World(model).broker()
    await broker.use(InForce(name="m", kind="local", model=model, timeout_seconds=operators))
    await chat(broker, ask(timeout=asked))
    assert model.requests[0].timeout_seconds == given


# --- refusals ------------------------------------------------------------------------------


async def test_a_role_without_the_right_makes_no_call() -> None:
    world = World(ScriptedModel(then="hi"))
    broker = world.broker()

    def refuse(role: Role, op: str) -> None:
        raise TrustError("no", role=role, op=op)

    broker._permit = refuse
    with pytest.raises(TrustError):
        await chat(broker)
    assert world.model.requests == []


async def test_a_pause_stops_chat_and_background_alike() -> None:
    world = World(ScriptedModel(then="hi"), paused="2026-06-01T00:00:00.000Z")
    broker = world.broker()
    for purpose in ("chat", "reflection"):
        with pytest.raises(PausedError):
            await broker.complete("resident", purpose, "main", ask())
    assert broker.skip_reason() == "paused"
    assert (world.model.requests, world.spends) == ([], [])


async def test_without_a_model_nothing_is_called_and_nothing_costs() -> None:
    world = World(ScriptedModel())
    broker = world.broker()
    await broker.use(NO_MODEL)
    with pytest.raises(NoModelError):
        await chat(broker)
    assert broker.skip_reason() == "no-model"
    assert broker.standing_cost().usd_per_hour == 0.0
    assert broker.model_view().loaded is False


async def test_the_days_tokens_end_all_calls_and_it_is_said_once() -> None:
    world = World(ScriptedModel(then=replace(says("hi"), tokens_in=5, tokens_out=64)))
    world.limits = Limits(usd_per_day=1.0, tokens_per_day=150, max_duty_cycle=1.0)
    broker = world.broker()
    for _ in range(2):
        await reflect(broker)
    with pytest.raises(BudgetError) as caught:
        await reflect(broker)
    assert caught.value.facts["bound"] == "tokens-per-day"
    for _ in range(3):
        with pytest.raises(BudgetError):
            await reflect(broker)
    assert len(world.said) == 1
    assert broker.skip_reason() == "budget"
    assert broker.budget_view().tokens_spent_today <= 150
    world.clock.advance(DAY / 1000)
    await chat(broker)


async def test_dollars_are_never_overspent_by_parallel_calls() -> None:
    world = World(ScriptedModel(), slots=8)
    world.prices = Prices(usd_per_million_in=0.0, usd_per_million_out=10_000.0)
    world.limits = Limits(usd_per_day=2.0, tokens_per_day=1_000_000, max_duty_cycle=1.0)
    reply = replace(says("hi"), tokens_in=10, tokens_out=64)

    async def slowly(_request: ModelRequest) -> ModelReply:
        await asyncio.sleep(0)
        return reply

    world.model = ScriptedModel(then=slowly)
    broker = world.broker()
    done = await asyncio.gather(*(chat(broker) for _ in range(8)), return_exceptions=True)
    assert sum(isinstance(one, ModelReply) for one in done) == 3  # 0.64 dollars each
    assert broker.budget_view().usd_spent_today == pytest.approx(1.92)


async def test_a_free_model_is_not_held_up_by_dollars() -> None:
    world = World(ScriptedModel(then="hi"))
    world.limits = Limits(usd_per_day=0.0, tokens_per_day=100_000, max_duty_cycle=0.1)
    await chat(world.broker())


# --- the duty cycle ------------------------------------------------------------------------


async def test_the_background_gets_its_share_of_the_hour_and_chat_is_not_counted() -> None:
    world = World(ScriptedModel())
    world.model = world.takes(60.0, says("hi"))
    broker = world.broker()
    for _ in range(6):
        await reflect(broker)
    with pytest.raises(BudgetError) as caught:
        await reflect(broker)
    assert caught.value.facts["bound"] == "duty-cycle"
    assert broker.skip_reason() == "duty-cycle"
    assert broker.budget_view().duty_cycle_left_seconds == 0.0
    for _ in range(5):
        await chat(broker)
    assert world.said == []


async def test_a_call_is_cut_where_the_hour_ends_and_that_is_no_failure() -> None:
    seen: list[float] = []
    world = World(ScriptedModel())

    def entry(request: ModelRequest) -> ModelReply | BaseException:
        seen.append(request.timeout_seconds)
        world.clock.advance(min(request.timeout_seconds, 100.0))
        return ModelTimeoutError("late") if request.timeout_seconds < 100 else says("hi")

    world.model = ScriptedModel(then=entry)
    world.limits = Limits(usd_per_day=1.0, tokens_per_day=100_000, max_duty_cycle=0.04)
    broker = world.broker()
    await reflect(broker, ask(timeout=120))
    world.clock.advance(10)
    broker._gate._budget = replace(broker._gate._budget, typical_seconds=1.0)
    with pytest.raises(BudgetError):
        await reflect(broker, ask(timeout=120))
    assert seen == [120.0, pytest.approx(44.0)]
    assert broker.snapshot().breaker.failures == 0
    assert broker.budget_view().duty_cycle_left_seconds == 0.0


# --- the breaker ---------------------------------------------------------------------------


async def test_three_failures_open_it_and_it_is_said_once() -> None:
    world = World(ScriptedModel(then=DOWN))
    broker = world.broker()
    for _ in range(3):
        await fail(broker)
    for _ in range(5):
        await fail(broker, BreakerOpenError)
    assert len(world.model.requests) == 3
    assert world.said == [DOWN]
    assert broker.skip_reason() == "model-error"
    assert broker.budget_view().breaker_open_until is not None


async def test_a_refused_key_opens_it_at_once_and_names_the_fix() -> None:
    world = World(ScriptedModel(then=ModelAuthError("Refused.", next_step="Set GNOMON_MODEL_KEY.")))
    broker = world.broker()
    await fail(broker, ModelAuthError)
    with pytest.raises(BreakerOpenError, match="GNOMON_MODEL_KEY"):
        await reflect(broker)
    assert len(world.model.requests) == 1


async def test_a_trial_is_made_when_the_wait_is_over_and_an_operator_is_near() -> None:
    world = World(ScriptedModel([DOWN, DOWN, DOWN, DOWN], then="back"), present=False)
    broker = world.broker()
    for _ in range(3):
        await fail(broker)
    world.clock.advance(3600 * 24)
    await fail(broker, BreakerOpenError)
    world.present = True
    await fail(broker)  # the trial fails, and the wait is longer
    world.clock.advance(60)
    await fail(broker, BreakerOpenError)
    world.clock.advance(60)
    await reflect(broker)
    await reflect(broker)
    assert len(world.said) == 1


async def test_replies_that_fit_no_schema_hold_the_background_back_and_not_the_operator() -> None:
    world = World(ScriptedModel(then="no JSON"), present=False)
    broker = world.broker()
    for _ in range(3):
        await reflect(broker)
        broker.judged(fits=False)
    await fail(broker, BreakerOpenError)
    assert broker.skip_reason() == "model-error"
    assert broker.budget_view().breaker_open_until is not None
    assert [type(said) for said in world.said] == [InvalidOutputError]
    await chat(broker)
    world.clock.advance(3600 * 24 * 7)
    await fail(broker, BreakerOpenError)
    world.present = True
    await reflect(broker)  # the trial, and its answer is of no use either
    broker.judged(fits=False)
    await fail(broker, BreakerOpenError)
    world.clock.advance(120)
    await reflect(broker)
    broker.judged(fits=True)
    await reflect(broker)
    assert broker.budget_view().breaker_open_until is None


async def test_an_answer_of_use_in_between_forgives_and_another_model_is_blamed_for_nothing() -> (
    None
):
    world = World(ScriptedModel(then="no JSON"), present=False)
    broker = world.broker()
    for fits in (False, False, True, False, False):
        broker.judged(fits=fits)
    await reflect(broker)
    broker.judged(fits=False)
    await fail(broker, BreakerOpenError)
    assert broker.snapshot().unfit.failures == 3
    again = world.broker(state=broker.snapshot())
    await fail(again, BreakerOpenError)
    await broker.use(broker.in_force)
    await reflect(broker)


async def test_only_one_trial_runs_at_a_time() -> None:
    world = World(ScriptedModel([DOWN, DOWN, DOWN, hangs], then="back"), slots=4)
    broker = world.broker()
    for _ in range(3):
        await fail(broker)
    world.clock.advance(600)
    trial = asyncio.create_task(chat(broker))
    while len(world.model.requests) < 4:
        await asyncio.sleep(0)
    with pytest.raises(BreakerOpenError):
        await chat(broker)
    trial.cancel()
    await asyncio.gather(trial, return_exceptions=True)
    await chat(broker)


async def test_the_operators_chat_need_not_wait_for_hours() -> None:
    world = World(ScriptedModel([DOWN] * 3, then="back"))
    broker = world.broker()
    for _ in range(3):
        await fail(broker)
    with pytest.raises(BreakerOpenError):
        await chat(broker)
    world.clock.advance(15)
    assert (await chat(broker)).content == "back"


async def test_a_rate_limits_wait_is_kept_and_needs_nobody() -> None:
    limited = ModelRateLimitError("slow", retry_after_seconds=100.0)
    world = World(ScriptedModel([limited], then="ok"), present=False)
    broker = world.broker()
    await fail(broker, ModelRateLimitError)
    world.clock.advance(99)
    await fail(broker, BreakerOpenError)
    world.clock.advance(1)
    await reflect(broker)


async def test_with_nobody_there_for_a_week_a_failing_model_is_called_three_times() -> None:
    world = World(ScriptedModel(then=DOWN), present=False)
    broker = world.broker()
    for _ in range(7 * 24 * 30):  # a tick every 120 s
        with pytest.raises(ModelError):
            await reflect(broker)
        world.clock.advance(120)
    assert len(world.model.requests) == 3
    assert len(world.spends) == 3


# --- what survives a restart ---------------------------------------------------------------


async def test_counters_and_breaker_survive_a_restart_and_a_reboot() -> None:
    world = World(ScriptedModel())
    world.model = world.takes(100.0, says("hi", tokens=50))
    broker = world.broker()
    for _ in range(2):
        await reflect(broker)
    world.model = ScriptedModel(then=DOWN)
    await broker.use(world.in_force(world.model))
    for _ in range(3):
        await fail(broker)
    before = broker.budget_view()
    state = broker.snapshot()
    world.clock.reboot(30)
    again = world.broker(state)
    after = again.budget_view()
    assert after.tokens_spent_today == before.tokens_spent_today
    assert after.duty_cycle_left_seconds == before.duty_cycle_left_seconds == 160.0
    assert after.breaker_open_until == before.breaker_open_until
    await fail(again, BreakerOpenError)
    world.clock.advance(3660)  # the hour, and the minute that work is counted in
    assert again.budget_view().duty_cycle_left_seconds == 360.0


async def test_standing_cost_is_what_the_last_hour_took_and_never_a_projection() -> None:
    world = World(ScriptedModel())
    world.prices = Prices(usd_per_million_in=1.0, usd_per_million_out=1.0)
    world.model = world.takes(1.0, says("hi", tokens=500))
    broker = world.broker()
    assert broker.standing_cost().tokens_per_hour == 0.0
    await reflect(broker)
    for minutes in (0, 11, 40):  # it falls only when what was used is an hour old
        world.clock.advance(minutes * 60)
        cost = broker.standing_cost()
        assert (cost.tokens_per_hour, cost.usd_per_hour) == (1_000.0, 0.001)
        assert cost.seconds_per_hour == pytest.approx(1.0)
    world.clock.advance(11 * 60)
    assert broker.standing_cost().tokens_per_hour == 0.0


async def test_standing_cost_is_not_more_than_what_an_hour_may_take() -> None:
    world = World(ScriptedModel())
    world.model = world.takes(100.0, says("hi", tokens=500))
    broker = world.broker()
    for _ in range(3):
        await reflect(broker)
    with pytest.raises(BudgetError):
        await reflect(broker)
    assert broker.standing_cost().seconds_per_hour == pytest.approx(300.0)


# --- the queue and the swap ------------------------------------------------------------------


class Gate:
    """A model whose calls end when the test lets them; notes who was in it."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.running = 0
        self.most = 0
        self.go = asyncio.Event()

    async def complete(self, request: ModelRequest, on_text: object = None) -> ModelReply:
        self.order.append(request.messages[0].content)
        self.running += 1
        self.most = max(self.most, self.running)
        await self.go.wait()
        self.running -= 1
        return says("hi")


async def started(gate: Gate, count: int = 1) -> None:
    async with asyncio.timeout(5):
        while len(gate.order) < count:
            await asyncio.sleep(0)


async def test_one_call_at_a_time_and_the_operator_goes_first() -> None:
    gate = Gate()
    world = World(gate)
    broker = world.broker()
    first = asyncio.create_task(reflect(broker, ask("running")))
    await started(gate)
    waiting = [
        asyncio.create_task(reflect(broker, ask("background 1"))),
        asyncio.create_task(reflect(broker, ask("background 2"))),
        asyncio.create_task(chat(broker, ask("chat 1"))),
        asyncio.create_task(chat(broker, ask("chat 2"))),
    ]
    await asyncio.sleep(0)
    gate.go.set()
    await asyncio.gather(first, *waiting)
    assert gate.order == ["running", "chat 1", "chat 2", "background 1", "background 2"]
    assert gate.most == 1


async def test_a_server_takes_several_calls_of_which_one_is_background() -> None:
    gate = Gate()
    world = World(gate, slots=4)
    broker = world.broker()
    tasks = [asyncio.create_task(reflect(broker, ask(f"background {n}"))) for n in (1, 2)]
    tasks += [asyncio.create_task(chat(broker, ask(f"chat {n}"))) for n in (1, 2)]
    await started(gate, 3)
    assert sorted(gate.order) == ["background 1", "chat 1", "chat 2"]
    gate.go.set()
    await asyncio.gather(*tasks)


async def test_whoever_stops_waiting_holds_nobody_up() -> None:
    gate = Gate()
    broker = World(gate).broker()
    first = asyncio.create_task(chat(broker, ask("running")))
    await started(gate)
    tired = [asyncio.create_task(chat(broker, ask("tired"))) for _ in range(3)]
    last = asyncio.create_task(chat(broker, ask("last")))
    await asyncio.sleep(0)
    for task in tired:
        task.cancel()
    gate.go.set()
    await asyncio.gather(first, *tired, return_exceptions=True)
    await last
    assert gate.order == ["running", "last"]


async def test_a_call_whose_turn_came_as_it_was_cancelled_gives_the_turn_back() -> None:
    gate = Gate()
    broker = World(gate).broker()
    first = asyncio.create_task(chat(broker, ask("running")))
    await started(gate)
    second = asyncio.create_task(chat(broker, ask("second")))
    await asyncio.sleep(0)
    gate.go.set()
    await first
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    assert (await chat(broker, ask("third"))).content == "hi"


async def test_a_queue_that_is_full_refuses() -> None:
    gate = Gate()
    broker = World(gate).broker()
    tasks = [asyncio.create_task(chat(broker)) for _ in range(65)]
    await started(gate)
    with pytest.raises(ModelUnavailableError, match="wait"):
        await chat(broker)
    gate.go.set()
    await asyncio.gather(*tasks)


class FakeHost:
    def __init__(self) -> None:
        self.loaded = True
        self.closed = 0
        self.idle_asked: list[float] = []

    async def end_if_idle(self, now: float) -> None:
        self.idle_asked.append(now)

    async def close(self) -> None:
        self.loaded = False
        self.closed += 1


async def test_a_swap_lets_what_runs_finish_and_moves_what_waits() -> None:
    gate, host = Gate(), FakeHost()
    world = World(gate)
    broker = world.broker()
    old = InForce(name="old", kind="local", model=gate, host=host)
    await broker.use(old)
    running = asyncio.create_task(chat(broker, ask("running")))
    await started(gate)
    waiting = asyncio.create_task(chat(broker, ask("waiting")))
    await asyncio.sleep(0)
    new = ScriptedModel(then="from the new one")
    swap = asyncio.create_task(broker.use(world.in_force(new, "new")))
    await asyncio.sleep(0)
    assert broker.model_view().name == "new"
    gate.go.set()
    await swap
    assert (await running).content == "hi"
    assert (await waiting).content == "from the new one"
    assert gate.order == ["running"]
    assert host.closed == 1


async def test_a_swap_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gnomon.brokers.model.DRAIN_SECONDS", 0.05)
    gate, host = Gate(), FakeHost()
    world = World(gate)
    broker = world.broker()
    await broker.use(InForce(name="old", kind="local", model=gate, host=host))
    running = asyncio.create_task(chat(broker))
    await started(gate)
    await broker.use(world.in_force(ScriptedModel(then="new")))
    assert host.closed == 1
    gate.go.set()
    await running


async def test_a_swap_closes_the_breaker() -> None:
    world = World(ScriptedModel(then=DOWN))
    broker = world.broker()
    for _ in range(3):
        await fail(broker)
    await broker.use(world.in_force(ScriptedModel(then="fine")))
    assert (await reflect(broker)).content == "fine"


async def test_the_beat_ends_an_idle_host_through_the_broker() -> None:
    host = FakeHost()
    world = World(ScriptedModel())
    broker = world.broker()
    await broker.use(InForce(name="m", kind="demo", model=ScriptedModel(), host=host))
    await broker.end_if_idle()
    assert host.idle_asked == [world.clock.boottime()]
    await broker.close()
    assert not broker.model_view().loaded


@pytest.mark.parametrize("said", [2**53 - 1, 2**64, -1, -(10**12)])
async def test_a_count_that_cannot_be_moves_no_budget(said: int) -> None:
    """A server that says so must not use up the day, nor refill it, nor keep a turn from its
    ledger.
    """
    world = World(ScriptedModel())
    world.limits = Limits(usd_per_day=1.0, tokens_per_day=10_000, max_duty_cycle=0.1)
    reply = replace(says("hi", tokens=0), tokens_in=said, tokens_out=said, tokens_cached=said)
    world.model = ScriptedModel([reply] * 3)
    broker = world.broker()
    for _ in range(3):
        answer = await chat(broker)
        assert (answer.content, answer.tokens_in, answer.tokens_out) == ("hi", None, None)
    assert 0 < broker.budget_view().tokens_spent_today < 1_000
    assert {spend.tokens_cached for spend in world.spends} == {None}


async def test_a_models_name_is_no_longer_than_a_name() -> None:
    """It stands on the spend line, the run's, and every commit line."""
    world = World(ScriptedModel([replace(says("hi"), model="M" * 3_000_000 + "\n\0")]))
    assert len((await chat(world.broker())).model) <= 200
    [spend] = world.spends
    assert len(spend.model) <= 200


async def test_another_model_is_called_beside_under_the_same_budget_and_blamed_for_itself() -> None:
    world = World(ScriptedModel(then="fine"))
    broker = world.broker()
    failing = ScriptedModel(then=ModelAuthError("No key."))
    beside = world.in_force(failing, name="another")
    for _ in range(2):
        with pytest.raises(ModelAuthError):
            await broker.complete("refiner", "refine", "main", ask(), beside=beside)
    assert (await reflect(broker)).content == "fine", "a refused key would have opened its breaker"
    assert [spend.model for spend in world.spends] == ["another", "another", "scripted"]
    world.paused = "noon"
    with pytest.raises(PausedError):
        await broker.complete("refiner", "refine", "main", ask(), beside=beside)
