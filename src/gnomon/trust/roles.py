"""The trust table: who may read, author, ask, reach and run what. Data, in one place.

The gateway asks it before it writes or answers; the jail is built from it; the Trust page and
the documentation print it. A role that is not here cannot start, and what a row does not
grant is refused.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from gnomon.domain.errors import TrustError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.policy import Role

Life = Literal["long", "on-demand", "one-a-run", "job", "outside"]
"""How long a process of the role lives. `outside`: no process that the gateway starts."""

Network = Literal["none", "loopback", "granted-ports"]
"""`granted-ports`: TCP connects to the ports of its grant, and nothing when it has none."""

ModelAccess = Literal["none", "asks", "is"]

MIB = 1024 * 1024
GIB = 1024 * MIB


@dataclass(frozen=True)
class Limits:
    """What the operating system holds a process of the role to. Bytes; null means no limit.

    `data` bounds private writable memory (RLIMIT_DATA): a model file that is mapped does not
    count, what is computed from it does. `address_space` bounds everything mapped.
    `file_size` is the longest file it can write, `processes` how many tasks it may have.
    """

    data: int
    address_space: int | None
    file_size: int
    descriptors: int
    processes: int


SMALL = Limits(data=512 * MIB, address_space=4 * GIB, file_size=0, descriptors=128, processes=64)
"""An agent's loop or a job over text."""
READER = Limits(data=2 * GIB, address_space=16 * GIB, file_size=0, descriptors=256, processes=64)
"""Reads transcripts."""
INDEXER = Limits(
    data=2 * GIB, address_space=16 * GIB, file_size=8 * GIB, descriptors=256, processes=512
)
"""Keeps a search index in the one file that it is granted (docs/adr/0503-recall-index.md). Its
libraries may start a thread for each core."""
ENGINE = Limits(data=16 * GIB, address_space=None, file_size=0, descriptors=256, processes=512)
"""Holds a model: weights are mapped, the context's memory is not."""
SHOP = Limits(data=4 * GIB, address_space=None, file_size=4 * GIB, descriptors=1024, processes=512)
"""Runs other people's programs, some of which reserve address space by the terabyte."""


@dataclass(frozen=True)
class Author:
    """A ledger that a role authors, and the kinds of line it may put there."""

    ledger: str
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class RoleTrust:
    """One row. `may_read` and `may_write` are for people; the grant of a start says which
    paths. `asks` are the operations it may ask of the gateway, `answers` those that the
    gateway may ask of it. `limits` is null for what the gateway does not start. `listens`:
    without a network it may wait on a unix socket of its own, since its library insists
    (docs/adr/0302-embedded-engine.md); it can connect to none.
    """

    role: Role
    life: Life
    may_read: str
    may_write: str
    authors: tuple[Author, ...] = ()
    asks: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    network: Network = "none"
    may_exec: bool = False
    model: ModelAccess = "none"
    limits: Limits | None = None
    listens: bool = False

    @property
    def starts(self) -> bool:
        """Whether the gateway may start a jailed process of this role."""
        return self.limits is not None


_DECISIONS = Author(
    "decision-ledger",
    ("started", "stopped", "tick", "reflection", "executive-attempt", "surface", "mode", "error"),
)
_ENGAGEMENT = Author(
    "engagement-ledger",
    ("surface_emitted", "outcome", "gateway_started", "gateway_stopped", "clock-stepped"),
)
_RUN = Author("run", ("run", "step", "turn", "closed"))
_AGENT_ASKS = ("model.complete", "event")


def _job(role: Role, may_read: str, *, asks: tuple[str, ...] = ()) -> RoleTrust:
    """A job that is handed its input and returns proposals."""
    return RoleTrust(
        role,
        "job",
        may_read,
        "nothing: it returns proposals",
        asks=asks,
        answers=("work", "stop"),
        model="asks" if "model.complete" in asks else "none",
        limits=SMALL,
    )


