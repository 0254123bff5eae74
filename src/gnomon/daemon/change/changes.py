"""Where a change to the scaffold is applied and undone: the one place of each.

Every step is a line of the refinement-ledger, written after the deed that it tells of. So a kill
at any point leaves the file with one of two texts, and the next look finds which, and writes the
line that is missing or does the step again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from gnomon.change.life import END_OF, IN_FORCE, ChangeLife, ChangesState, check_step
from gnomon.daemon.store.stores import Stores
from gnomon.domain.errors import ConflictError, GnomonError, ScaffoldError, UsageError
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import Ack, LedgerName
from gnomon.domain.policy import Autonomy
from gnomon.domain.records import Sha256
from gnomon.domain.records_change import Change, ChangeStatus, ChangeStep, Judgment
from gnomon.domain.tiers import SCAFFOLD, may_apply
from gnomon.domain.verdict_reasons import Margins
from gnomon.domain.version_name import activation_of
from gnomon.scaffold.hashing import content_sha256, same_files, text_sha256, version_name
from gnomon.scaffold.versions import Scaffold, ScaffoldState

REFINEMENT: LedgerName = "refinement-ledger"
JUDGMENT: LedgerName = "judgment-ledger"
BY_OPERATOR = "you undid it"
LESS_AUTONOMY = "while it waited, improve.autonomy became {!r}, at which it changes no instructions"
EDITED = "the file was edited since; the text that stands there stays"


@dataclass
class Changes:
    """`look_at_scaffold` is the cycle's own look, which puts what stands in the folder in
    force; `config_sha256` is of the fitness-config in force; `changed` hears of every step.
    `autonomy` is asked again before a change is applied, for it may have waited.
    """

    stores: Stores
    scaffold: Scaffold
    look_at_scaffold: Callable[[Millis], ScaffoldState]
    config_sha256: Sha256
    changed: Callable[[], None]
    autonomy: Callable[[], Autonomy]
    margins: Margins | None = None
    """Of the fitness-config in force."""
    judge: Callable[[], Awaitable[None]] | None = None
    """Runs the judge now: an edit that pre-empts a judgment is told to it at once."""
    _state: ChangesState = field(default_factory=ChangesState)
    _taken: dict[LedgerName, int] = field(default_factory=dict[LedgerName, int])
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    def state(self) -> ChangesState:
        """Where every change stands. Folds the lines that are new since it was last asked."""
        for name in (REFINEMENT, JUDGMENT):
            taken, head = self._taken.get(name, 0), self.stores.files[name].head
            if taken < head.seq:
                for line in self.stores.files[name].read(after_seq=taken, until=head):
                    self._state.take(name, line)
                self._taken[name] = head.seq
        return self._state

    def standing(self, target: str) -> str:
        """The text of a scaffold file that is in force."""
        return self.look_at_scaffold(self.stores.clock.wall()).files[target]

    async def propose(self, change: Change) -> Ack:
        """Put a proposal on record, and apply it if nothing is before it."""
        async with self._one:
            ack = await self.stores.append(REFINEMENT, change)
            self.changed()
            await self._try_to_go_on(change.change_id)
        return ack

    async def look(self) -> None:
        """At a beat: finish what a kill cut off, and apply the next in line. Reads nothing when
        nothing is open.
        """
        if next(self.state().open(), None) is None:
            return
        async with self._one:
            await self._go_on()

    async def decide(self, judgment: Judgment, still_holds: Callable[[], bool]) -> bool:
        """Put the judge's word on its ledger and do what it says. Answers false, and does
        nothing, where it came too late: the change has ended since, or what it was judged by
        (`still_holds`) is not so any more.
        """
        async with self._one:
            life = self.state().of(judgment.change_id)
            if life is None or life.status != "watched" or life.judgment is not None:
                return False
            if not still_holds():
                return False
            await self.stores.append(JUDGMENT, judgment)
            self.changed()
            await self._go_on()
            return True

    async def settle(self) -> None:
        """A verdict is on its ledger: do what it says, then tell that it is done."""
        async with self._one:
            self.changed()
            await self._go_on()

    async def revert(self, change_id: str) -> str:
        """Undo a change at the operator's word; answers what was done.

        Raises ConflictError when it never was in force, has been undone, or its file was edited
        since: nothing is overwritten that is not the change's own text.
        """
        async with self._one:
            life = self.known(change_id)
            if life.status == "proposed":
                await self._ended(life, "voided", "you took it back")
                return "It never came into force, and will not."
            if life.status not in IN_FORCE:
                check_step(life, "reverted")
            if self._standing_sha256(life.change.target) != life.change.candidate_sha256:
                raise ConflictError(
                    f"{life.change.target} was edited after this change. Nothing was undone.",
                    next_step="The text that stands there stays; edit it as you like.",
                    change_id=change_id,
                    target=life.change.target,
                )
            stopped = self.state().under_judgment is not None
            self._restore(life)
            await self._ended(life, "reverted", BY_OPERATOR)
            disturbed = self.state().under_judgment is not None
            if not disturbed:
                await self._try_to_go_on("The next change")
        if disturbed and self.judge is not None:
            await self.judge()  # it finds another folder in force, and ends the test
        end = " The test that was under way is stopped." if stopped else ""
        return f"{life.change.target} reads as it did before.{end}"

    async def undo_early(self, change_id: str, reason: str) -> None:
        """It broke the replies themselves: its parent again, without waiting for the judge."""
        async with self._one:
            life = self.known(change_id)
            if life.status != "watched" or life.judgment is not None:
                return  # its verdict came first
            restored = self._restore(life)
            said = reason if restored else f"{reason}; {EDITED}"
            await self._ended(life, "reverted", said, outcome="rolled_back")
            await self._go_on()

    def known(self, change_id: str) -> ChangeLife:
        """One change. Raises UsageError where there is none of this id."""
        life = self.state().of(change_id)
        if life is None:
            raise UsageError(
                f"There is no change {change_id!r}.", next_step="See `gnomon changes list`."
            )
        return life

    def margins_of(self, life: ChangeLife) -> Margins | None:
        """What it was judged by; null where the fitness-config is another by now."""
        judged = life.judgment
        return self.margins if judged and judged.config_sha256 == self.config_sha256 else None

    # --- step by step ----------------------------------------------------------------------------

    async def _go_on(self) -> None:
        """Whatever can be done now. Each step is its own line."""
        state = self.state()
        if (judged := state.unfinished) is not None:
            await self._settle(judged)
        if (tried := state.under_judgment) is not None and tried.status == "applied":
            await self._watch(tried)
        while (waiting := state.next_in_line) is not None:
            await self._apply(waiting)

    async def _try_to_go_on(self, waiting: str) -> None:
        """After what stands on its ledger already: where it fails, a beat goes on."""
        try:
            await self._go_on()
        except (GnomonError, OSError) as error:
            self.stores.journal(f"{waiting} waits for a later beat: {error}")

    async def _apply(self, life: ChangeLife) -> None:
        """Put the candidate in the place of the very text that it was made from."""
        change, now = life.change, self.stores.clock.wall()
        before = self.look_at_scaffold(now)
        may = may_apply(change.tier, SCAFFOLD, self.autonomy())
        try:
            standing = self._standing_sha256(change.target)
            if may != "allow" and standing != change.candidate_sha256:
                raise ScaffoldError(LESS_AUTONOMY.format(self.autonomy()))
            if standing == change.base_sha256:
                self.scaffold.write(change.target, change.candidate)
        except ScaffoldError as error:
            await self._ended(life, "refused", str(error))
            return
        if standing not in (change.base_sha256, change.candidate_sha256):
            await self._ended(life, "voided", EDITED)  # the candidate: a kill came before this line
            return
        after = self.look_at_scaffold(now)
        kept = self.scaffold.kept(change.target, change.base_sha256)
        step = ChangeStep(
            change_id=change.change_id,
            status="applied",
            scaffold_version=after.version,
            base_version=kept[0] if kept is not None else None,
            base_scaffold_version=self._base_version(life, before, kept),
        )
        await self._watch(await self._step(life, step))

    async def _watch(self, life: ChangeLife) -> None:
        """From here on its windows count: its text, and no other change, is in force."""
        now = self.stores.clock.wall()
        in_force = self.look_at_scaffold(now)
        if not self._is_alone(life, in_force):
            self._restore(life)
            await self._ended(life, "voided", "another edit came with it")
            return
        step = ChangeStep(
            change_id=life.change_id,
            status="watched",
            scaffold_version=in_force.version,
            config_sha256=self.config_sha256,
        )
        await self._step(life, step)

    async def _settle(self, life: ChangeLife) -> None:
        outcome = life.outcome
        assert outcome is not None
        if outcome == "kept":
            await self._ended(life, "kept", None)
            return
        if self._was_put_back(life):  # as `revert` does, whose line a kill may have cut off
            await self._ended(life, "reverted", BY_OPERATOR)
            return
        try:
            reason = None if self._restore(life) else EDITED
        except ScaffoldError as error:
            reason = str(error)  # its parent's text is gone: said once, and for good
        await self._ended(life, END_OF[outcome], reason)

    # --- deeds -----------------------------------------------------------------------------------

    def _restore(self, life: ChangeLife) -> bool:
        """Put the parent's exact bytes back where the file still holds the candidate, or find
        them there. Answers whether the parent stands.
        """
        change = life.change
        standing = self._standing_sha256(change.target)
        if standing == change.candidate_sha256:
            kept = self.scaffold.kept(change.target, change.base_sha256)
            if kept is None:
                raise ScaffoldError(
                    f"The text of {change.target} before {change.change_id} is not there.",
                    next_step="Nothing was changed. Put the file right by hand.",
                    file=change.target,
                    line=0,
                )
            self.scaffold.write(change.target, kept[1].decode())
            self.look_at_scaffold(self.stores.clock.wall())
            return True
        return standing == change.base_sha256

    def _was_put_back(self, life: ChangeLife) -> bool:
        """Whether the test was stopped by the parent's text itself, which only the operator puts
        there: by `revert`, or by hand.
        """
        judged, change = life.judgment, life.change
        if judged is None or judged.outcome != "voided" or "target-edited" not in judged.reasons:
            return False
        return self._standing_sha256(change.target) == change.base_sha256

    def _standing_sha256(self, target: str) -> Sha256 | None:
        content = self.scaffold.standing(target)
        return None if content is None else content_sha256(content)

    def _is_alone(self, life: ChangeLife, in_force: ScaffoldState) -> bool:
        """Whether the folder in force is the parent's with the candidate in its place."""
        change = life.change
        text = in_force.files.get(change.target)
        kept = self.scaffold.kept(change.target, change.base_sha256)
        base = life.base_scaffold_version
        if text is None or text_sha256(text) != change.candidate_sha256:
            return False
        if kept is None or base is None:
            return False
        return same_files(base, {**in_force.files, change.target: kept[1].decode()})

    def _base_version(
        self, life: ChangeLife, before: ScaffoldState, kept: tuple[str, bytes] | None
    ) -> str:
        """The version in force before it. After a kill the look may have come after the write:
        then it is the one before, with the parent's text in its place.
        """
        change = life.change
        if text_sha256(before.files.get(change.target, "")) != change.candidate_sha256:
            return before.version
        parent = {**before.files, change.target: kept[1].decode() if kept is not None else ""}
        activation = activation_of(before.version)
        return version_name(activation - 1, parent)

    # --- lines -----------------------------------------------------------------------------------

    async def _ended(
        self,
        life: ChangeLife,
        status: ChangeStatus,
        reason: str | None,
        outcome: Literal["rolled_back"] | None = None,
    ) -> None:
        version = self.look_at_scaffold(self.stores.clock.wall()).version
        step = ChangeStep(
            change_id=life.change_id,
            status=status,
            reason=reason,
            scaffold_version=version,
            outcome=outcome,
        )
        await self._step(life, step)

    async def _step(self, life: ChangeLife, step: ChangeStep) -> ChangeLife:
        check_step(life, step.status)
        await self.stores.append(REFINEMENT, step)
        self.changed()
        return self.known(life.change_id)
