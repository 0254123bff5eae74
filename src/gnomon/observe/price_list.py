"""List prices of models: what a session would cost by the price list, which is no bill. Pure."""

import re

import msgspec

from gnomon.domain.records_observe import ModelTokens

_DATED = re.compile(r"(?:-20\d{6}|-20\d\d-\d\d-\d\d|-latest|@20\d{6})(?:-v\d+(?::\d+)?)?$")
_MILLION = 1_000_000


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US dollars for a million tokens. Null where the list names no such price."""

    input: float
    output: float
    cache_read: float | None = None
    cache_creation: float | None = None


class PriceList(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`as_of` is the date at which the prices were looked up; they change."""

    as_of: str
    note: str
    models: dict[str, Price]

    def price(self, model: str) -> Price | None:
        """The price of a model's name, also with a date or a provider before it."""
        name = model.rsplit("/", 1)[-1].removeprefix("anthropic.").removeprefix("us.anthropic.")
        return self.models.get(name) or self.models.get(_DATED.sub("", name))

    def cost(self, used: ModelTokens) -> float | None:
        """US dollars; null when the list does not know the model, or one of the prices."""
        price = self.price(used.model)
        if price is None:
            return None
        total = 0.0
        for tokens, each in (
            (used.input, price.input),
            (used.output, price.output),
            (used.cache_read, price.cache_read),
            (used.cache_creation, price.cache_creation),
        ):
            if tokens and each is None:
                return None
            total += tokens * (each or 0.0) / _MILLION
        return total
