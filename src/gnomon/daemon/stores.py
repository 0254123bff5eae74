"""Every ledger of a home and one agent, opened once, and the journal. The one writer.

Reached from the wiring alone: children ask over the pipe (`child_requests`), people through
operations.
"""

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass

from gnomon.domain.instants import Millis, iso
from gnomon.domain.ledgers import BODIES, Ack, Head, LedgerName
from gnomon.domain.ports import Clock, Ledger
from gnomon.domain.records import Body
from gnomon.home import AgentPaths, Home
from gnomon.ledger.family import LedgerFamily
from gnomon.ledger.file import LedgerFile

FILES: tuple[LedgerName, ...] = (
    "decision-ledger",
    "artifact-ledger",
    "engagement-ledger",
    "spend-ledger",
    "observations",
    "observations-imported",
    "anchors",
)


@dataclass
class Stores:
    """`files` by name; `sessions` and `runs` by id."""

    home: Home
    agent: AgentPaths
    clock: Clock
    files: dict[LedgerName, LedgerFile]
    sessions: LedgerFamily
    runs: LedgerFamily

    def ledger(self, name: LedgerName, member: str | None = None) -> Ledger:
        """The ledger of a name; `session` and `run` need the member's id."""
        match name, member:
            case "session", str():
                return self.sessions.get(member)
            case "run", str():
                return self.runs.get(member)
            case ("session" | "run"), None:
                raise KeyError(f"{name} needs an id")
            case _:
                return self.files[name]

    async def append(
        self, name: LedgerName, body: Body, *, member: str | None = None, durable: bool = True
    ) -> Ack:
        return await self.ledger(name, member).append(body, durable=durable)

    def heads(self) -> dict[str, Head]:
        """For anchors: where each ledger file of this life ends."""
        return {name: file.head for name, file in self.files.items() if name != "anchors"}

    def journal(self, sentence: str) -> None:
        """One line of `journal.md`: what was done on its own, for people."""
        journal(self.agent, self.clock.wall(), sentence)

    async def close(self) -> None:
        await self.sessions.close()
        await self.runs.close()
        for file in self.files.values():
            await file.close()


def journal(agent: AgentPaths, at: Millis, sentence: str) -> None:
    """Append one dated line; whole lines only, whoever else writes."""
    line = f"- {iso(at)} {' '.join(sentence.split())}\n".encode("utf-8", "replace")
    descriptor = os.open(agent.journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with contextlib.closing(os.fdopen(descriptor, "wb", buffering=0)) as file:
        file.write(line)


def open_stores(home: Home, agent: AgentPaths, clock: Clock) -> Stores:
    """Open every ledger; a torn tail is set aside with a journal line.

    Raises LedgerCorruptError, naming file and line, when one cannot be trusted.
    """
    said: Callable[[str], None] = lambda sentence: journal(agent, clock.wall(), sentence)  # noqa: E731
    paths = {
        "decision-ledger": agent.decision_ledger,
        "artifact-ledger": agent.artifact_ledger,
        "engagement-ledger": agent.engagement_ledger,
        "spend-ledger": home.spend_ledger,
        "observations": agent.observations,
        "observations-imported": agent.observations_imported,
        "anchors": home.anchors,
    }
    files: dict[LedgerName, LedgerFile] = {
        name: LedgerFile.open(paths[name], name, BODIES[name], clock, said) for name in FILES
    }
    return Stores(
        home=home,
        agent=agent,
        clock=clock,
        files=files,
        sessions=LedgerFamily(agent.sessions, "session", BODIES["session"], clock, said),
        runs=LedgerFamily(agent.runs, "run", BODIES["run"], clock, said),
    )
