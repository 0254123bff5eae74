"""Wires the refiner's desk to the gateway around it."""

from gnomon.daemon.change.refine_time import RefineParts
from gnomon.daemon.change.refining import RefineDesk
from gnomon.daemon.core import Core
from gnomon.daemon.presence import steady
from gnomon.daemon.store.create import refiner_manifest


def wire_refiner(core: Core) -> None:
    """After changes, jobs and everything that it asks."""
    clock = core.platform.clock
    core.refine = RefineDesk(
        RefineParts(
            stores=core.stores,
            changes=core.changes,
            book=core.book,
            loaded=core.fitness,
            platform=core.platform,
            memo=core.memo,
            models=core.models,
            broker=core.broker,
            manifest=refiner_manifest(),
            turn_in_flight=lambda: core.turns.in_flight > 0,
            idle=lambda: steady(clock) - core.presence.last_at,
            ticks=lambda: core.tallies.decisions.ticks,
            autonomy=lambda: core.config.improve.autonomy,
            referee_fails=core.referee_fails,
            scaffold_version=core.scaffold_version,
            publish=lambda event: core.stream.publish("event", event),
        )
    )
    core.jobs.add(core.refine.job())
