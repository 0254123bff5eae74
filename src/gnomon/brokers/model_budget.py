"""What a model call may cost, decided before it is made. Pure: time comes as an argument.

Three bounds. `usd_per_day` and `tokens_per_day` hold for all calls of a UTC day, foreground
and background together. The duty cycle holds for background calls alone: at most
`max_duty_cycle` x 3600 seconds of inference in any sliding hour, full at start (page 5), so
that a slow model stretches its own cadence and the machine stays cool.

The hour is counted in boot time, which no clock step moves and which goes on in sleep.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec

from gnomon.domain.instants import DAY, Millis
from gnomon.domain.records import Spend

HOUR_SECONDS = 3600.0
BUCKET_SECONDS = 60.0
"""Work is kept in buckets of a minute: at most 61 of them, whatever the cadence."""
TYPICAL_WEIGHT = 0.3
"""How much the newest background call moves the typical length (exponential mean)."""
LEAST_SECONDS = 1.0
"""A background call is not begun with less duty cycle left than this."""
ROUNDING = 1e-6
"""Sums of seconds are compared with this much slack."""

Bound = Literal["usd-per-day", "tokens-per-day", "duty-cycle"]


class Now(msgspec.Struct, frozen=True):
    """One moment on two clocks: UTC wall time, and seconds since boot."""

    wall: Millis
    boot: float


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    usd_per_day: float
    tokens_per_day: int
    max_duty_cycle: float

    @property
    def duty_seconds(self) -> float:
        """Background inference allowed in any sliding hour."""
        return self.max_duty_cycle * HOUR_SECONDS


class Worked(msgspec.Struct, frozen=True, kw_only=True):
    """Background work that ended before `until` (boot seconds, a minute after the first)."""

    until: float
    seconds: float
    tokens: int
    usd: float


class BudgetState(msgspec.Struct, frozen=True, kw_only=True):
    """All counters. `day` is the UTC day that `usd` and `tokens` belong to."""

    day: int = 0
    usd: float = 0.0
    tokens: int = 0
    worked: tuple[Worked, ...] = ()
    typical_seconds: float = 0.0
    typical_tokens: float = 0.0
    """Of background calls: exponential means."""
    since: float = 0.0
    """Boot seconds from which `worked` is a whole record."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """The worst that a call, with those in flight, can add to today."""

    background: bool
    tokens: int
    usd: float


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """What a call took. Unknown counts arrive here as estimates."""

    background: bool
    seconds: float
    tokens: int
    usd: float


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why not, and when again: wall time."""

    bound: Bound
    until: Millis


def of_today(state: BudgetState, now: Now) -> BudgetState:
    """Start a new day at UTC midnight. A clock that steps back keeps what was spent."""
    today = now.wall // DAY
    if today > state.day:
        return msgspec.structs.replace(state, day=today, usd=0.0, tokens=0)
    return msgspec.structs.replace(state, day=today)


