"""May this call be made? The gate holds the counters and the breaker, and refuses.

It decides nothing by itself: `model_budget` and `model_breaker` do, purely.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from gnomon.brokers import model_breaker, model_budget
from gnomon.brokers.model_breaker import Breaker
from gnomon.brokers.model_budget import Ask, BudgetState, Limits, Now, Refusal, Used
from gnomon.brokers.model_call import Call, Outcome, counted_tokens, prompt_tokens
from gnomon.brokers.model_in_force import InForce
from gnomon.domain.errors import (
    BreakerOpenError,
    BudgetError,
    GnomonError,
    ModelAuthError,
    ModelError,
    ModelRateLimitError,
    NoModelError,
    PausedError,
)
from gnomon.domain.instants import DAY, Millis, in_words, iso
from gnomon.domain.messages import ModelRequest
from gnomon.domain.ports import Clock
from gnomon.domain.records import SkipReason
from gnomon.domain.views import BudgetView, StandingCost


class BrokerState(msgspec.Struct, frozen=True, kw_only=True):
    """What survives a restart. Boot times are moved when it is taken up again."""

    saved_wall: Millis = Millis(0)
    saved_boot: float = 0.0
    budget: BudgetState = BudgetState()
    breaker: Breaker = Breaker()
    unfit: Breaker = Breaker()
    """Of background replies that fit no schema: such a model answers, and to no use."""


@dataclass(frozen=True)
class Surroundings:
    """What the gate asks of the gateway.

    `paused` gives the text of when a pause ends, or None; `operator_present` whether one was
    near lately; `say` is told once when a day's budget is gone and once each time the breaker
    opens.
    """

    paused: Callable[[], str | None]
    operator_present: Callable[[], bool]
    say: Callable[[GnomonError], None]


class ModelGate:
    """The counters of one gateway. Every method is O(1)."""

    def __init__(
        self, clock: Clock, limits: Limits, around: Surroundings, state: BrokerState | None
    ) -> None:
        self._clock = clock
        self._limits = limits
        self._around = around
        self._budget, self._breaker, self._unfit = _restored(state, self.now())
        self._reserved_tokens = 0
        self._reserved_usd = 0.0
        self._trial_running = False
        self._said_day: int | None = None

    def now(self) -> Now:
        return Now(self._clock.wall(), self._clock.boottime())

    def snapshot(self) -> BrokerState:
        now = self.now()
        return BrokerState(
            saved_wall=now.wall,
            saved_boot=now.boot,
            budget=self._budget,
            breaker=self._breaker,
            unfit=self._unfit,
        )

    # --- before a call -----------------------------------------------------------------------

    def admit(self, call: Call, model: InForce) -> None:
        """As `check`, and say once that the day's budget is gone."""
        try:
            self.check(call, model)
        except BudgetError as error:
            day = model_budget.of_today(self._budget, self.now()).day
            if error.facts["bound"] != "duty-cycle" and self._said_day != day:
                self._said_day = day
                self._around.say(error)
            raise

    def check(self, call: Call, model: InForce) -> None:
        """Raise PausedError, NoModelError, BreakerOpenError or BudgetError, or let it pass."""
        until = self._around.paused()
        if until is not None:
            raise PausedError(
                f"Gnomon is paused until {in_words(until)}.",
                next_step="`gnomon resume` lets it go on.",
                until=until,
            )
        if model.model is None:
            raise NoModelError(
                "No model is in use.", next_step="Choose one: gnomon model list, gnomon model use."
            )
        self._check_breaker(call)
        self._check_budget(call, model)

    def skip_reason(self, purpose: str, model: InForce) -> SkipReason | None:
        """Why a typical background call would be refused, in the words of a tick's line."""
        typical = max(1, round(self._budget.typical_tokens))
        request = ModelRequest(messages=(), purpose=purpose, max_tokens=typical)
        try:
            self.check(Call("resident", purpose, "", request), model)
        except ModelError as error:
            return _skip_reason(error)
        return None

    def background_seconds_left(self) -> float:
        return model_budget.duty_left(self._budget, self._limits, self.now())

    def _check_breaker(self, call: Call) -> None:
        """What does not fit a background's schema may still answer its operator."""
        now = self.now()
        for breaker in (self._breaker, self._unfit) if call.background else (self._breaker,):
            stand = self._stand(breaker, now, foreground=not call.background)
            if stand == "open" or (stand == "trial" and self._trial_running):
                raise BreakerOpenError(
                    f"The model is left alone for now, after failure {breaker.failures}: "
                    f"{breaker.why}",
                    next_step=breaker.next_step,
                    until=self._open_until(now),
                    failures=breaker.failures,
                )

    def _stand(self, breaker: Breaker, now: Now, *, foreground: bool) -> model_breaker.Stand:
        return model_breaker.stand(
            breaker,
            now.boot,
            foreground=foreground,
            operator_present=self._around.operator_present(),
        )

    def _check_budget(self, call: Call, model: InForce) -> None:
        tokens, usd = _worst(call, model)
        ask = Ask(
            background=call.background,
            tokens=tokens + self._reserved_tokens,
            usd=usd + self._reserved_usd if usd > 0 else 0.0,
        )
        refusal = model_budget.refusal(self._budget, self._limits, self.now(), ask)
        if refusal is not None:
            raise _budget_error(refusal, self._limits)

    # --- during and after --------------------------------------------------------------------

    @contextmanager
    def reserved(self, call: Call, model: InForce) -> Generator[None]:
        """Hold the worst case while the call runs, so that parallel calls cannot overspend."""
        tokens, usd = _worst(call, model)
        held_back = (self._breaker, self._unfit) if call.background else (self._breaker,)
        trial = any(breaker.open_until is not None for breaker in held_back)
        self._reserved_tokens += tokens
        self._reserved_usd += usd
        self._trial_running = self._trial_running or trial
        try:
            yield
        finally:
            self._reserved_tokens -= tokens
            self._reserved_usd -= usd
            if trial:
                self._trial_running = False

    def succeeded(self) -> None:
        self._breaker = Breaker()

    def swapped(self) -> None:
        """Another model: nothing is held against it."""
        self._breaker = self._unfit = Breaker()

    def failed(self, error: ModelError) -> None:
        """Count a failure; a budget's cut is ours, not the model's."""
        if not isinstance(error, BudgetError):
            self._breaker = self._counted(self._breaker, error)

    def judged(self, error: ModelError | None) -> None:
        """Whether a background's whole answer was of use; only who asked for it can tell."""
        self._unfit = Breaker() if error is None else self._counted(self._unfit, error)

    def _counted(self, breaker: Breaker, error: ModelError) -> Breaker:
        after = model_breaker.after_failure(
            breaker,
            self._clock.boottime(),
            why=error.message,
            next_step=error.next_step,
            at_once=isinstance(error, ModelAuthError | NoModelError),
            retry_after=_retry_after(error),
        )
        if after.open_until is not None and breaker.open_until is None:
            self._around.say(error)
        return after

    def settle(self, call: Call, model: InForce, outcome: Outcome) -> None:
        """Count what a call took; estimates where the server did not say."""
        tokens_in, tokens_out = counted_tokens(call.request, outcome)
        used = Used(
            background=call.background,
            seconds=outcome.seconds,
            tokens=tokens_in + tokens_out,
            usd=model.prices.cost(tokens_in, tokens_out) or 0.0,
        )
        self._budget = model_budget.settle(self._budget, self.now(), used)

    # --- what it tells -----------------------------------------------------------------------

    def budget_view(self) -> BudgetView:
        now = self.now()
        today = model_budget.of_today(self._budget, now)
        return BudgetView(
            usd_per_day=self._limits.usd_per_day,
            usd_spent_today=round(today.usd, 6),
            tokens_per_day=self._limits.tokens_per_day,
            tokens_spent_today=today.tokens,
            duty_cycle_left_seconds=round(model_budget.duty_left(today, self._limits, now), 3),
            breaker_open_until=self._open_until(now),
        )

    def standing_cost(self, model: InForce) -> StandingCost:
        """What the background used in the last hour; dollars only where there is a price."""
        hour = model_budget.last_hour(self._budget, self.now())
        priced = model.kind == "none" or model.prices.cost(0, 0) is not None
        return StandingCost(
            tokens_per_hour=float(hour.tokens),
            usd_per_hour=round(hour.usd, 6) if priced else None,
            seconds_per_hour=round(hour.seconds, 3),
        )

    def _open_until(self, now: Now) -> str | None:
        """Null only while calls are free to be made: a back-off that is over, but waits for an
        operator before its trial, still shows when it was over.
        """
        ends = [
            breaker.open_until
            for breaker in (self._breaker, self._unfit)
            if breaker.open_until is not None
            and self._stand(breaker, now, foreground=False) != "closed"
        ]
        return iso(Millis(now.wall + round((max(ends) - now.boot) * 1000))) if ends else None


