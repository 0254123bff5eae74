"""Which model is in force, and what it costs."""

from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from gnomon.domain.messages import TIMEOUT_SECONDS
from gnomon.domain.ports import Model
from gnomon.domain.views import ModelKind


class Host(Protocol):
    """The part of a model that can be loaded, left idle and closed."""

    @property
    def loaded(self) -> bool: ...
    async def end_if_idle(self, now: float) -> None:
        """End it when it was idle for its time. `now` is boot time in seconds."""
        ...

    async def close(self) -> None: ...


class Prices(msgspec.Struct, frozen=True, kw_only=True):
    """US dollars for a million tokens; null is unknown, which is not free."""

    usd_per_million_in: float | None = None
    usd_per_million_out: float | None = None

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """Dollars, rounded to a millionth; null when a price is unknown."""
        if self.usd_per_million_in is None or self.usd_per_million_out is None:
            return None
        usd = tokens_in * self.usd_per_million_in + tokens_out * self.usd_per_million_out
        return round(usd / 1_000_000, 6)


FREE = Prices(usd_per_million_in=0.0, usd_per_million_out=0.0)


def prices_of(kind: ModelKind, usd_per_million_in: float, usd_per_million_out: float) -> Prices:
    """What the config's prices mean. Where it names none, what runs here is free, and what a
    remote model costs is unknown.
    """
    if usd_per_million_in > 0 or usd_per_million_out > 0:
        return Prices(
            usd_per_million_in=usd_per_million_in, usd_per_million_out=usd_per_million_out
        )
    return Prices() if kind == "remote" else FREE


@dataclass(frozen=True)
class InForce:
    """The model that is used now. `slots` is how many calls it takes at a time;
    `timeout_seconds`, the operator's `model.timeout_seconds`, bounds each. `host` is null for
    a model that lives in this process (tests, the simulator).
    """

    name: str
    kind: ModelKind
    model: Model | None
    host: Host | None = None
    prices: Prices = field(default_factory=Prices)
    slots: int = 1
    timeout_seconds: float = TIMEOUT_SECONDS

    @property
    def loaded(self) -> bool:
        return self.host.loaded if self.host is not None else self.model is not None


NO_MODEL = InForce(name="none", kind="none", model=None, prices=FREE)
