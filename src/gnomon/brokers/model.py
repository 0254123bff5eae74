"""The model broker: the only door to a model.

Every call passes, in this order: the trust table, pause, whether there is a model, the
breaker, the budget. Then it waits for its turn (the operator's chat before the background),
is checked again, is made, and is metered as one `Spend`, also when it failed.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from gnomon.brokers.model_budget import Limits
from gnomon.brokers.model_call import Call, OnText, Outcome, plausible, spend_of, timeout_of
from gnomon.brokers.model_gate import BrokerState, ModelGate, Surroundings
from gnomon.brokers.model_in_force import InForce
from gnomon.brokers.model_queue import CallQueue
from gnomon.domain.errors import (
    BudgetError,
    GnomonError,
    InvalidOutputError,
    ModelError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.domain.policy import Role
from gnomon.domain.ports import Clock, Model
from gnomon.domain.records import SkipReason, Spend
from gnomon.domain.views import BudgetView, ModelView, StandingCost

KILL_GRACE_SECONDS = 5.0
"""A model's own adapter ends a call that is overdue; this much later the broker does."""
DRAIN_SECONDS = 10.0
"""How long a model that is swapped out may finish what it began."""


@dataclass
class _Seat:
    """A model in force and the queue before it."""

    model: InForce
    queue: CallQueue


class ModelBroker:
    """One broker a gateway. `permit(role, op)` raises TrustError; `record` takes one Spend a
    call, at once and without waiting.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        limits: Limits,
        in_force: InForce,
        record: Callable[[Spend], None],
        permit: Callable[[Role, str], None],
        around: Surroundings,
        state: BrokerState | None = None,
    ) -> None:
        self._clock = clock
        self._gate = ModelGate(clock, limits, around, state)
        self._seat = _Seat(in_force, CallQueue(in_force.slots))
        self._record = record
        self._permit = permit

    async def complete(
        self,
        role: Role,
        purpose: str,
        agent: str,
        request: ModelRequest,
        on_text: OnText | None = None,
        *,
        run: str | None = None,
        change_id: str | None = None,
        beside: InForce | None = None,
    ) -> ModelReply:
        """Make one call. `purpose` decides whether the duty cycle applies, so it is the
        gateway's word and not the asking role's. `beside` is another model than the one in
        force, under the same budget; how it fares says nothing of that one, and whoever gives
        it makes one call at a time and closes it.

        Raises TrustError, PausedError, NoModelError, BreakerOpenError and BudgetError before
        a call, and what the model raises (the ModelError tree) after one.
        """
        self._permit(role, "model.complete")
        call = Call(role, purpose, agent, request, on_text, run, change_id)
        if beside is not None:
            return await self._call(call, beside)
        self._gate.admit(call, self.in_force)
        while True:
            seat = self._seat
            async with seat.queue.place(foreground=not call.background):
                if seat is self._seat:  # it was not swapped out while this call waited
                    return await self._call(call, seat.model)

    def skip_reason(self, purpose: str = "reflection") -> SkipReason | None:
        """Why a background call would be refused now, in the words of a tick's line."""
        return self._gate.skip_reason(purpose, self.in_force)

    def judged(self, *, fits: bool) -> None:
        """Whether a reflection's answer, retry and all, was of use. Three in a row that were not
        open the breaker for the background, as three failures do: a model that answers nonsense
        is not asked for ever with nobody there.
        """
        unfit = InvalidOutputError(
            "The model's replies do not fit their schema.",
            next_step="A larger model, or one that takes a JSON schema, does this reliably.",
            reason="a reflection",
            model=self.in_force.name,
        )
        self._gate.judged(None if fits else unfit)

    # --- the model in force ------------------------------------------------------------------

    @property
    def in_force(self) -> InForce:
        return self._seat.model

    async def use(self, in_force: InForce) -> None:
        """Swap the model. Calls that wait go to the new one; running ones may finish, for a
        bounded time, before the old host is closed. The breaker starts anew.
        """
        old = self._seat
        self._seat = _Seat(in_force, CallQueue(in_force.slots))
        self._gate.swapped()
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                await old.queue.drained()
        except TimeoutError:
            pass  # closing the host ends what still runs
        if old.model.host is not None:
            await old.model.host.close()

    async def end_if_idle(self) -> None:
        """For the beat: end a host that nobody asked for a while."""
        if self.in_force.host is not None:
            await self.in_force.host.end_if_idle(self._clock.boottime())

    async def close(self) -> None:
        if self.in_force.host is not None:
            await self.in_force.host.close()

    # --- what it tells -----------------------------------------------------------------------

    def snapshot(self) -> BrokerState:
        return self._gate.snapshot()

    def model_view(self) -> ModelView:
        model = self.in_force
        return ModelView(name=model.name, kind=model.kind, loaded=model.loaded)

    def budget_view(self) -> BudgetView:
        return self._gate.budget_view()

    def standing_cost(self) -> StandingCost:
        return self._gate.standing_cost(self.in_force)

    # --- one call ----------------------------------------------------------------------------

    async def _call(self, call: Call, model: InForce) -> ModelReply:
        self._gate.admit(call, model)
        outcome = Outcome()
        began = self._clock.monotonic()
        with self._gate.reserved(call, model):
            try:
                outcome.reply = plausible(await self._bounded(call, model, outcome))
            except ModelError as error:
                outcome.error = error.code
                if model is self.in_force:
                    self._gate.failed(error)
                raise
            except BaseException as error:
                outcome.error = "cancelled" if isinstance(error, asyncio.CancelledError) else "bug"
                raise
            finally:
                outcome.seconds = max(0.0, self._clock.monotonic() - began)
                self._gate.settle(call, model, outcome)
                self._record(spend_of(call, model, outcome))
        if model is self.in_force:
            self._gate.succeeded()
        return outcome.reply

    async def _bounded(self, call: Call, model: InForce, outcome: Outcome) -> ModelReply:
        """The call within its time; a background call also within what the hour still allows."""
        seconds = timeout_of(call.request, model)
        left = self._gate.background_seconds_left() if call.background else seconds
        cut = left < seconds
        request = msgspec.structs.replace(call.request, timeout_seconds=min(left, seconds))

        def count(text: str) -> None:
            outcome.text_bytes += len(text.encode())
            if call.on_text is not None:
                call.on_text(text)

        try:
            assert model.model is not None  # `admit` refused otherwise
            return await _in_time(model.model, request, count)
        except ModelTimeoutError as error:
            if not cut:
                raise
            raise BudgetError(
                "The duty cycle's hour was used up in mid-call.",
                next_step="It goes on by itself.",
                bound="duty-cycle",
                until=None,
            ) from error


async def _in_time(model: Model, request: ModelRequest, on_text: OnText) -> ModelReply:
    """A call that ends, as an answer or as an error of the model's tree."""
    try:
        async with asyncio.timeout(request.timeout_seconds + KILL_GRACE_SECONDS):
            return await model.complete(request, on_text)
    except TimeoutError as error:
        raise ModelTimeoutError(
            f"The model did not answer within {request.timeout_seconds:.0f} s.",
            next_step="Try a smaller model, or raise model.timeout_seconds in config.toml.",
            seconds=request.timeout_seconds,
        ) from error
    except ModelError:
        raise
    except GnomonError as error:  # its process or its pipe
        raise ModelUnavailableError(f"The model's process failed: {error}") from error
