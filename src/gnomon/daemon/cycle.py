"""The two circles of an agent that stays, in a few lines. Read this, then `agent/loop.py`.

It works, at each tick:

    look at the scaffold -> may it reflect? -> reflect -> note what came of it

and it is improved, at a beat when something is due:

    measure the hours that are over -> judge the change that is tested -> keep or undo it
        -> propose the next one -> check -> apply

The gateway decides whether, processes in jails do each part, and ledgers remember. The jailed
processes never meet: what one did, the next reads as ledger lines.
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


class Stage(Protocol):
    """A part of the improvement: a job, or a step of the gateway's own."""

    def is_due(self) -> bool:
        """Cheap: asked at each beat, and reads what is new at most."""
        ...

    async def turn(self) -> None:
        """Do what is due. What goes wrong is said, and done again at a later beat."""
        ...


@dataclass
class Improvement:
    """`changes` finishes what was begun, `measure`, `judge` and `refine` are the jobs. Each runs
    without the others: a judge that is gone keeps no hour from being measured.
    """

    changes: Stage
    measure: Stage
    judge: Stage
    refine: Stage

    async def carry_on(self) -> None:
        """Finish what a kill cut off, apply what is next in line, undo early what breaks."""
        if self.changes.is_due():
            await self.changes.turn()

    def is_to_be_judged(self) -> bool:
        return self.measure.is_due() or self.judge.is_due()

    async def judge_anew(self) -> None:
        """Measure what is over, then judge by it: a verdict rests on the newest hours."""
        for stage in (self.measure, self.judge):
            if stage.is_due():
                await stage.turn()

    def is_to_be_refined(self) -> bool:
        return self.refine.is_due()

    async def propose(self) -> None:
        """One small edit, checked, on record, and in force when nothing else is tested."""
        await self.refine.turn()
