"""The system's clocks: the only place that asks for a time, and the source of new ids."""

import secrets
import time

from gnomon.domain.instants import Millis


class SystemClock:
    """Wall, monotonic and boot time of this machine."""

    def wall(self) -> Millis:
        return Millis(time.time_ns() // 1_000_000)

    def monotonic(self) -> float:
        return time.monotonic()

    def boottime(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)


class SystemIds:
    """`prefix-<11 hex of milliseconds><10 random hex>`: sorts by time of making."""

    def __init__(self, clock: SystemClock) -> None:
        self._clock = clock

    def new(self, prefix: str) -> str:
        return f"{prefix}-{self._clock.wall():011x}{secrets.token_hex(5)}"
