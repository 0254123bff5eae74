"""The days as they go by: the operator's deeds and the faults, each in its time, on a machine
whose gateway may be gone at any moment.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, assert_never

import msgspec

from gnomon.domain.errors import GnomonError, UsageError
from gnomon.domain.instants import SECOND, Millis
from gnomon.domain.records_referee import OutcomeKind
from gnomon.simulate import operators
from gnomon.simulate.checks import Checks
from gnomon.simulate.faults import Fault, FaultKind
from gnomon.simulate.machine import GatewayDiedError, Machine
from gnomon.simulate.operators import Deed, Look, Nap, Pause, Say, Stop, What
from gnomon.simulate.story import Did, Story

RETRY_SECONDS = 600
"""A gateway that did not start, or was stopped by a failing disk, is tried again."""
NOT_ENABLED = "not-enabled"
OPERATION: dict[What, str] = {
    "use": "inbox.use",
    "dismiss": "inbox.dismiss",
    "read": "inbox.read",
    "open": "inbox.open",
    "resolve": "inbox.resolve",
    "edit": "inbox.edit",
    "reply": "chat.turn",
}


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody starts the gateway, if none runs."""

    at: Millis


class Heal(msgspec.Struct, frozen=True, kw_only=True):
    """What was wrong is well again."""

    at: Millis
    kind: FaultKind


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """The operator comes back to a surface that they looked at."""

    at: Millis
    surface_id: str
    what: What


class Resumes(msgspec.Struct, frozen=True, kw_only=True):
    """A pause has run out by now."""

    at: Millis


Happening = Deed | Fault | Start | Heal | Answers | Resumes


