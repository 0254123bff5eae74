"""One run of the refiner: its real worker, in a child of memory or in a jail, and the gateway's
real half, over texts that only this bench has.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gnomon.daemon.change.refining_run import RefineRun, RunWorld
from gnomon.daemon.store.create import refiner_manifest
from gnomon.domain.events import Event
from gnomon.domain.json_value import Fields
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.domain.plain import fields, read
from gnomon.domain.ports import Model
from gnomon.domain.records_change import Change
from gnomon.refiner import worker_main
from gnomon.refiner.check import TARGETS, HeldAgainst
from gnomon.refiner.likeness import Failed
from gnomon.refiner.protocol import Ran, RefinerArgument, Work
from gnomon.scaffold.defaults import packaged_defaults
from gnomon.testing.memory_child import MemoryChild

PROMPT = "inner-loop-prompt.md"
PACKAGED = packaged_defaults()
TEXT = PACKAGED[PROMPT]
WORDS = "A next step is one act with a visible result"
OTHER = "A next step is one act whose result can be seen"
WRITE: Fields = {
    "target": PROMPT,
    "find": WORDS,
    "replace": OTHER,
    "rationale": "It repeated itself; a result that can be seen ends a thread.",
    "signal": "stall",
    "direction": "down",
}
FITNESS, TRAJECTORY = "the measure: 0.19", "! 3 of 5 reflections said the same"


@dataclass
class Bench:
    """`model` answers the refiner; `proposed` is what came of it."""

    model: Model
    failed: tuple[Failed, ...] = ()
    trajectory: str = TRAJECTORY
    texts: dict[str, str] = field(
        default_factory=lambda: {name: PACKAGED[name] for name in TARGETS}
    )
    proposed: list[Change] = field(default_factory=list[Change])
    events: list[Event] = field(default_factory=list[Event])
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])

    def __post_init__(self) -> None:
        self.run = RefineRun(
            RunWorld(
                run="run-1",
                change_id="ch-1",
                prompt="refiner-system@packaged#0",
                evidence=("fitness-ledger:7",),
                complete=self._complete,
                standing=self.texts.__getitem__,
                against=self._against,
                fitness=lambda: FITNESS,
                trajectory=lambda most: f"{self.trajectory} ({most})",
                propose=self._propose,
                publish=self.events.append,
            )
        )

    async def work(self, *, by_schema: bool = False) -> Ran:
        """One run in this process."""
        child = await MemoryChild.begin("refiner", worker_main.serve, argument(), self.run)
        try:
            return await self.asked(child, by_schema=by_schema)
        finally:
            await child.stop(1.0)

    async def asked(self, child: Any, *, by_schema: bool = False) -> Ran:
        work = Work(run="run-1", change_id="ch-1", by_schema=by_schema)
        return read(await child.peer.call("work", fields(work)), Ran)

    async def _complete(self, request: ModelRequest, on_text: Callable[[str], None]) -> ModelReply:
        self.requests.append(request)
        return await self.model.complete(request, on_text)

    async def _propose(self, change: Change) -> None:
        self.proposed.append(change)

    def _against(self, target: str) -> HeldAgainst:
        return HeldAgainst(
            incumbent=self.texts[target],
            packaged=PACKAGED.get(target, ""),
            failed=self.failed,
            floor_most=500,
            growth_max=0.15,
        )


def argument() -> Fields:
    return fields(RefinerArgument(manifest=refiner_manifest()))
