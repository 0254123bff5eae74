"""Every ledger of a home and one agent, opened once, and the journal. The one writer.

Reached from the wiring alone: children ask over the pipe (`child_requests`), people through
operations.
"""

from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

from gnomon.daemon.store.journal import Journal
from gnomon.disk import SYSTEM_DISK, Disk
from gnomon.domain.errors import LedgerCorruptError, LedgerError
from gnomon.domain.ledgers import BODIES, Ack, Head, LedgerName
from gnomon.domain.ports import Clock, Ledger
from gnomon.domain.records import AnchoredHead, Body
from gnomon.home import AgentPaths, Home
from gnomon.ledger.anchors import Anchors
from gnomon.ledger.family import LedgerFamily
from gnomon.ledger.file import LedgerFile
from gnomon.ledger.places import key, ledgers_of
from gnomon.ledger.stretch import StretchCount
from gnomon.ledger.verify import first_bad

OF_HOME: frozenset[LedgerName] = frozenset({"spend-ledger"})
"""Ledgers of the home, whose anchors name no agent."""


@dataclass
class Stores:
    """`files` by name, which count together when the clock was set back; `sessions` and `runs` by
    id.
    """

    home: Home
    agent: AgentPaths
    clock: Clock
    files: dict[LedgerName, LedgerFile]
    sessions: LedgerFamily
    runs: LedgerFamily
    anchors: Anchors
    stretch: StretchCount
    log: Journal
    refusing: set[LedgerName] = field(default_factory=set[LedgerName])

    def ledger(self, name: LedgerName, member: str | None = None) -> Ledger:
        """The ledger of a name; `session` and `run` need the member's id."""
        match name, member:
            case "session", str():
                return self.sessions.get(member)
            case "run", str():
                return self.runs.get(member)
            case _:
                return self.files[name]

    async def append(
        self, name: LedgerName, body: Body, *, member: str | None = None, durable: bool = True
    ) -> Ack:
        """As `Ledger.append`; that lines are refused, and that they are taken again, is said
        once for each kind of ledger.
        """
        try:
            ack = await self.ledger(name, member).append(body, durable=durable)
        except LedgerError as error:
            if name not in self.refusing:
                self.refusing.add(name)
                self.journal(str(error))
            raise
        if name in self.refusing:
            self.refusing.discard(name)
            self.journal(f"Lines of {name} are taken again.")
        return ack

    async def anchor(self, *, now: bool = False) -> None:
        """Write down where every ledger ends: each hour when something changed, or now."""
        heads = self._heads()
        await (self.anchors.write(heads) if now else self.anchors.write_if_due(heads))

    def begin_segments(self) -> None:
        """The clock was set back: each ledger's next line begins its next file, where times may
        start lower.
        """
        self.stretch.set_back(self.clock.wall())

    @property
    def is_whole(self) -> bool:
        """Whether every ledger accepts lines."""
        return not (
            self.sessions.has_failed
            or self.runs.has_failed
            or any(file.closed_because is not None for file in self.files.values())
        )

    async def reopen_closed(self) -> None:
        """Try what a failed sync closed again; what verifies accepts lines again. Lines that
        had been taken before their sync may be gone by that (`recovery`).
        """
        self.log.retry()
        for file in self.files.values():
            if file.closed_because is not None:
                try:
                    await file.reopen_verified(self.journal)
                except LedgerError as error:
                    self.journal(f"{file.name} stays closed: {error}")
                else:
                    self.journal(f"{file.name} was closed after a failure and is open again.")
        for family in (self.sessions, self.runs):
            await family.reopen_failed()

    def journal(self, sentence: str) -> None:
        """One line of `journal.md`: what was done on its own, for people. Never raises."""
        self.log.say(sentence)

    async def close(self) -> None:
        """Close all; the last anchor first, so that a later start checks from there."""
        try:
            await self.anchor(now=True)
        finally:
            await self.sessions.close()
            await self.runs.close()
            for file in self.files.values():
                await file.close()

    def _heads(self) -> dict[str, Head]:
        agent = self.agent.agent
        heads = {
            name if name in OF_HOME else key(agent, name): file.durable_head
            for name, file in self.files.items()
            if name != "anchors"
        }
        families = {**self.sessions.heads(), **self.runs.heads()}
        return {**heads, **{key(agent, name): head for name, head in families.items()}}


def open_stores(
    home: Home,
    agent: AgentPaths,
    clock: Clock,
    disk: Disk = SYSTEM_DISK,
    threads: Executor | None = None,
) -> Stores:
    """Open every ledger, each checked from its last anchor; a torn tail is set aside with a
    journal line. Raises LedgerCorruptError, naming file and line, when one cannot be trusted.
    """
    log = Journal(agent.journal, clock.wall)
    said, stretch = log.say, StretchCount()

    def opened(
        path: Path, name: LedgerName, place: str, known: AnchoredHead | None = None
    ) -> LedgerFile:
        try:
            return LedgerFile.open(
                path,
                name,
                BODIES[name],
                clock,
                said,
                known=known,
                stretch=stretch,
                disk=disk,
                threads=threads,
            )
        except LedgerCorruptError as error:
            raise _as_verify_names_it(home, place, error) from error

    anchor_file = opened(home.anchors, "anchors", "anchors")
    anchors = Anchors(anchor_file, clock)

    def of_agent(path: Path, name: LedgerName) -> LedgerFile:
        place = key(agent.agent, name)
        return opened(path, name, place, anchors.known(place))

    def family(folder: Path, name: LedgerName) -> LedgerFamily:
        return LedgerFamily(
            folder,
            name,
            BODIES[name],
            clock,
            said,
            known=lambda member: anchors.known(key(agent.agent, member)),
            disk=disk,
            threads=threads,
        )

    return Stores(
        home=home,
        agent=agent,
        clock=clock,
        files={
            "anchors": anchor_file,
            "spend-ledger": opened(
                home.spend_ledger, "spend-ledger", "spend-ledger", anchors.known("spend-ledger")
            ),
            **{name: of_agent(path, name) for name, path in ledgers_of(agent).items()},
        },
        sessions=family(agent.sessions, "session"),
        runs=family(agent.runs, "run"),
        anchors=anchors,
        stretch=stretch,
        log=log,
    )


def _as_verify_names_it(home: Home, place: str, error: LedgerCorruptError) -> LedgerCorruptError:
    """The first bad line of the whole ledger: opening looks at its end, and may have met a later
    one. O(n), for an error only.
    """
    bad = first_bad(home, place)
    name = error.facts.get("ledger")
    if bad is None or bad.line == error.facts.get("line"):
        return error
    return LedgerCorruptError(
        f"Line {bad.line} of {name} is bad: {bad.reason}.",
        next_step=error.next_step,
        ledger=name,
        line=bad.line,
        reason=bad.reason,
    )
