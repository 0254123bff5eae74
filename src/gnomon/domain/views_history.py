"""What was read of other agents' histories, as people and programs see it: imports, the report."""

from typing import Literal

import msgspec

from gnomon.domain.views import Source, View

LooseEndKind = Literal["error", "interruption", "open-todos"]


class BadLine(View, frozen=True):
    line: int
    reason: str


class TokenCounts(View, frozen=True):
    input: int | None
    output: int | None
    cache_read: int | None
    cache_creation: int | None


class ImportRow(View, frozen=True):
    """One file read. Null where the format cannot tell, which is not 0."""

    file: str
    format: str | None
    sessions: int
    user_turns: int
    tool_calls: dict[str, int]
    tool_errors: int | None
    interruptions: int | None
    rejections: int | None
    models: tuple[str, ...]
    tokens: TokenCounts
    first_at: str | None
    last_at: str | None
    bad_lines: tuple[BadLine, ...]
    new_observations: int
    fused_lines: tuple[int, ...] = ()
    """Lines that held several records; all of them were read."""
    not_records: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    """Well-formed JSON that is no record of the format, by what it is: counted, not read."""
    note: str | None = None
    """Why nothing was read: empty, unreadable, another format."""


class HistoryFound(View, frozen=True):
    """Another agent's history on this machine, counted by file name only. `unread` are those of
    its sessions that were never read; null where that is not known.
    """

    source: str
    path: str
    sessions: int
    days: int | None
    unread: int | None = None


class WatchView(View, frozen=True):
    """Whether other agents' histories are read on as they grow. `fault` says what of them is not
    watched, and why.
    """

    on: bool
    folders: int
    fault: str | None = None


class Correction(View, frozen=True):
    text: str
    sessions: int
    last_at: str | None
    sources: tuple[Source, ...]


class FailureGroup(View, frozen=True):
    tool: str
    family: str
    count: int
    median_minutes_to_success: float | None
    last_at: str | None = None
    sources: tuple[Source, ...] = ()


class Repeat(View, frozen=True):
    procedure: str
    count: int
    clean: int
    sources: tuple[Source, ...] = ()


class LooseEnd(View, frozen=True):
    session: str
    kind: LooseEndKind
    at: str | None
    resume: str
    source: str = ""
    project: str | None = None
    title: str | None = None
    """The last thing that was asked there."""
    path: str | None = None
    line: int | None = None


class CostRow(View, frozen=True):
    """List price, not a bill; `usd` is null for a model without a listed price."""

    project: str | None
    model: str
    usd: float | None


class Report(View, frozen=True):
    """`turns` is how many were read in all: 0 means that there is nothing to report on yet.
    `asked_turns` are those within what was asked for (`--since`, `--project`), and `newest_at` is
    the latest time of the projects asked for, whatever the time asked for; null where none has one.
    """

    corrections: tuple[Correction, ...]
    failures: tuple[FailureGroup, ...]
    repeats: tuple[Repeat, ...]
    loose_ends: tuple[LooseEnd, ...]
    cost: tuple[CostRow, ...]
    turns: int = 0
    asked_turns: int | None = None
    newest_at: str | None = None
