"""Operations that look at a home from outside: they work also when a ledger cannot be opened."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from gnomon.daemon import arguments as args
from gnomon.daemon.health.doctor import diagnose
from gnomon.daemon.health.self_tests import recorded
from gnomon.daemon.platform import Platform
from gnomon.domain.errors import GnomonError
from gnomon.domain.records import Sha256
from gnomon.domain.views import Diagnosis, Journal, Verification
from gnomon.gateway.operation import Nothing, Operation, Progress
from gnomon.home import AgentPaths, Home
from gnomon.ledger.verify import verify
from gnomon.models import offers
from gnomon.models.weights import find_weights


def inspection(
    home: Home, agent: AgentPaths, platform: Platform, fitness_in_force: Sha256 | None = None
) -> Iterable[Operation]:
    """The rows of the table that need no open core. An open one has a fitness-config in force."""

    async def verification(_: Nothing, __: Progress) -> Verification:
        return await asyncio.to_thread(verify, home)

    async def doctor(_: Nothing, __: Progress) -> Diagnosis:
        return await asyncio.to_thread(
            diagnose,
            home,
            agent,
            platform.environ,
            jail_level=platform.jail_level,
            verify=lambda: _summary(verify(home)),
            weights=lambda: _weights(home),
            self_tests=lambda: recorded(agent.state),
            listens=lambda address: asyncio.run(offers.listens(address)),
            fitness_in_force=fitness_in_force,
        )

    async def journal(asked: args.JournalTail, _: Progress) -> Journal:
        return Journal(lines=tail(agent.journal, asked.lines))

    return (
        Operation(
            "trust.verify",
            "Walk every ledger's chain",
            Nothing,
            Verification,
            verification,
            reads=True,
        ),
        Operation(
            "trust.doctor",
            "What could be wrong, and the fix",
            Nothing,
            Diagnosis,
            doctor,
            reads=True,
        ),
        Operation(
            "journal.tail", "What it did by itself", args.JournalTail, Journal, journal, reads=True
        ),
    )


def _summary(found: Verification) -> tuple[bool, str]:
    bad = next((ledger for ledger in found.ledgers if not ledger.ok), None)
    if bad is not None and bad.first_bad is not None:
        return False, f"{bad.name}, line {bad.first_bad.line}: {bad.first_bad.reason}"
    lines = sum(ledger.lines for ledger in found.ledgers)
    return found.ok, f"{lines:,} lines in {len(found.ledgers)} files, every chain whole"


def _weights(home: Home) -> Path | None:
    try:
        return find_weights(home.models)
    except GnomonError:
        return None


TAIL_BYTES_A_LINE = 2_000


def tail(path: Path, lines: int) -> tuple[str, ...]:
    """The last lines of a text file, from its end: O(lines), whatever its size."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            start = max(0, size - lines * TAIL_BYTES_A_LINE)
            file.seek(start)
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ()
    whole = text.split("\n")
    return tuple(line for line in (whole[1:] if start else whole) if line)[-lines:]
