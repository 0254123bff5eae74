"""A pretended Gnomon behind the table of operations: what the gateway's doors are tried on.

Its answers are plain attributes that a test may set, and it notes every call. It serves the
same arguments and answers as the daemon's own table.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gnomon.daemon import arguments as given
from gnomon.domain.events import Event
from gnomon.domain.instants import Millis
from gnomon.domain.views import (
    BadLine,
    BudgetView,
    Check,
    Correction,
    CostRow,
    Diagnosis,
    Done,
    FailureGroup,
    FirstBad,
    Folder,
    HistoryFound,
    ImportRow,
    Journal,
    LedgerReport,
    LooseEnd,
    MessageView,
    ModelOffer,
    ModelView,
    Repeat,
    Report,
    SessionView,
    Source,
    StandingCost,
    Status,
    TokenCounts,
    TrustRow,
    TurnReply,
    Verification,
)
from gnomon.gateway.authority import Authority, Session, digest
from gnomon.gateway.operation import Authority as Scope
from gnomon.gateway.operation import Nothing, Operation, Progress
from gnomon.gateway.stream import Stream
from gnomon.gateway.trust_rows import trust_rows
from gnomon.gateway.wiring import Wiring

OPERATOR_TOKEN = "operator-token-of-a-test"  # noqa: S105 - opens nothing but a test
CLIENT_TOKEN = "client-token-of-a-test"  # noqa: S105
NOON = Millis(1_780_000_000_000)

NO_TOKENS = TokenCounts(input=None, output=None, cache_read=None, cache_creation=None)
QUOTE = Source(
    source="claude-code",
    session="5f1c",
    at="2026-05-12T09:14:00.000Z",
    path="/home/ada/.claude/projects/shop/5f1c.jsonl",
    line=212,
    quote=(
        "The test was flaky because two cases shared one temporary port. Fixed by binding "
        "port 0 and reading the address back; it ran 200 times clean after that."
    ),
)


class StillClock:
    """Stands still until a test moves it."""

    def __init__(self, wall: Millis = NOON) -> None:
        self.now = wall

    def wall(self) -> Millis:
        return self.now

    def monotonic(self) -> float:
        return self.now / 1000

    def boottime(self) -> float:
        return self.now / 1000


def a_status(**changed: Any) -> Status:
    """A fresh Gnomon with the demo model, of which nothing has left the machine."""
    fresh = Status(
        running=True,
        pid=4242,
        agent="gnomon",
        mode="soft",
        effective_mode="shadow",
        model=ModelView(name="smollm2-135m", kind="demo", loaded=False),
        ticks=40,
        reflections=12,
        skipped={"idle": 20, "duty-cycle": 8},
        jail={"resident": "full", "tool-host": "full", "importer": "full"},
        autonomy="memory",
        budget=BudgetView(
            usd_per_day=1.0,
            usd_spent_today=0.0,
            tokens_per_day=200_000,
            tokens_spent_today=4_100,
            duty_cycle_left_seconds=311.0,
            breaker_open_until=None,
        ),
        standing_cost=StandingCost(tokens_per_hour=900.0, usd_per_hour=0.0, seconds_per_hour=40.0),
        remote_calls=0,
        usd_spent=0.0,
        next_tick_at="2026-05-28T20:28:00.000Z",
        last_focus="Why the checkout tests were run three times in a row",
    )
    return msgspec.structs.replace(fresh, **changed)


def a_report() -> Report:
    return Report(
        corrections=(
            Correction(
                text="use pnpm, not npm",
                sessions=7,
                last_at="2026-05-21T16:02:00.000Z",
                sources=(
                    msgspec.structs.replace(QUOTE, quote="no, use pnpm, not npm here"),
                    msgspec.structs.replace(
                        QUOTE, source="codex", quote="pnpm please, never npm", line=33
                    ),
                ),
            ),
            Correction(
                text="don't add comments that restate the code",
                sessions=3,
                last_at="2026-05-18T08:40:00.000Z",
                sources=(QUOTE,),
            ),
        ),
        failures=(
            FailureGroup(
                tool="Bash",
                family="command not found",
                count=31,
                median_minutes_to_success=2.5,
            ),
            FailureGroup(
                tool="Edit",
                family="text to replace not found",
                count=12,
                median_minutes_to_success=None,
            ),
        ),
        repeats=(Repeat(procedure="git pull > pnpm test > git push", count=9, clean=8),),
        loose_ends=tuple(
            LooseEnd(
                session=name,
                kind=kind,
                at="2026-05-20T22:10:00.000Z",
                resume=f"claude --resume {name}",
            )
            for name, kind in (
                ("5f1c-checkout", "error"),
                ("77ab-search", "open-todos"),
                ("90de-docs", "interruption"),
            )
        ),
        cost=(
            CostRow(project="shop", model="claude-sonnet-4-5", usd=12.4),
            CostRow(project=None, model="qwen3:8b", usd=None),
        ),
    )


def an_import_row(file: str, **changed: Any) -> ImportRow:
    row = ImportRow(
        file=file,
        format="claude-code",
        sessions=1,
        user_turns=6,
        tool_calls={"Bash": 4},
        tool_errors=1,
        interruptions=0,
        rejections=0,
        models=("claude-sonnet-4-5",),
        tokens=NO_TOKENS,
        first_at=None,
        last_at=None,
        bad_lines=(BadLine(line=9, reason="not JSON"),),
        new_observations=5,
    )
    return msgspec.structs.replace(row, **changed)


@dataclass
class PretendedGnomon:
    """`calls` are the operations that ran, in order. `failing` maps a name to what it raises.

    A chat turn hands out `reply_pieces`; before each it waits for `gate`, which stands open
    unless a test clears it. `cancelled` names the operations that were called off.
    """

    status: Status = field(default_factory=a_status)
    report: Report = field(default_factory=a_report)
    found: list[HistoryFound] = field(
        default_factory=lambda: [
            HistoryFound(source="claude-code", path="/home/ada/.claude", sessions=214, days=31),
            HistoryFound(source="codex", path="/home/ada/.codex", sessions=40, days=None),
        ]
    )
    offers: list[ModelOffer] = field(
        default_factory=lambda: [
            ModelOffer(name="smollm2-135m", kind="demo", current=True, detail="built in", use={}),
            ModelOffer(
                name="qwen3:8b",
                kind="local",
                current=False,
                detail="Ollama with qwen3:8b found",
                use={"name": "qwen3:8b", "url": "http://127.0.0.1:11434/v1"},
            ),
        ]
    )
    folders: list[Folder] = field(default_factory=list[Folder])
    hidden: list[str] = field(default_factory=list[str])
    sessions: list[SessionView] = field(default_factory=list[SessionView])
    messages: list[MessageView] = field(default_factory=list[MessageView])
    journal: list[str] = field(default_factory=lambda: ["2026-05-28 20:20 started, mode soft"])
    verified: Verification = field(
        default_factory=lambda: Verification(
            ok=True,
            ledgers=(LedgerReport(name="decision-ledger", lines=52, head="ab" * 32, ok=True),),
        )
    )
    reply: TurnReply = field(
        default_factory=lambda: TurnReply(
            session="s-1",
            turn=1,
            reply="You fixed it on 12 May: the cases shared a port, so you bound port 0.",
            sources=(QUOTE,),
            steps=2,
            tools={"recall": 1},
            seconds=1.25,
            tokens_in=410,
            tokens_out=61,
            model="smollm2-135m",
            model_says="The flaky test is a test which is flaky.",
        )
    )
    reply_pieces: tuple[str, ...] = ("You fixed it ", "on 12 May: ", "you bound port 0.")
    files: tuple[str, ...] = ("a.jsonl", "b.jsonl", "c.jsonl")
    failing: dict[str, Exception] = field(default_factory=dict[str, Exception])
    calls: list[tuple[str, msgspec.Struct]] = field(
        default_factory=list[tuple[str, msgspec.Struct]]
    )
    cancelled: list[str] = field(default_factory=list[str])
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    under_way: asyncio.Event = field(default_factory=asyncio.Event)
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    def called(self, name: str) -> list[msgspec.Struct]:
        return [arguments for called, arguments in self.calls if called == name]

    def table(self) -> Mapping[str, Operation]:
        """All operations that the pages know, by name."""
        made = (
            self._of("status.show", lambda: self.status, Status, reads=True, authority="client"),
            self._of("chat.sessions", lambda: self.sessions, list[SessionView], reads=True),
            self._of(
                "chat.messages", lambda: self.messages, list[MessageView], given.OfSession,
                reads=True,
            ),
            self._of("history.found", lambda: self.found, list[HistoryFound], reads=True),
            self._of(
                "history.report", lambda: self.report, Report, given.HistoryReport, reads=True
            ),
            self._of("folders.list", lambda: self.folders, list[Folder], reads=True),
            self._of("model.list", lambda: self.offers, list[ModelOffer], reads=True),
            self._of("model.use", lambda: Done(detail="in use"), Done, given.ModelUse),
            self._of("kernel.pause", lambda: Done(detail="paused"), Done, given.Pause),
            self._of("kernel.resume", lambda: Done(detail="resumed"), Done),
            self._of("trust.doctor", a_diagnosis, Diagnosis, reads=True),
            self._of("trust.verify", lambda: self.verified, Verification, reads=True),
            self._of(
                "trust.table",
                lambda: trust_rows(self.status.jail),
                list[TrustRow],
                reads=True,
            ),
            self._of(
                "journal.tail",
                lambda: Journal(lines=tuple(self.journal)),
                Journal,
                given.JournalTail,
                reads=True,
            ),
            self._of("cards.hidden", lambda: self.hidden, list[str], reads=True),
            self._of("presence.touch", lambda: Done(detail="noted"), Done),
            Operation("cards.hide", "Hide a card", given.Card, Done, self._hide),
            Operation("folders.add", "Grant a folder", given.FolderAdd, Done, self._grant),
            Operation("folders.remove", "Take back", given.FolderRemove, Done, self._take_back),
            Operation("chat.turn", "Say something", given.ChatTurn, TurnReply, self._turn),
            Operation(
                "history.import", "Read transcripts", given.HistoryImport, list[ImportRow],
                self._import, cancellable=False,
            ),
        )  # fmt: skip
        return {operation.name: operation for operation in made}

    def _of(
        self,
        name: str,
        answer: Callable[[], Any],
        result: Any,
        arguments: type[msgspec.Struct] = Nothing,
        *,
        reads: bool = False,
        authority: Scope = "operator",
    ) -> Operation:
        async def run(arguments: msgspec.Struct, progress: Progress) -> Any:
            del progress
            self._note(name, arguments)
            return answer()

        return Operation(
            name, f"The {name} of a test", arguments, result, run, reads=reads, authority=authority
        )

    def _note(self, name: str, arguments: msgspec.Struct) -> None:
        self.calls.append((name, arguments))
        if name in self.failing:
            raise self.failing[name]

    async def _hide(self, arguments: given.Card, _: Progress) -> Done:
        self._note("cards.hide", arguments)
        self.hidden.append(arguments.card)
        return Done(detail="hidden")

    async def _grant(self, arguments: given.FolderAdd, _: Progress) -> Done:
        self._note("folders.add", arguments)
        self.folders.append(Folder(path=arguments.path, writable=arguments.writable))
        return Done(detail="granted")

    async def _take_back(self, arguments: given.FolderRemove, _: Progress) -> Done:
        self._note("folders.remove", arguments)
        self.folders = [each for each in self.folders if each.path != arguments.path]
        return Done(detail="taken back")

    async def _turn(self, arguments: given.ChatTurn, progress: Progress) -> TurnReply:
        self._note("chat.turn", arguments)
        recall = Event(agent="gnomon", run="r-1", step="recall", span="1", complete=False)
        progress({"event": msgspec.to_builtins(recall)})
        for piece in self.reply_pieces:
            await self._wait("chat.turn")
            progress({"text": piece})
        return self.reply

    async def _import(self, arguments: given.HistoryImport, progress: Progress) -> list[ImportRow]:
        self._note("history.import", arguments)
        for at, file in enumerate(self.files):
            progress({"file": f"/home/ada/{file}", "done": at, "of": len(self.files)})
            await self._wait("history.import")
        self.settled.set()
        return [an_import_row(file) for file in self.files]

    async def _wait(self, name: str) -> None:
        self.under_way.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            self.settled.set()
            raise


def a_diagnosis() -> Diagnosis:
    return Diagnosis(
        checks=(
            Check(
                name="jail self-test",
                ok=True,
                level="ok",
                detail="A forbidden write, read, stat, socket, exec and signal failed.",
                fix="",
            ),
            Check(
                name="bubblewrap",
                ok=False,
                level="warning",
                detail="It is not installed; namespaces are made without it.",
                fix="Install it: `apt install bubblewrap`.",
            ),
        )
    )


def damaged() -> Verification:
    """What `trust.verify` says of a rewritten ledger."""
    bad = FirstBad(line=17, reason="prev does not match")
    row = LedgerReport(name="decision-ledger", lines=52, head="cd" * 32, ok=False, first_bad=bad)
    return Verification(ok=False, ledgers=(row,))


@dataclass
class PretendedHouse:
    """Everything that a gateway is wired to, pretended but for the gateway itself."""

    gnomon: PretendedGnomon = field(default_factory=PretendedGnomon)
    clock: StillClock = field(default_factory=StillClock)
    kept: list[Session] = field(default_factory=list[Session])

    def __post_init__(self) -> None:
        self.stream = Stream(self.clock.wall)
        self.authority = self.new_authority()

    def new_authority(self) -> Authority:
        """As a restarted gateway makes it: from the token and the sessions that were kept."""
        return Authority(
            operator_sha256=digest(OPERATOR_TOKEN),
            keep=self._keep,
            client_of={digest(CLIENT_TOKEN): "client"}.get,  # pyright: ignore[reportArgumentType]
            sessions=tuple(self.kept),
        )

    def wiring(self, **operations: Operation) -> Wiring:
        table = {**self.gnomon.table(), **operations}
        return Wiring(table, self.authority, self.stream, self.clock)

    def _keep(self, sessions: Any) -> None:
        self.kept = list(sessions)
