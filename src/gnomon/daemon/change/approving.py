"""Held actions: parked, decided by the operator, done once. The one writer of `approvals`.

A decision and what comes of it are one at a time. The decision is on the disk before anything
is done, and what came of it follows; what lies between when the power goes is finished at the
next start (`Executions.resume`).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec

from gnomon.approvals.approval import Approval
from gnomon.approvals.execute import Executions
from gnomon.approvals.queue import (
    BY_ALWAYS,
    MOST_PENDING,
    Approvals,
    Proposal,
    can_be_redone,
    held_line,
    settled,
    told,
)
from gnomon.approvals.ruling import Found, what_changed
from gnomon.daemon.change.announcing import Announcing
from gnomon.daemon.store.disk_words import disk_named
from gnomon.daemon.store.stores import Stores
from gnomon.domain.body import Body
from gnomon.domain.errors import ConflictError, GnomonError, TrustError
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import LedgerName
from gnomon.domain.policy import Role
from gnomon.domain.ports import Ids
from gnomon.domain.records import Sha256
from gnomon.domain.records_change import (
    Decided,
    Executed,
    Expired,
    Forgotten,
    Held,
    Redone,
    Refused,
    Reminded,
    Undone,
)
from gnomon.gateway.door import Door, operators_door
from gnomon.trust.roles import check_append

LEDGER: LedgerName = "approvals"


@dataclass(frozen=True)
class Parked:
    """A proposal that was held. `end` is what came of it at once, where a word stands for it."""

    approval_id: str
    end: Executed | Refused | None = None


@dataclass
class Approving:
    """`begins` is called before a decision's line: from there on a crash leaves something to
    finish. `changed` hears of every line, `seen` of the operator's acts: whoever decides is here.
    """

    stores: Stores
    ids: Ids
    executions: Executions
    announcing: Announcing
    begins: Callable[[], None]
    changed: Callable[[], None]
    seen: Callable[[], None]
    _unfinished: dict[str, str] = field(default_factory=dict[str, str])
    """Why what was approved could not be finished, by id: told once."""
    _state: Approvals = field(default_factory=Approvals)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    def state(self) -> Approvals:
        """The fold as of the ledger's head. O(new lines)."""
        ledger = self.stores.files[LEDGER]
        if self._state.seq < ledger.head.seq:
            for line in ledger.read(after_seq=self._state.seq):
                self._state.take(line)
        return self._state

    def held(self, approval: Approval) -> Held:
        """The line that parked it. O(log n)."""
        line = next(self.stores.files[LEDGER].read(after_seq=approval.seq - 1))
        assert isinstance(line.body, Held)
        return line.body

    def now(self) -> Millis:
        return self.stores.clock.wall()

    # --- the agents' side: to ask ----------------------------------------------------------------

    async def hold(self, proposal: Proposal) -> Parked:
        """Park an action; one that waits already and would do the same is not parked twice.

        Raises TrustError for a kind that nothing here can do, and where too many wait;
        RecordError for a payload that cannot be written down; LedgerError.
        """
        self.executions.of(proposal.action)
        async with self._one:
            state, now = self.state(), self.now()
            word = state.standing_word(proposal.action, proposal.target, proposal.origin.role)
            same = state.same_pending(proposal, now)
            if same is not None and word is None:
                return Parked(same.approval_id)
            if word is None and not state.has_room(now):
                raise TrustError(
                    f"{MOST_PENDING} actions wait for the operator already; this one is not held.",
                    next_step="Go on without it.",
                    action=proposal.action,
                )
            held = held_line(proposal, self.ids.new("ap"), now)
            await self._write("gateway", held)
            if word is not None:
                return Parked(held.approval_id, await self._by_word(held, word))
        self.stores.journal(f"Waits for you: {held.action} {held.target} ({held.approval_id}).")
        await self.announcing.waits(held)
        return Parked(held.approval_id)

    async def _by_word(self, held: Held, word: Approval) -> Executed | Refused:
        """The operator said `always` of this action and target."""
        said = Decided(
            approval_id=held.approval_id,
            decision="approved",
            through=f"{BY_ALWAYS}{word.approval_id}",
        )
        end = await self._decided("gateway", said, held)
        self.stores.journal(f"By your word on {word.approval_id}: {told(end)} ({held.approval_id})")
        return end

    # --- the operator's side: to decide ----------------------------------------------------------

    async def approve(self, approval_id: str, *, always: bool) -> None:
        """Let it be done.

        Raises ConflictError when it is settled (facts: by whom, when), or when something is no
        longer as it was held; GnomonError when it could not be done.
        """
        door = self._operator()
        async with self._one:
            found = self.state().known(approval_id)
            said = Decided(
                approval_id=approval_id, decision="approved", through=door.way, always=always
            )
            self.state().check(said, self.now())
            self.executions.of(found.action)
            end = await self._decided("operator", said, self.held(found))
        self.stores.journal(f"You approved {approval_id}: {told(end)}")
        await self.announcing.settled(approval_id)
        _raise_what_hindered(end)

    async def edit(self, approval_id: str, text: str) -> str:
        """Let the operator's text be done in the place of the one that is held; the id under
        which it was. A text that is the held one approves that.

        Raises ConflictError as `approve` does; where the target is another than it was held on,
        nothing is written down either.
        """
        door = self._operator()
        async with self._one:
            said = Decided(approval_id=approval_id, decision="approved", through=door.way)
            found = self.state().check(said, self.now())
            held = await self._with_text(self.held(found), text)
            said = msgspec.structs.replace(said, approval_id=held.approval_id)
            end = await self._decided("operator", said, held)
        name = held.approval_id
        self.stores.journal(f"You approved your own text for {approval_id}, {name}: {told(end)}")
        await self.announcing.settled(approval_id)
        _raise_what_hindered(end)
        return name

    async def _with_text(self, held: Held, text: str) -> Held:
        """The line that holds the operator's text, on the very target that the other was held
        on. It is written, and the other is settled by it. A crash on the way leaves both to be
        decided, or the new one alone; asked again, it is found.
        """
        executor = self.executions.of(held.action)
        proposal = await executor.proposed_with(held, text)
        changed = what_changed(held, Found(proposal.target_sha256))
        if changed is not None:
            raise _not_as_held(held.approval_id, changed, "pending", proposal.target_sha256)
        if text == executor.text(held.payload):
            return held
        why = f"You edited what it wanted to write ({held.approval_id}). {held.why}"
        same = self.state().same_pending(proposal, self.now(), but=held.approval_id)
        by = None if same is None else self.held(same)
        if by is None:
            by = held_line(replace(proposal, why=why), self.ids.new("ap"), self.now())
            await self._write("gateway", by)
        await self._write("gateway", Redone(approval_id=held.approval_id, by=by.approval_id))
        return by

    async def reject(self, approval_id: str) -> None:
        """Nothing is done, for good. Raises ConflictError when it is settled."""
        door = self._operator()
        async with self._one:
            said = Decided(approval_id=approval_id, decision="rejected", through=door.way)
            found = self.state().check(said, self.now())
            await self._write("operator", said)
        self.stores.journal(f"You rejected {approval_id}: {found.action} {found.target}.")
        await self.announcing.settled(approval_id)

    async def redo(self, approval_id: str) -> str:
        """Hold it anew on its target as it is now; the new one's id. It waits again.

        Raises ConflictError when there is no reason to, or when it cannot be.
        """
        self._operator()
        async with self._one:
            found, now = self.state().known(approval_id), self.now()
            held = self.held(found)
            executor = self.executions.of(held.action)
            changed = what_changed(held, await executor.look(held.target)) is not None
            if not can_be_redone(found, now, changed=changed):
                raise _no_reason(found, now)
            proposal = await executor.proposed_again(held)
            same = self.state().same_pending(proposal, now, but=approval_id)
            fresh = held_line(proposal, self.ids.new("ap"), now)
            if same is None:
                await self._write("gateway", fresh)
            by = fresh.approval_id if same is None else same.approval_id
            await self._write("gateway", Redone(approval_id=approval_id, by=by))
        self.stores.journal(f"You had {approval_id} held anew, as {by}.")
        await self.announcing.settled(approval_id)
        if same is None:
            await self.announcing.waits(fresh)
        return by

    async def undo(self, approval_id: str) -> None:
        """Put back exactly what the target held before. A word that stands for it stands no
        more: what was taken back is asked about again.

        Raises ConflictError when it was not done, was undone, or its target holds something
        else since.
        """
        door = self._operator()
        async with self._one:
            found = self.state().known(approval_id)
            if not found.was_done or found.undone:
                what = "was undone already" if found.undone else "was not done"
                raise ConflictError(f"It {what}.", approval_id=approval_id)
            with disk_named():
                done = await self.executions.undo(self.held(found))
            await self._write("operator", Undone(approval_id=approval_id, through=door.way))
            word = self.state().standing_word(found.action, found.target, found.role)
            if word is not None:
                await self._forgotten(word, door.way)
        self.stores.journal(f"You undid {approval_id}: {done}")

    async def forget(self, approval_id: str) -> None:
        """End the word `always` that was said on it, also where a later one took its place: that
        ends too. Raises ConflictError where none stands.
        """
        door = self._operator()
        async with self._one:
            word = self.state().known(approval_id)
            stands = self.state().standing_word(word.action, word.target, word.role)
            if stands is None or not word.bears_a_word:
                raise ConflictError("No `always` stands on it.", approval_id=approval_id)
            await self._forgotten(word, door.way)
        self.stores.journal(f"You ended your word on {approval_id}.")

    async def folder_taken_back(self, folder: str) -> None:
        """No word outlives the grant that it rests on: the folder may be granted again."""
        async with self._one:
            for word in self.state().words_below(folder):
                await self._forgotten(word, operators_door().way)

    # --- what time brings, and a crash -----------------------------------------------------------

    async def beat(self) -> None:
        """Finish what was approved and not done, end what waited too long, remind once.
        Reads nothing when nothing is open. Raises LedgerError.
        """
        async with self._one:
            await self._finish_all()
            lines = self.state().due(self.now())
            for line in lines:
                await self._write("gateway", line)
        expired = [line.approval_id for line in lines if isinstance(line, Expired)]
        for name in expired:
            self.stores.journal(f"{name} waited for its whole time; nothing was done.")
        reminded = [line.approval_id for line in lines if isinstance(line, Reminded)]
        if reminded:
            await self.announcing.remind([self.state().known(name) for name in reminded])

    async def recover(self) -> None:
        """At a start after a crash. What fails now is tried again at a beat."""
        async with self._one:
            await self._finish_all()
            await self._clear()

    async def _finish_all(self) -> None:
        """What a crash, or a disk that refused, left between a decision and its end."""
        for found in self.state().unfinished():
            name = found.approval_id
            try:
                await self._finish(found)
            except (GnomonError, OSError) as error:
                if self._unfinished.get(name) != str(error):
                    self._unfinished[name] = str(error)
                    self.stores.journal(f"{name} was approved and is not finished yet: {error}")

    async def _clear(self) -> None:
        """What a doing or an undoing that was cut off left beside its target."""
        marked = frozenset(self.executions.marks.names())
        for each in self.state().all():
            if each.approval_id in marked:
                held = self.held(each)
                await self.executions.of(held.action).clear(held)

    async def _finish(self, found: Approval) -> None:
        held = self.held(found)
        with disk_named():
            end = await self.executions.resume(held, self.now())
        await self._write("gateway", end)
        self.stores.journal(f"Finished {found.approval_id}, approved before: {told(end)}")

    # --- inside ----------------------------------------------------------------------------------

    async def _decided(self, role: Role, said: Decided, held: Held) -> Executed | Refused:
        """The decision, then the deed, then what came of it."""
        self.begins()
        await self._write(role, said)
        with disk_named():
            end = await self.executions.run(held, self.now())
        await self._write("gateway", end)
        return end

    def _operator(self) -> Door:
        """The door that the operator came in by. Raises TrustError for anyone else."""
        door = operators_door()
        self.seen()
        return door

    async def _forgotten(self, word: Approval, way: str) -> None:
        await self._write("operator", Forgotten(approval_id=word.approval_id, through=way))

    async def _write(self, role: Role, line: Body) -> None:
        check_append(role, LEDGER, line.kind())
        await self.stores.append(LEDGER, line)
        self.changed()


def _raise_what_hindered(end: Executed | Refused) -> None:
    """Raises what kept it from being done; nothing, when it was."""
    match end:
        case Refused():
            raise _not_as_held(end.approval_id, end.reason, "refused", end.found_sha256)
        case Executed(error=str()):
            raise GnomonError(
                told(end),
                next_step=f"`gnomon approvals redo {end.approval_id}` holds it anew.",
                approval_id=end.approval_id,
                status="failed",
            )
        case Executed():
            return


def _not_as_held(approval_id: str, reason: str, status: str, found: Sha256 | None) -> ConflictError:
    return ConflictError(
        f"{reason} Nothing was done.",
        next_step=f"`gnomon approvals redo {approval_id}` holds it anew.",
        approval_id=approval_id,
        status=status,
        found_sha256=found,
    )


def _no_reason(found: Approval, now: Millis) -> ConflictError:
    if found.status(now) != "pending":
        return settled(found, now)
    return ConflictError(
        "All is as it was held; there is nothing to do anew.",
        next_step=f"`gnomon approvals show {found.approval_id}` shows it.",
        approval_id=found.approval_id,
    )