TABLE: tuple[RoleTrust, ...] = (
    RoleTrust(
        "gateway",
        "long",
        "the home",
        "the home; applies and reverts changes; snapshots",
        authors=(
            _ENGAGEMENT,
            Author("spend-ledger", ("spend",)),
            Author("refinement-ledger", ("change", "step")),
            Author("anchors", ("anchor",)),
            Author(
                "approvals",
                ("held", "reminded", "decided", "executed", "refused", "redone", "expired"),
            ),
        ),
        network="loopback",
    ),
    RoleTrust(
        "resident",
        "long",
        "scaffold, skills and memory index, handed over or granted",
        "nothing: asks for decisions, artifacts, self-state, runs, surfaces",
        authors=(
            _DECISIONS,
            Author("artifact-ledger", ("artifact",)),
            Author("session", ("session", "message", "undone")),
            _RUN,
            Author("observations", ("observation",)),
        ),
        asks=(
            "ledger.append",
            "state.put",
            "model.complete",
            "tool.run",
            "recall",
            "event",
            "surface",
            "artifact.put",
        ),
        answers=("tick", "turn", "stop"),
        model="asks",
        limits=SMALL,
    ),
    RoleTrust(
        "tool-host",
        "one-a-run",
        "the workspace; folders granted by the operator",
        "the workspace; granted folders where the grant says so",
        answers=("tool", "stop"),
        may_exec=True,
        limits=SHOP,
    ),
    RoleTrust(
        "fitness-writer",
        "job",
        "decision-, artifact-, engagement-ledger up to given heads; fitness-config",
        "nothing: it returns lines, which the gateway appends",
        authors=(Author("fitness-ledger", ("window", "amendment", "gap")),),
        answers=("work", "stop"),
        limits=SMALL,
    ),
    RoleTrust(
        "judge",
        "job",
        "fitness-ledger; is handed the change, what the scaffold holds, fitness-config",
        "nothing: it returns a verdict; the gateway writes it down and restores",
        authors=(Author("judgment-ledger", ("judgment",)),),
        answers=("work", "stop"),
        limits=SMALL,
    ),
    RoleTrust(
        "refiner",
        "job",
        "nothing: four tools answer over the pipe",
        "nothing: its one write tool is a request",
        asks=(
            *_AGENT_ASKS,
            "read_scaffold",
            "write_scaffold",
            "read_fitness_ledger",
            "read_trajectory_window",
        ),
        answers=("work", "stop"),
        model="asks",
        limits=SMALL,
    ),
    _job("reviewer", "what it was handed", asks=_AGENT_ASKS),
    _job("proposer", "what it was handed", asks=_AGENT_ASKS),
    _job("summarizer", "what it was handed", asks=_AGENT_ASKS),
    _job("distiller", "what it was handed", asks=_AGENT_ASKS),
    _job("consolidator", "what it was handed", asks=_AGENT_ASKS),
    _job("compactor", "what it was handed", asks=_AGENT_ASKS),
    RoleTrust(
        "importer",
        "job",
        "folders chosen by the operator",
        "nothing: returns observations",
        authors=(Author("observations-imported", ("observation", "imported-session")),),
        answers=("import", "next", "stop"),
        limits=READER,
    ),
    RoleTrust(
        "recall",
        "on-demand",
        "memory, skills, observations",
        "its index alone, which can be rebuilt: answers",
        answers=("index", "search", "stop"),
        limits=INDEXER,
    ),
    RoleTrust(
        "probe",
        "job",
        "a scratch copy",
        "the scratch copy",
        asks=(*_AGENT_ASKS, "tool.run"),
        answers=("work", "stop"),
        model="asks",
        limits=SMALL,
    ),
    RoleTrust(
        "model-host",
        "on-demand",
        "the model file",
        "nothing",
        answers=("load", "complete", "stop"),
        network="granted-ports",
        model="is",
        limits=ENGINE,
        listens=True,
    ),
    RoleTrust(
        "mcp-server",
        "on-demand",
        "its grant",
        "its grant",
        answers=("list", "call", "stop"),
        network="granted-ports",
        may_exec=True,
        limits=SHOP,
    ),
    RoleTrust(
        "operator",
        "outside",
        "all, through the gateway",
        "engagement, decisions on approvals, config, through the gateway",
        authors=(
            Author("engagement-ledger", ("outcome",)),
            Author("approvals", ("decided", "undone", "forgotten")),
        ),
        network="loopback",
    ),
    RoleTrust(
        "client",
        "outside",
        "what its scope names, through the gateway",
        "turns, observations, proposals; never engagement, presence or decisions",
        network="loopback",
    ),
)

BY_ROLE: dict[str, RoleTrust] = {row.role: row for row in TABLE}


def trust_of(role: str) -> RoleTrust:
    """The row of a role. Raises TrustError for a role that is not in the table."""
    row = BY_ROLE.get(role)
    if row is None:
        raise TrustError(
            f"The trust table has no role {role!r}.",
            next_step="Only roles in the trust table can act or start.",
            role=role,
        )
    return row


def check_start(role: str) -> tuple[RoleTrust, Limits]:
    """The row and limits of a role that may be started. Raises TrustError for any other."""
    row = trust_of(role)
    if row.limits is None:
        raise TrustError(f"No process is started in the role {role!r}.", role=role)
    return row, row.limits


def check_op(role: str, op: str) -> None:
    """Raise TrustError unless the role may ask this operation of the gateway."""
    if op not in trust_of(role).asks:
        raise TrustError(f"The role {role!r} may not ask {op!r}.", role=role, op=op)


def check_append(role: str, ledger: str, kind: str) -> None:
    """Raise TrustError unless the role authors lines of this kind in this ledger."""
    for author in trust_of(role).authors:
        if author.ledger == ledger and kind in author.kinds:
            return
    raise TrustError(
        f"The role {role!r} may not author {kind!r} in {ledger!r}.",
        role=role,
        op="ledger.append",
        ledger=ledger,
        kind=kind,
    )


Answer = Callable[[str, Fields, Callable[[Json], None]], Awaitable[Json]]


def guard(role: Role, answer: Answer) -> Answer:
    """Put the table before an answerer: what the role may not ask never reaches it.

    An append is looked up whole (ledger and kind), so that an answerer that forgot to ask
    the table still cannot write for the wrong author.
    """

    async def guarded(op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
        check_op(role, op)
        if op == "ledger.append":
            check_append(role, str(args.get("name")), str(args.get("kind")))
        return await answer(op, args, send_part)

    return guarded


@dataclass(frozen=True)
class TableRow:
    """A row as the Trust page and the documentation print it."""

    role: str
    life: str
    may_read: str
    may_author: str
    network: str
    exec: str
    model: str
    asks: str


def table_page() -> tuple[TableRow, ...]:
    """The whole table in words, in its own order."""
    return tuple(
        TableRow(
            role=row.role,
            life=row.life,
            may_read=row.may_read,
            may_author=_authored(row),
            network=row.network,
            exec="may" if row.may_exec else "none",
            model=row.model,
            asks=", ".join(row.asks) or "nothing",
        )
        for row in TABLE
    )


def _authored(row: RoleTrust) -> str:
    ledgers = ", ".join(author.ledger for author in row.authors)
    return "; ".join(part for part in (ledgers, row.may_write) if part)