def _restored(state: BrokerState | None, now: Now) -> tuple[BudgetState, Breaker, Breaker]:
    if state is None:
        return BudgetState(day=now.wall // DAY, since=now.boot), Breaker(), Breaker()
    away = max(0, now.wall - state.saved_wall) / 1000
    shift = now.boot - state.saved_boot - away
    breaker, unfit = (model_breaker.shifted(each, shift) for each in (state.breaker, state.unfit))
    return model_budget.shifted(state.budget, shift), breaker, unfit


def _worst(call: Call, model: InForce) -> tuple[int, float]:
    """The most that this call can take, in tokens and dollars."""
    prompt, answer = prompt_tokens(call.request), call.request.max_tokens
    return prompt + answer, model.prices.cost(prompt, answer) or 0.0


def _retry_after(error: ModelError) -> float:
    said = error.facts.get("retry_after_seconds")
    if isinstance(error, ModelRateLimitError) and isinstance(said, int | float):
        return float(said)
    return 0.0


def _skip_reason(error: ModelError) -> SkipReason:
    match error:
        case PausedError():
            return "paused"
        case NoModelError():
            return "no-model"
        case BudgetError() if error.facts["bound"] == "duty-cycle":
            return "duty-cycle"
        case BudgetError():
            return "budget"
        case _:
            return "model-error"


def _budget_error(refusal: Refusal, limits: Limits) -> BudgetError:
    match refusal.bound:
        case "usd-per-day":
            words = f"Today's budget of ${limits.usd_per_day:.2f} is spent."
            step = "Raise budget.usd_per_day in config.toml, or wait."
        case "tokens-per-day":
            words = f"Today's {limits.tokens_per_day} tokens are used."
            step = "Raise budget.tokens_per_day in config.toml, or wait."
        case "duty-cycle":
            words = f"The background had its {limits.duty_seconds:.0f} seconds of this hour."
            step = "It goes on by itself."
    return BudgetError(words, next_step=step, bound=refusal.bound, until=iso(refusal.until))