@dataclass
class Days:
    """Let everything happen that is planned before `end`."""

    machine: Machine
    story: Story
    checks: Checks
    operator: operators.Name
    seed: int
    end: Millis
    passed: Callable[[Millis], None] = lambda _: None
    """Hears, now and then, how late it is."""
    _queue: list[tuple[Millis, int, Happening]] = field(default_factory=list)
    _planned: int = 0
    _seen: set[str] = field(default_factory=set[str])
    _enabled: bool = False

    def plan(self, *happenings: Happening) -> None:
        for each in happenings:
            self._planned += 1
            heappush(self._queue, (each.at, self._planned, each))

    async def live(self) -> None:
        """Until the last day is over. The gateway then runs or not, as it came."""
        await self._start()
        while self._queue and self._queue[0][0] < self.end:
            self.passed(self.now)
            if await self._until(self._queue[0][0]):
                await self._happen(heappop(self._queue)[2])
        while not await self._until(self.end):
            await self._start()

    async def settle(self, seconds: int) -> None:
        """The faults are over; a gateway runs, and has had so much time."""
        self._heal("disk-full")
        self._heal("model-error")
        self.machine.disarm()
        until = Millis(self.now + seconds * SECOND)
        while self.machine.gateway is None or not await self._until(until):
            await self._start()

    @property
    def now(self) -> Millis:
        return self.machine.clock.true()

    async def _until(self, at: Millis) -> bool:
        """Let time go by. When the gateway dies meanwhile it is buried then and there, which
        makes another happening the next one: false.
        """
        left = max(0.0, (at - self.now) / SECOND)
        if self.machine.gateway is None:
            await asyncio.sleep(left)
            return True
        try:
            await self.machine.unless_killed(asyncio.sleep(left))
        except GatewayDiedError:
            await self._bury()
            return False
        return True

    async def _happen(self, happening: Happening) -> None:
        try:
            await self._let(happening)
        except GatewayDiedError:
            await self._bury()

    async def _let(self, happening: Happening) -> None:
        match happening:
            case Fault():
                await self._go_wrong(happening)
            case Heal():
                self._heal(happening.kind)
            case Start():
                await self._start()
            case Nap():
                self._sleep(happening)
            case Resumes():
                self._resumed()
            case Say() | Look() | Stop() | Pause() | Answers():
                if self.machine.gateway is not None:
                    await self._by_operator(happening)
            case _:
                assert_never(happening)

    # --- the operator ------------------------------------------------------------------------

    async def _by_operator(self, deed: Say | Look | Stop | Pause | Answers) -> None:
        match deed:
            case Say():
                await self._ask("chat.turn", text=deed.text)
            case Look():
                await self._look()
            case Answers():
                await self._answer(deed)
            case Stop():
                await self._stop(deed.seconds)
            case Pause():
                await self._pause(deed)
            case _:
                assert_never(deed)

    async def _ask(self, name: str, **arguments: Any) -> Any:
        """An operation; null when it was refused or failed. Whoever asks is here."""
        self.story.signs.append(self.now)
        try:
            return await self.machine.ask(name, **arguments)
        except (GnomonError, OSError):
            return None

    async def _look(self) -> None:
        """At the inbox, and make up one's mind about what is new there."""
        await self._ask("presence.touch")
        await self._enable()
        for item in await self._ask("inbox.list") or ():
            if item.open_until is None or item.surface_id in self._seen:
                continue
            self._seen.add(item.surface_id)
            acts = self.story.prompt(item.scaffold_version).acts
            answer = operators.answer(self.operator, self.seed, item.surface_id, item.kind, acts)
            if answer.what != "pass":
                at = Millis(self.now + answer.after * SECOND)
                self.plan(Answers(at=at, surface_id=item.surface_id, what=answer.what))

    async def _enable(self) -> None:
        """Once nothing else is missing, say that the number matches what they see."""
        ready = None if self._enabled else await self._ask("refine.status")
        if ready is not None and ready.codes == (NOT_ENABLED,):
            self._enabled = await self._ask("refine.enable") is not None

    async def _answer(self, deed: Answers) -> None:
        outcome: OutcomeKind = "acked" if deed.what == "dismiss" else "acted"
        named = "reply_to" if deed.what == "reply" else "surface_id"
        more = {"reply": {"text": "yes, go on"}, "edit": {"text": "in my words"}}
        before = self.now
        self.story.signs.append(before)
        arguments = {named: deed.surface_id, **more.get(deed.what, {})}
        try:
            await self.machine.ask(OPERATION[deed.what], **arguments)
        except UsageError:
            return  # its time is over
        except (GnomonError, OSError):
            self.checks.unsure.add(deed.surface_id)
            return
        except GatewayDiedError:
            self.checks.unsure.add(deed.surface_id)
            raise
        self.story.did.append(Did(deed.surface_id, outcome, before))

    async def _pause(self, deed: Pause) -> None:
        if await self._ask("kernel.pause", for_seconds=deed.seconds) is not None:
            until = Millis(self.now + deed.seconds * SECOND)
            self.story.pause(self.now, until)
            self.plan(Resumes(at=until))

    def _resumed(self) -> None:
        if self.machine.gateway is not None:
            self.story.up(self.now)

    def _sleep(self, nap: Nap) -> None:
        """The machine sleeps through whatever was planned for the time."""
        if self.machine.gateway is not None and self.story.is_up:
            self.story.away(self.now, "asleep")
            self.machine.clock.sleep(nap.seconds)
            self.story.up(self.now)
        else:
            self.machine.clock.sleep(nap.seconds)

    # --- lives -------------------------------------------------------------------------------

    async def _start(self) -> None:
        if self.machine.gateway is not None:
            return
        self.story.signs.append(self.now)
        try:
            await self.machine.start()
        except (GnomonError, OSError) as error:
            if self.machine.disk_is_well:
                self.checks.found(f"it did not start: {error}")
            await self.machine.bury()
            self.plan(Start(at=Millis(self.now + RETRY_SECONDS * SECOND)))
            return
        self.story.up(self.now)

    async def _stop(self, seconds: int) -> None:
        self.story.signs.append(self.now)
        at = self.now
        try:
            await self.machine.stop()
        except (GnomonError, OSError) as error:
            if self.machine.disk_is_well:
                self.checks.found(f"it did not stop in order: {error}")
            self.machine.down = seconds
            await self._bury()  # its process ends with a fault
            return
        self.story.away(at, "orderly")
        self.story.restarts += 1
        self.checks.after_life()
        self.plan(Start(at=Millis(self.now + seconds * SECOND)))

    async def _bury(self) -> None:
        self.story.away(self.now, "killed")
        power_cut = self.machine.disk.lost_power
        await self.machine.bury()
        self.story.count("power-cut" if power_cut else "kill")
        if power_cut:
            self.machine.witness.medium_failed()
            if self.machine.disk_is_well:
                self.machine.witness.medium_is_well()
            self.machine.clock.reboot()
        self.story.restarts += 1
        self.checks.after_life()
        self.plan(Start(at=Millis(self.now + self.machine.down * SECOND)))

    # --- faults ------------------------------------------------------------------------------

    async def _go_wrong(self, fault: Fault) -> None:
        machine = self.machine
        if machine.gateway is None and fault.kind != "clock-step":
            return
        if fault.kill is not None:
            machine.arm(fault.kill, fault.down)  # counted once it has struck
            return
        self.story.count(fault.kind)
        match fault.kind:
            case "clock-step":
                machine.clock.step(fault.seconds)
                self.story.steps += 1
            case "resident-dies":
                machine.end_child("resident")
            case "disk-full" | "sync-fails":
                machine.witness.medium_failed()
                machine.spoil(full=fault.kind == "disk-full", sync_fails=fault.kind == "sync-fails")
                self.plan(Heal(at=Millis(self.now + fault.seconds * SECOND), kind=fault.kind))
            case _:
                machine.model.mood = fault.kind
                self.plan(Heal(at=Millis(self.now + fault.seconds * SECOND), kind=fault.kind))

    def _heal(self, kind: FaultKind) -> None:
        match kind:
            case "disk-full" | "sync-fails":
                self.machine.spoil(full=False, sync_fails=False)
                self.machine.witness.medium_is_well()
            case _:
                self.machine.model.mood = None
