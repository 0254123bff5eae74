"""The real platform: this machine's clocks, its disk, and jailed processes on it."""

import os
from functools import partial

from gnomon.clock import SystemClock, SystemIds
from gnomon.daemon.platform import Platform
from gnomon.daemon.power import power_bound
from gnomon.trust import jail


def this_machine() -> Platform:
    """Made without I/O."""
    clock = SystemClock()
    return Platform(
        clock=clock,
        ids=SystemIds(clock),
        environ=os.environ,
        start_child=jail.start,
        start_unjailed=partial(jail.start, allow_unjailed=True),
        jail_level=jail.available_level,
        power_bound=power_bound,
    )
