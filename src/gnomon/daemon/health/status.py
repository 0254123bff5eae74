"""What `gnomon status` and the page's head say. Reads counters; walks no history."""

import os
from typing import cast

from gnomon.daemon.core import Core
from gnomon.domain.instants import Millis, iso
from gnomon.domain.policy import Role
from gnomon.domain.views import JailLevel, Status

JAILED: tuple[Role, ...] = (
    "resident",
    "tool-host",
    "fitness-writer",
    "judge",
    "refiner",
    "importer",
    "recall",
    "model-host",
)
"""The roles that this version starts; the trust table also holds those of later ones."""


def status(core: Core, *, running: bool, url: str | None, next_tick_at: Millis | None) -> Status:
    """`running` says whether a daemon holds this core, or a verb of the CLI does."""
    tally, spend = core.tallies.decisions, core.tallies.spend
    model = core.broker.in_force
    return Status(
        running=running,
        pid=os.getpid() if running else None,
        agent=core.agent.agent,
        mode=core.world.mode,
        effective_mode=core.world.effective_mode,
        model=core.broker.model_view(),
        ticks=tally.ticks,
        reflections=tally.reflections,
        skipped=tally.skipped,
        jail=jail_levels(core),
        autonomy=core.autonomy(),
        budget=core.broker.budget_view(),
        standing_cost=core.broker.standing_cost(),
        url=url,
        home=str(core.home.root),
        paused_until=core.paused_until(),
        remote_calls=spend.remote_calls,
        usd_spent=spend.usd,
        doing=_doing(core, model.kind),
        next_tick_at=iso(next_tick_at) if next_tick_at is not None else None,
        last_focus=None if model.kind == "demo" else tally.last_focus,
    )


def jail_levels(core: Core) -> dict[str, JailLevel]:
    """The level that each role has, or would have when it is started."""
    best = core.platform.jail_level()
    levels: dict[Role, JailLevel] = dict.fromkeys(JAILED, best)
    if core.residency.level is not None:
        levels["resident"] = core.residency.level
    return cast("dict[str, JailLevel]", levels)


def _doing(core: Core, kind: str) -> str | None:
    """A stable word; the page's language file has the sentence."""
    if core.turns.in_flight:
        return "chat"
    if core.world.reflecting:
        return "reflecting"
    if core.paused_until() is not None:
        return "paused"
    return "no-model" if kind == "none" else None
