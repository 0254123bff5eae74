"""The cycle of an agent that stays, in a few lines. Read this first, then `agent/loop.py`.

    look at the scaffold -> may it reflect? -> reflect -> note what came of it

The gateway decides whether; the resident reflects; ledgers remember. The referee is no part of
the cycle: `life.py` runs it at the beat, and the two meet in ledger records alone.
"""

from dataclasses import dataclass
from typing import Protocol

from gnomon.domain.errors import GnomonError
from gnomon.domain.instants import Millis
from gnomon.domain.records import SkipReason
from gnomon.resident.gate import GateFacts, decide
from gnomon.resident.protocol import TickReply
from gnomon.scaffold.versions import ScaffoldState


class World(Protocol):
    """What one turn of the cycle touches."""

    def look_at_scaffold(self, now: Millis) -> ScaffoldState: ...

    def gate_facts(self, now: Millis) -> GateFacts: ...

    async def reflect(
        self, now: Millis, scaffold: ScaffoldState, skip_reason: SkipReason | None
    ) -> TickReply: ...

    def note_tick(self, reply: TickReply) -> None: ...

    def note_failure(self, error: GnomonError) -> None: ...


@dataclass
class Cycle:
    """One tick at a time: a tick that comes while one is under way is dropped."""

    world: World
    under_way: bool = False

    async def tick(self, now: Millis) -> None:
        """One turn of the cycle. What goes wrong is noted; the beat goes on."""
        if self.under_way:
            return
        self.under_way = True
        try:
            scaffold = self.world.look_at_scaffold(now)
            reason = decide(self.world.gate_facts(now))
            self.world.note_tick(await self.world.reflect(now, scaffold, reason))
        except GnomonError as error:
            self.world.note_failure(error)
        finally:
            self.under_way = False
