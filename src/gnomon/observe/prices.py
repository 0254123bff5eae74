"""The price list that is shipped: `data/prices.json`."""

from functools import cache
from importlib import resources

import msgspec

from gnomon.observe.price_list import PriceList


@cache
def packaged_prices() -> PriceList:
    """The list that is shipped."""
    text = resources.files("gnomon.data").joinpath("prices.json").read_bytes()
    return msgspec.json.decode(text, type=PriceList)