def refusal(state: BudgetState, limits: Limits, now: Now, ask: Ask) -> Refusal | None:
    """The bound that forbids the call, or None."""
    today = of_today(state, now)
    midnight = Millis((now.wall // DAY + 1) * DAY)
    if today.tokens + ask.tokens > limits.tokens_per_day:
        return Refusal(bound="tokens-per-day", until=midnight)
    if ask.usd > 0 and today.usd + ask.usd > limits.usd_per_day:
        return Refusal(bound="usd-per-day", until=midnight)
    if ask.background:
        return _duty_refusal(state, limits, now)
    return None


def duty_left(state: BudgetState, limits: Limits, now: Now) -> float:
    """Seconds of background inference that this hour still allows."""
    return max(0.0, _duty_balance(state, limits, now))


def settle(state: BudgetState, now: Now, used: Used) -> BudgetState:
    """The counters after a call that ended now. O(1): at most 61 buckets are kept."""
    today = of_today(state, now)
    counted = msgspec.structs.replace(
        today, usd=round(today.usd + used.usd, 6), tokens=today.tokens + used.tokens
    )
    if not used.background:
        return counted
    return msgspec.structs.replace(
        counted,
        worked=_add(_within_hour(state, now), now, used),
        typical_seconds=_mean(state.typical_seconds, used.seconds),
        typical_tokens=_mean(state.typical_tokens, used.tokens),
    )


def recounted(spent: Iterable[Spend], limits: Limits, now: Now) -> BudgetState:
    """The counters anew, from today's lines of the spend ledger, where the kept ones are lost.

    What is not known counts as used: the hour's background share, and the whole day's bound for
    a call that left this machine and whose price or tokens no line tells.
    """
    usd, tokens = 0.0, 0
    for line in spent:
        known = line.tokens_in is not None and line.tokens_out is not None
        unpriced, untold = limits.usd_per_day, limits.tokens_per_day
        dear = unpriced if line.off_machine else 0.0
        usd += dear if line.cost_usd is None else line.cost_usd
        if known or line.off_machine:
            tokens += (line.tokens_in or 0) + (line.tokens_out or 0) if known else untold
    share = Worked(until=now.boot, seconds=limits.duty_seconds, tokens=0, usd=0.0)
    return BudgetState(
        day=now.wall // DAY, usd=round(usd, 6), tokens=tokens, worked=(share,), since=now.boot
    )


def last_hour(state: BudgetState, now: Now) -> Worked:
    """Background work of the last hour, by the same buckets that the duty cycle is held by; what
    was done since the counters began where that is less. What was not seen is not counted.
    """
    seen = [work for work in _within_hour(state, now) if work.until > state.since]
    return Worked(
        until=now.boot,
        seconds=sum(work.seconds for work in seen),
        tokens=sum(work.tokens for work in seen),
        usd=sum(work.usd for work in seen),
    )


def shifted(state: BudgetState, seconds: float) -> BudgetState:
    """The same counters with boot times moved: a restart, perhaps after a reboot."""
    return msgspec.structs.replace(
        state,
        since=state.since + seconds,
        worked=tuple(msgspec.structs.replace(w, until=w.until + seconds) for w in state.worked),
    )


def _mean(before: float, newest: float) -> float:
    return newest if before == 0 else before + TYPICAL_WEIGHT * (newest - before)


def _duty_refusal(state: BudgetState, limits: Limits, now: Now) -> Refusal | None:
    """Enough for a typical call must be left, else it would be begun only to be cut off."""
    need = min(max(LEAST_SECONDS, state.typical_seconds), limits.duty_seconds) - ROUNDING
    left = _duty_balance(state, limits, now)
    if limits.duty_seconds > 0 and left >= need:
        return None
    wait = HOUR_SECONDS
    for work in _within_hour(state, now):
        left += work.seconds
        if left >= need:
            wait = work.until + HOUR_SECONDS - now.boot
            break
    return Refusal(bound="duty-cycle", until=Millis(now.wall + round(wait * 1000)))


def _duty_balance(state: BudgetState, limits: Limits, now: Now) -> float:
    """As `duty_left`, negative where a call went on past what was left."""
    return limits.duty_seconds - sum(w.seconds for w in _within_hour(state, now))


def _within_hour(state: BudgetState, now: Now) -> tuple[Worked, ...]:
    return tuple(w for w in state.worked if w.until + HOUR_SECONDS > now.boot)


def _add(worked: tuple[Worked, ...], now: Now, used: Used) -> tuple[Worked, ...]:
    if worked and now.boot < worked[-1].until:
        last = worked[-1]
        grown = Worked(
            until=last.until,
            seconds=last.seconds + used.seconds,
            tokens=last.tokens + used.tokens,
            usd=last.usd + used.usd,
        )
        return (*worked[:-1], grown)
    fresh = Worked(
        until=now.boot + BUCKET_SECONDS, seconds=used.seconds, tokens=used.tokens, usd=used.usd
    )
    return (*worked, fresh)
