"""The queue and undo as a state machine: decided once, done at most once, nothing after its time,
nothing over what somebody else wrote; whenever the power goes.
"""

import contextlib
from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gnomon.approvals.execute import Executions
from gnomon.approvals.queue import REMIND_AFTER, Approvals, can_be_redone, held_line
from gnomon.approvals.ruling import what_changed
from gnomon.domain.body import Body
from gnomon.domain.errors import ConflictError
from gnomon.domain.instants import DAY, Millis
from gnomon.domain.ledgers import BODIES
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
from gnomon.testing.approvals import KillAt, MemoryMarks, MemoryTargets, at_once, digest_of
from gnomon.testing.clock import FakeClock
from gnomon.testing.crash import Killed
from gnomon.testing.ledger import MemoryLedger

FILES = st.sampled_from(["a", "b"])
TEXTS = st.sampled_from(["one", "two", "three"])
WHICH = st.integers(-2, 1)
KILLS: st.SearchStrategy[KillAt | None] = st.sampled_from([None, "mark", "marked", "done"])
MEANWHILE = st.sampled_from(["nothing", "put back", "a week"])


class QueueMachine(RuleBasedStateMachine):
    """One life after another over one ledger, beside somebody who edits the same targets."""

    @initialize()
    def begin(self) -> None:
        self.clock = FakeClock()
        self.ledger = MemoryLedger("approvals", BODIES["approvals"], self.clock)
        self.targets = MemoryTargets({"a": "one", "b": None}, now=self.clock.wall)
        self.executions = Executions({"file.write": self.targets}, MemoryMarks(self.targets))
        self.state = Approvals()
        self.crashed = False
        self.count = 0
        self.allowed: dict[str, set[str | None]] = {"a": {"one"}, "b": {None}}
        self.hold("a", "two")
        self.hold("b", "two")

    @property
    def now(self) -> Millis:
        return self.clock.wall()

    def write(self, line: Body) -> None:
        at_once(self.ledger.append(line))
        self.state.take(self.ledger.lines[-1])

    def held(self, name: str) -> Held:
        body = self.ledger.lines[self.state.known(name).seq - 1].body
        assert isinstance(body, Held)
        return body

    def one(self, which: int) -> str | None:
        names = [each.approval_id for each in self.state.all()]
        return names[which % len(names)] if names else None

    # --- the agent ---------------------------------------------------------------------------

    @rule(file=FILES, text=TEXTS)
    def hold(self, file: str, text: str) -> None:
        proposal = self.targets.proposal(file, text)
        if self.state.same_pending(proposal, self.now) is None:
            self.count += 1
            self.write(held_line(proposal, f"ap-{self.count:03d}", self.now))
            word = self.state.standing_word("file.write", file, "resident")
            if word is not None:
                name = f"ap-{self.count:03d}"
                self.decide(name, through=f"always:{word.approval_id}")

    # --- the operator ------------------------------------------------------------------------

    @precondition(lambda self: self.state.pending(self.now))
    @rule(which=WHICH, kill=KILLS, always=st.booleans(), meanwhile=MEANWHILE, kill_again=KILLS)
    def approve(
        self,
        which: int,
        kill: KillAt | None,
        always: bool,
        meanwhile: str,
        kill_again: KillAt | None,
    ) -> None:
        waiting = self.state.pending(self.now)
        self.targets.kill_at = kill
        self.decide(waiting[which % len(waiting)].approval_id, always=always)
        self.targets.kill_at = None
        if self.crashed:
            self.next_life(kill_again, meanwhile)
        if self.crashed:
            self.next_life(None, "nothing")

    @rule(which=WHICH)
    def approve_any(self, which: int) -> None:
        name = self.one(which)
        if name is not None:
            self.decide(name)

    def decide(self, name: str, *, always: bool = False, through: str = "cli") -> None:
        said = Decided(approval_id=name, decision="approved", through=through, always=always)
        before = len(self.ledger.lines)
        try:
            self.state.check(said, self.now)
            self.write(said)
            doable = self.doable(self.held(name))
            end = at_once(self.executions.run(self.held(name), self.now))
            assert isinstance(end, Executed) == doable
            self.write(end)
        except ConflictError:
            assert len(self.ledger.lines) == before
        except Killed:
            self.crashed = True

    def doable(self, held: Held) -> bool:
        now = digest_of(self.targets.texts[held.target])
        return self.targets.granted and now in (held.target_sha256, self.targets.wanted(held))

    @rule(which=WHICH)
    def reject(self, which: int) -> None:
        name = self.one(which)
        if name is not None:
            said = Decided(approval_id=name, decision="rejected", through="dashboard")
            with contextlib.suppress(ConflictError):
                self.state.check(said, self.now)
                self.write(said)

    @rule(which=WHICH)
    def redo(self, which: int) -> None:
        name = self.one(which)
        if name is None:
            return
        held = self.held(name)
        changed = what_changed(held, at_once(self.targets.look(held.target))) is not None
        if can_be_redone(self.state.known(name), self.now, changed=changed):
            self.count += 1
            by = f"ap-{self.count:03d}"
            self.write(held_line(at_once(self.targets.proposed_again(held)), by, self.now))
            self.write(Redone(approval_id=name, by=by))

    @rule(which=WHICH)
    def undo(self, which: int) -> None:
        name = self.one(which)
        if name is None or not self.state.known(name).was_done or self.state.known(name).undone:
            return
        held = self.held(name)
        before = self.targets.texts[held.target]
        try:
            at_once(self.executions.undo(held))
        except ConflictError:
            assert self.targets.texts[held.target] == before
            return
        assert digest_of(self.targets.texts[held.target]) == held.target_sha256
        self.write(Undone(approval_id=name, through="cli"))

    @rule(which=WHICH)
    def forget(self, which: int) -> None:
        name = self.one(which)
        if name is not None and self.state.known(name).stands_for_later:
            self.write(Forgotten(approval_id=name, through="cli"))

    # --- the world ---------------------------------------------------------------------------

    @rule(file=FILES, text=TEXTS | st.none())
    def somebody_edits(self, file: str, text: str | None) -> None:
        self.targets.texts[file] = text
        self.allowed[file].add(text)

    @rule(granted=st.booleans())
    def grant(self, granted: bool) -> None:
        self.targets.granted = granted

    @rule(days=st.sampled_from([0.1, 1, 3, 7]))
    def time_goes_by(self, days: float) -> None:
        self.clock.advance(days * DAY / 1000)

    @rule()
    def beat(self) -> None:
        for line in self.state.due(self.now):
            known = self.state.known(line.approval_id)
            late = self.now - known.held_at
            assert late >= (REMIND_AFTER if isinstance(line, Reminded) else 7 * DAY)
            self.write(line)

    def next_life(self, kill: KillAt | None, meanwhile: str) -> None:
        """It knows what stands on the ledger, in its marks and in the targets; nothing else."""
        self.state = Approvals(self.ledger.lines)
        if meanwhile == "a week":
            self.time_goes_by(days=7)
        for found in self.state.unfinished() if meanwhile == "put back" else ():
            before = next(
                text
                for text in self.allowed[found.target] | {"one", "two", "three"}
                if digest_of(text) == found.target_sha256
            )
            self.somebody_edits(file=found.target, text=before)
        self.crashed = False
        self.targets.kill_at = kill
        try:
            for found in self.state.unfinished():
                end = at_once(self.executions.resume(self.held(found.approval_id), self.now))
                self.write(end)
        except Killed:
            self.crashed = True
        self.targets.kill_at = None

    # --- what holds --------------------------------------------------------------------------

    @invariant()
    def each_is_decided_and_ended_once(self) -> None:
        for kind in (Decided, Executed | Refused | Expired, Reminded, Undone, Redone):
            counts = Counter(
                getattr(line.body, "approval_id", "")
                for line in self.ledger.lines
                if isinstance(line.body, kind)
            )
            assert set(counts.values()) <= {1}

    @invariant()
    def each_is_done_at_most_once_and_only_when_approved(self) -> None:
        assert set(Counter(self.targets.done).values()) <= {1}
        approved = {
            line.body.approval_id
            for line in self.ledger.lines
            if isinstance(line.body, Decided) and line.body.decision == "approved"
        }
        assert set(self.targets.done) <= approved

    @invariant()
    def a_target_holds_what_somebody_wrote_or_the_operator_approved(self) -> None:
        for target, text in self.targets.texts.items():
            approved = {
                self.targets.text(self.held(name).payload)
                for name in self.targets.done
                if self.held(name).target == target
            }
            assert text in self.allowed[target] | approved

    @invariant()
    def nothing_is_done_after_its_time(self) -> None:
        for name, at in self.targets.done_at.items():
            assert at < self.state.known(name).expires_at

    @invariant()
    def what_is_known_follows_from_the_ledger_alone(self) -> None:
        again = Approvals(self.ledger.lines)
        assert again.all() == self.state.all()
        assert again.pending(self.now) == self.state.pending(self.now)

    @invariant()
    def what_was_approved_has_its_end(self) -> None:
        assert self.state.unfinished() == ()


QueueMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestApprovalQueue = QueueMachine.TestCase
