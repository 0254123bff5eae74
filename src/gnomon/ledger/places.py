"""Which ledgers a home holds, and the name each has in anchors and in `gnomon verify`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gnomon.domain.ledgers import BODIES, LedgerName
from gnomon.home import AgentPaths, Home
from gnomon.ledger.segments import is_later_segment


@dataclass(frozen=True)
class Place:
    """`key` is unique in the home: `anchors`, `<agent>/decision-ledger`,
    `<agent>/session/<id>`.
    """

    key: str
    path: Path
    bodies: object


def key(agent: str, name: str) -> str:
    """The key of a ledger of an agent: anchors name it by this."""
    return f"{agent}/{name}"


def places(home: Home) -> Iterator[Place]:
    """Every ledger that has a file, in a steady order; anchors first."""
    yield from _existing(home.anchors, "anchors", "anchors")
    yield from _existing(home.spend_ledger, "spend-ledger", "spend-ledger")
    for agent in agents(home):
        yield from _of_agent(home.agent(agent))


def agents(home: Home) -> tuple[str, ...]:
    """The ids of the home's agents, sorted."""
    if not home.agents.is_dir():
        return ()
    return tuple(sorted(path.name for path in home.agents.iterdir() if path.is_dir()))


def ledgers_of(agent: AgentPaths) -> dict[LedgerName, Path]:
    """The first file of each single ledger of an agent, in a steady order."""
    return {
        "decision-ledger": agent.decision_ledger,
        "artifact-ledger": agent.artifact_ledger,
        "engagement-ledger": agent.engagement_ledger,
        "fitness-ledger": agent.fitness_ledger,
        "refinement-ledger": agent.refinement_ledger,
        "judgment-ledger": agent.judgment_ledger,
        "approvals": agent.approvals,
        "observations": agent.observations,
        "observations-imported": agent.observations_imported,
    }


def _of_agent(agent: AgentPaths) -> Iterator[Place]:
    for name, path in ledgers_of(agent).items():
        yield from _existing(path, key(agent.agent, name), name)
    families: tuple[tuple[LedgerName, Path], ...] = (
        ("session", agent.sessions),
        ("run", agent.runs),
    )
    for name, folder in families:
        for path in sorted(folder.glob("*.jsonl")):
            if not is_later_segment(path):
                yield Place(key(agent.agent, f"{name}/{path.stem}"), path, BODIES[name])


def _existing(path: Path, known_as: str, name: LedgerName) -> Iterator[Place]:
    if path.exists():
        yield Place(known_as, path, BODIES[name])
