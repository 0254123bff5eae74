"""From a choice to the model in force: which host, whose key, what price."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from gnomon.brokers.model_in_force import FREE, NO_MODEL, InForce, Prices
from gnomon.config import ModelConfig
from gnomon.domain.ports import Clock
from gnomon.models.choice import Choice, read_key
from gnomon.models.hosted import HostedModel, Start
from gnomon.models.plans import embedded_plan, served_plan

SERVER_SLOTS = 4
"""Calls at a time to a server, of which one may be background."""


def in_force(
    choice: Choice,
    config: ModelConfig,
    *,
    models: Path,
    environ: Mapping[str, str],
    start: Start,
    clock: Clock,
) -> InForce:
    """The model that `choice` names, not yet started. `models` is `<home>/models`; `start`
    starts a jailed host. The key is read anew at each call.
    """
    if choice.kind == "none":
        return NO_MODEL
    if choice.address is None:
        host = HostedModel(
            plan=partial(embedded_plan, models),
            start=start,
            clock=clock,
            idle_seconds=config.idle_seconds,
        )
        return InForce(name=choice.name, kind="demo", model=host, host=host, prices=FREE)
    host = HostedModel(
        plan=partial(served_plan, choice.name, choice.address, config),
        start=start,
        clock=clock,
        idle_seconds=config.idle_seconds,
        key=partial(read_key, choice.key, environ),
        keep_after_failure=False,
    )
    return InForce(
        name=choice.name,
        kind=choice.kind,
        model=host,
        host=host,
        prices=_prices(choice, config),
        slots=SERVER_SLOTS,
    )


def _prices(choice: Choice, config: ModelConfig) -> Prices:
    """What the config says; a local server is free, a remote one without prices unknown."""
    if config.usd_per_million_in > 0 or config.usd_per_million_out > 0:
        return Prices(
            usd_per_million_in=config.usd_per_million_in,
            usd_per_million_out=config.usd_per_million_out,
        )
    return FREE if choice.kind == "local" else Prices()
