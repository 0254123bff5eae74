"""What operations answer: the JSON of the CLI, the HTTP API and the pages, in one place.

Field names and meanings are promises to other programs (the CLI's `--json`).
"""

from typing import Literal

import msgspec

from gnomon.domain.json_value import Fields
from gnomon.domain.policy import Autonomy
from gnomon.domain.records import Mode, Origin, SurfaceKind
from gnomon.domain.records_referee import OutcomeKind, OutcomeSource

JailLevel = Literal["full", "partial", "none"]
ModelKind = Literal["none", "demo", "local", "remote"]
"""`demo` is the embedded model: nothing rests on its judgment."""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all answers."""


class ModelView(View, frozen=True):
    name: str
    kind: ModelKind
    loaded: bool


class StandingCost(View, frozen=True):
    """What the background used in the last hour, or since it began where that is less: counted,
    never projected. Null where unknown (`usd_per_hour`: the model has no price).
    """

    tokens_per_hour: float | None
    usd_per_hour: float | None
    seconds_per_hour: float | None


class BudgetView(View, frozen=True):
    usd_per_day: float
    usd_spent_today: float
    tokens_per_day: int
    tokens_spent_today: int
    duty_cycle_left_seconds: float
    breaker_open_until: str | None


class Status(View, frozen=True):
    running: bool
    pid: int | None
    agent: str
    mode: Mode
    effective_mode: Mode
    model: ModelView
    ticks: int
    reflections: int
    skipped: dict[str, int]
    jail: dict[str, JailLevel]
    autonomy: Autonomy
    budget: BudgetView
    standing_cost: StandingCost
    url: str | None = None
    home: str = ""
    paused_until: str | None = None
    remote_calls: int | None = None
    """Model calls ever sent off this machine, from the spend ledger. Null: not counted yet.
    The first page says "nothing has left this machine" at 0 alone."""
    usd_spent: float | None = None
    """All that was ever spent, from the spend ledger."""
    doing: str | None = None
    next_tick_at: str | None = None
    last_focus: str | None = None


UNDATED = "no date in its transcript"
"""What is said where a transcript gives no time at all: none is invented."""


class Source(View, frozen=True):
    """A dated quote and where it stands. `path` and `line` open it. `session_at` is when its
    session began, where nothing dates the quote itself.
    """

    source: str
    session: str
    at: str | None
    path: str | None
    line: int | None
    quote: str
    session_at: str | None = None

    @property
    def dated(self) -> str:
        """Its day as people read it; where only its session's is known, that is said."""
        if self.at is not None:
            return self.at[:10]
        return f"session of {self.session_at[:10]}" if self.session_at else UNDATED


class TurnReply(View, frozen=True):
    session: str
    turn: int
    reply: str
    sources: tuple[Source, ...]
    steps: int
    tools: dict[str, int]
    seconds: float
    tokens_in: int | None
    tokens_out: int | None
    stop_reason: str = "done"
    model: str | None = None
    model_says: str | None = None
    """The demo model's sentence, kept apart from the reply and labelled where shown."""


class SessionView(View, frozen=True):
    session: str
    title: str
    turns: int
    last_at: str | None


class MessageView(View, frozen=True):
    turn: int
    role: Literal["user", "assistant"]
    text: str
    at: str
    undone: bool = False


class Folder(View, frozen=True):
    path: str
    writable: bool


class FirstBad(View, frozen=True):
    line: int
    reason: str


class LedgerReport(View, frozen=True):
    name: str
    lines: int
    head: str
    ok: bool
    first_bad: FirstBad | None = None


class Verification(View, frozen=True):
    ok: bool
    ledgers: tuple[LedgerReport, ...]


class Check(View, frozen=True):
    """One of doctor's findings. `fix` says what to do; empty when it is well."""

    name: str
    ok: bool
    level: Literal["ok", "warning", "error"]
    detail: str
    fix: str


class TrustRow(View, frozen=True):
    """One role of the trust table, as people read it. `level` is null while it never ran."""

    role: str
    life: str
    may_read: str
    may_write: str
    authors: tuple[str, ...]
    network: str
    may_exec: bool
    model: str
    jailed: bool
    level: JailLevel | None = None


class Diagnosis(View, frozen=True):
    checks: tuple[Check, ...]


class ModelOffer(View, frozen=True):
    """A model that could be used: embedded, a server found, a key found in the environment."""

    name: str
    kind: ModelKind
    current: bool
    detail: str
    use: Fields
    """The arguments of `model.use` that would choose it."""


class Done(View, frozen=True):
    """An act was carried out; `detail` says what changed."""

    detail: str


class InboxItem(View, frozen=True):
    """Something that was brought to the operator. `outcome` and `source` are null while it is
    open. `open_until` is when it would be let pass if the machine stays awake; null once that
    is past or nothing can change it any more. `body` is given where one item is shown.
    """

    surface_id: str
    kind: SurfaceKind
    title: str
    emitted_at: str
    scaffold_version: str
    origin: Origin
    outcome: OutcomeKind | None
    source: OutcomeSource | None
    open_until: str | None
    synthetic: bool = False
    artifact: str | None = None
    body: str | None = None


class InboxShown(View, frozen=True):
    """One item with its text. `edited` is the operator's own wording of it, where there is one;
    `fault` says why the text is not what was shown, or is not there.
    """

    item: InboxItem
    edited: str | None = None
    fault: str | None = None


class Emitted(View, frozen=True):
    """A surface that was brought to the operator."""

    surface_id: str


class ArtifactShown(View, frozen=True):
    """An artifact as it stands in its file, frontmatter and all."""

    artifact: str
    text: str


class Journal(View, frozen=True):
    """The newest lines of the agent's journal, oldest first."""

    lines: tuple[str, ...]


class LoginLink(View, frozen=True):
    """An address that signs one browser in, once, until `expires_at`."""

    url: str
    expires_at: str


class MonthLink(LoginLink, frozen=True):
    """`ends_with_this`: this Gnomon started the month's gateway, and ends it with itself."""

    ends_with_this: bool


class Simulated(View, frozen=True):
    """What a simulated stretch of days came to. `violations` must be empty.

    `outcomes` counts surfaces by what stands for them (`open`: nothing yet), `null_windows`
    standing windows by why a number in them is null, `faults` what went wrong by its kind.
    """

    days: int
    seed: int
    operator: str
    ticks: int
    reflections: int
    skipped: dict[str, int]
    turns: int
    surfaces: int
    outcomes: dict[str, int]
    windows: int
    null_windows: dict[str, int]
    restarts: int
    faults: dict[str, int]
    violations: tuple[str, ...]
    seconds: float
    home: str | None = None
