"""The gateway's side of the judge: when it is asked, what it is told, what is done with its word.

The job decides, in its jail (`gnomon.referee.judge_main`); `Changes` appends its word and does
what it says. A kill before the append loses nothing, since the job says it again; one after it
leaves a verdict that the next beat acts on, and that is not asked for twice.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from gnomon.change.life import ChangeLife, ChangesState
from gnomon.daemon.change.jobs import JobRow
from gnomon.daemon.platform import Platform
from gnomon.daemon.store.stores import Stores
from gnomon.domain.errors import GnomonError, RecordError
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import Head, LedgerName
from gnomon.domain.length import floor_tokens
from gnomon.domain.plain import fields, read
from gnomon.domain.records_change import Delta, Judgment
from gnomon.domain.verdict_reasons import OUTCOMES, told, verdict_sentence
from gnomon.domain.views_change import JobDone
from gnomon.ledger.segments import segments
from gnomon.referee import asking
from gnomon.referee.backoff import Backoff
from gnomon.referee.config import Loaded
from gnomon.referee.judge import Case, Holds, deadline
from gnomon.referee.judge_main import Hearing, JudgeArgument, Ruling
from gnomon.referee.rules import margins
from gnomon.scaffold.defaults import packaged_defaults
from gnomon.scaffold.hashing import content_sha256
from gnomon.scaffold.versions import Scaffold, ScaffoldState
from gnomon.trust.jail import Grants
from gnomon.trust.roles import check_append

JUDGE_MODULE = "gnomon.referee.judge_main"
FITNESS: LedgerName = "fitness-ledger"
JUDGMENTS: LedgerName = "judgment-ledger"
GRACE_SECONDS = 2.0
A_CHANGE = 2
"""Lines at most that a change has on the judgment-ledger: `pending`, then its verdict. One change
is judged at a time, so those of the present one are the last."""
NOTHING_WATCHED = "Nothing is under judgment."
NOTHING_NEW = "Nothing is new since it was last asked."
TOO_LATE = "The scaffold or the change was changed while it was judged. It is judged anew."

Asked = tuple[str, int, str | None, bool]
"""What an answer rested on: the change, the fitness-ledger's end, the version in force, whether
the deadline had passed. The same again gives the same answer."""


class Tried(Protocol):
    """What is asked of `gnomon.daemon.change.changes.Changes`."""

    def state(self) -> ChangesState: ...

    async def decide(self, judgment: Judgment, still_holds: Callable[[], bool]) -> bool:
        """Append it and do what it says, unless it came too late."""
        ...

    async def settle(self) -> None:
        """A verdict is on its ledger: do what it says."""
        ...


class JudgeDesk:
    """`look` puts in force what stands in the scaffold's folder; `last_look` is what it last
    found, without looking.
    """

    def __init__(
        self,
        stores: Stores,
        changes: Tried,
        scaffold: Scaffold,
        look: Callable[[Millis], ScaffoldState],
        last_look: Callable[[], ScaffoldState | None],
        loaded: Loaded,
        platform: Platform,
    ) -> None:
        self._stores = stores
        self._changes = changes
        self._scaffold = scaffold
        self._look = look
        self._last_look = last_look
        self._loaded = loaded
        self._platform = platform
        self._backoff = Backoff()
        self._running = asyncio.Lock()
        self._answered: Asked | None = None
        self._told = ""

    # --- when --------------------------------------------------------------------------------

    def is_due(self) -> bool:
        """Whether there is something that it has not seen yet. Reads no file."""
        return self.not_due(self._platform.clock.wall()) is None

    def not_due(self, now: Millis) -> str | None:
        """Why it is not to be asked; null: it is."""
        if self._running.locked() or self._backoff.waits(now):
            return "It runs, or it failed and waits to be tried again."
        life = self._changes.state().under_judgment
        if life is None or life.watched is None:
            return NOTHING_WATCHED
        unsettled = life.outcome is not None
        return None if unsettled or self._asked(life, now) != self._answered else NOTHING_NEW

    def _asked(self, life: ChangeLife, now: Millis) -> Asked:
        in_force = self._last_look()
        return (
            life.change_id,
            self._stores.files[FITNESS].durable_head.seq,
            None if in_force is None else in_force.version,
            now >= deadline(watched_at(life), self._loaded.config),
        )

    # --- what is done ------------------------------------------------------------------------

    @property
    def is_failing(self) -> bool:
        """Whether its last two runs failed."""
        return self._backoff.is_failing(running=self._running.locked())

    async def turn(self) -> None:
        """At a beat, or when an edit ended a test. What goes wrong is said once, and tried again
        at a later beat.
        """
        try:
            await self.run(self._platform.clock.wall())
            self._told = ""
        except (GnomonError, OSError) as error:
            if str(error) != self._told:
                self._told = str(error)
                self._stores.journal(f"The change that is tested could not be judged: {error}")

    async def run(self, now: Millis) -> JobDone:
        """Judge what is under judgment and do what follows. One run at a time; a second waits.

        Raises what the job, the ledger or the disk raised; asked again, it goes on.
        """
        async with self._running:
            life = self._changes.state().under_judgment
            if life is None or life.watched is None:
                return JobDone(name="judge", ran=False, done=(), why_not=NOTHING_WATCHED)
            self._backoff.begin(now)
            done = await (self._settled(life) if life.outcome else self._judged(life, now))
            self._backoff.succeed()
            return done

    async def _judged(self, life: ChangeLife, now: Millis) -> JobDone:
        asked, hearing = self._asked(life, now), self._hearing(life, now)
        ruling = await self._ask(hearing)
        judgment = ruling.judgment
        if judgment is None:
            self._answered = asked
            return _done(why_not=f"{life.change_id} still waits. {_said(ruling.reasons)}")
        check_append("judge", JUDGMENTS, judgment.kind())
        target = life.change.target
        if not await self._changes.decide(
            judgment, lambda: self._holds(target, now) == hearing.holds
        ):
            return _done(why_not=TOO_LATE)
        self._answered = asked
        sentence = verdict_sentence(judgment, margins(self._loaded.config))
        if judgment.outcome != "pending":
            self._stores.journal(f"Judged {sentence}")
        return _done(sentence)

    async def _settled(self, life: ChangeLife) -> JobDone:
        assert life.outcome is not None
        await self._changes.settle()
        return _done(
            f"Finished what the verdict on {life.change_id} says: {OUTCOMES[life.outcome]}."
        )

    async def _ask(self, hearing: Hearing) -> Ruling:
        """Start the job, ask it once, end it. Raises RecordError for an answer on anything else
        than what was asked.
        """
        path = self._stores.agent.fitness_ledger
        argument = JudgeArgument(fitness=str(path), config=self._loaded.text)
        grants = Grants(read=tuple(segment.path for segment in segments(path)))
        child = await self._platform.start_child(
            "judge", JUDGE_MODULE, fields(argument), grants, serve=None
        )
        try:
            ruling = read(await asking.work(child.peer, fields(hearing)), Ruling)
        finally:
            await child.stop(GRACE_SECONDS)
        if ruling.judgment is not None:
            _check(ruling.judgment, hearing)
        return ruling

    def _hearing(self, life: ChangeLife, now: Millis) -> Hearing:
        assert life.watched is not None
        change = life.change
        packaged = packaged_defaults().get(change.target)
        most = self._loaded.config.length_floor_tokens
        return Hearing(
            case=Case(
                change=change,
                watched=life.watched,
                watched_at=watched_at(life),
                base_version=life.base_version,
                base_scaffold_version=life.base_scaffold_version,
                floor_tokens=0 if packaged is None else floor_tokens(packaged, most),
            ),
            holds=self._holds(change.target, now),
            fitness=self._stores.files[FITNESS].durable_head,
            now=now,
            earlier=self._earlier(life.change_id),
        )

    def _holds(self, target: str, now: Millis) -> Holds:
        version = self._look(now).version
        content = self._scaffold.standing(target)
        return Holds(
            version=version, target_sha256=None if content is None else content_sha256(content)
        )

    def _earlier(self, change_id: str) -> Judgment | None:
        """The last judgment that the ledger has on a change."""
        found = None
        for judgment in self._last_judgments():
            found = judgment if judgment.change_id == change_id else found
        return found

    def _last_judgments(self) -> Sequence[Judgment]:
        ledger = self._stores.files[JUDGMENTS]
        head: Head = ledger.head
        lines = ledger.read(after_seq=max(0, head.seq - A_CHANGE), until=head)
        return [line.body for line in lines if isinstance(line.body, Judgment)]

    # --- as a job ----------------------------------------------------------------------------

    def job(self) -> JobRow:
        """As one of the jobs that can be run by hand."""
        summary = "Decides whether the change that is tested stays"
        return JobRow("judge", summary, self.not_due, self.run, self._last_at)

    def _last_at(self) -> Millis | None:
        ledger = self._stores.files[JUDGMENTS]
        last = next(ledger.read(after_seq=max(0, ledger.head.seq - 1)), None)
        return None if last is None else last.at


def watched_at(life: ChangeLife) -> Millis:
    """When the change that is watched came to be."""
    return next(told.at for told in reversed(life.told) if told.status == "watched")


def _check(judgment: Judgment, hearing: Hearing) -> None:
    """The gateway writes nothing that was not asked for, whoever says it."""
    asked = hearing.case
    head = (judgment.fitness_head.seq, judgment.fitness_head.sha256)
    if judgment.change_id != asked.change.change_id:
        fault = "it is on another change"
    elif judgment.restored_version not in (None, asked.base_version):
        fault = "it restores what is not the parent"
    elif head != (hearing.fitness.seq, hearing.fitness.sha256):
        fault = "it rests on other lines than were given"
    else:
        return
    raise RecordError(f"The judge's answer was not taken: {fault}.", kind="Ruling", reason=fault)


def _said(reasons: tuple[str, ...]) -> str:
    return " ".join(told(reasons, None, Delta(), None))


def _done(*sentences: str, why_not: str | None = None) -> JobDone:
    return JobDone(name="judge", ran=True, done=sentences, why_not=why_not)
