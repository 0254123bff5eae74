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
from gnomon.domain.views import (
    Diagnosis,
    Done,
    Folder,
    Journal,
    LedgerReport,
    MessageView,
    ModelOffer,
    MonthLink,
    SessionView,
    Status,
    TurnReply,
    Verification,
)
from gnomon.domain.views_history import HistoryFound, ImportRow, Report, WatchView
from gnomon.gateway.authority import Authority, Session, digest
from gnomon.gateway.operation import Authority as Scope
from gnomon.gateway.operation import Nothing, Operation, Progress
from gnomon.gateway.stream import Stream
from gnomon.gateway.wiring import Wiring
from gnomon.testing.changes import PretendedChanges
from gnomon.testing.clock import FakeClock
from gnomon.testing.facts import QUOTE, a_diagnosis, a_report, a_status, a_stranger, an_import_row
from gnomon.testing.held_cards import PretendedApprovals
from gnomon.testing.referee import PretendedInbox

OPERATOR_TOKEN = "operator-token-of-a-test"  # noqa: S105 - opens nothing but a test
CLIENT_TOKEN = "client-token-of-a-test"  # noqa: S105


@dataclass
class PretendedGnomon:
    """`calls` are the operations that ran, in order. `failing` maps a name to what it raises.

    A chat turn hands out `reply_pieces`; before each but the `free_pieces` first it waits for
    `gate`, which stands open unless a test clears it. `cancelled` names what was called off.
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
            ModelOffer(name="none", kind="none", current=False, detail="no model", use={}),
            ModelOffer(
                name="claude-haiku-4-5",
                kind="remote",
                current=False,
                detail="a key for Anthropic is set",
                use={"name": "claude-haiku-4-5", "key_env": "ANTHROPIC_API_KEY"},
            ),
        ]
    )
    folders: list[Folder] = field(default_factory=list[Folder])
    hidden: list[str] = field(default_factory=list[str])
    sessions: list[SessionView] = field(default_factory=list[SessionView])
    messages: list[MessageView] = field(default_factory=list[MessageView])
    inbox: PretendedInbox = field(default_factory=lambda: PretendedInbox(items=[]))
    changes: PretendedChanges = field(default_factory=PretendedChanges)
    approvals: PretendedApprovals = field(default_factory=PretendedApprovals)
    journal: list[str] = field(default_factory=lambda: ["2026-05-28 20:20 started, mode soft"])
    diagnosis: Diagnosis = field(default_factory=a_diagnosis)
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
    free_pieces: int = 0
    month_is_ours: bool = True
    watched: WatchView = field(default_factory=lambda: WatchView(on=False, folders=0))
    files: tuple[str, ...] = ("a.jsonl", "b.jsonl", "c.jsonl")
    strangers: tuple[str, ...] = ()
    """Of the files, those that hold no transcript."""
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

    def called(self, name: str) -> list[Any]:
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
            self._of("history.watching", lambda: self.watched, WatchView, reads=True),
            Operation("history.watch", "Watch", given.HistoryWatch, Done, self._watch),
            self._of("folders.list", lambda: self.folders, list[Folder], reads=True),
            self._of("model.list", lambda: self.offers, list[ModelOffer], reads=True),
            self._of("model.use", lambda: Done(detail="in use"), Done, given.ModelUse),
            self._of("kernel.pause", lambda: Done(detail="paused"), Done, given.Pause),
            self._of("kernel.resume", lambda: Done(detail="resumed"), Done),
            self._of("trust.doctor", lambda: self.diagnosis, Diagnosis, reads=True),
            self._of("trust.verify", lambda: self.verified, Verification, reads=True),
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
                self._import, outlives_pages=True,
            ),
            Operation("demo.open", "Show a month", Nothing, MonthLink, self._month),
            *self.inbox.rows(),
            *self.changes.rows(),
            *self.approvals.rows(),
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
        if arguments.reply_to is not None:
            self.inbox.record(arguments.reply_to, "acted", "reply_in_conversation")
        recall = Event(agent="gnomon", run="r-1", step="recall", span="1", complete=False)
        progress({"event": msgspec.to_builtins(recall)})
        for at, piece in enumerate(self.reply_pieces):
            if at >= self.free_pieces:
                await self._wait("chat.turn")
            progress({"text": piece})
        return self.reply

    async def _watch(self, arguments: given.HistoryWatch, _: Progress) -> Done:
        self._note("history.watch", arguments)
        self.watched = WatchView(on=arguments.on, folders=12 if arguments.on else 0)
        return Done(detail="noted")

    async def _month(self, arguments: Nothing, progress: Progress) -> MonthLink:
        self._note("demo.open", arguments)
        for day in (1, 2):
            progress({"text": f"Living day {day} of 2", "done": day, "of": 2})
            await self._wait("demo.open")
        return MonthLink(
            url="http://127.0.0.1:9/login?t=x",
            expires_at="2026-05-24T18:10:00.000Z",
            ends_with_this=self.month_is_ours,
        )

    async def _import(self, arguments: given.HistoryImport, progress: Progress) -> list[ImportRow]:
        self._note("history.import", arguments)
        for at, file in enumerate(self.files):
            progress({"file": f"/home/ada/{file}", "done": at, "of": len(self.files)})
            await self._wait("history.import")
        self.settled.set()
        if set(self.files) - set(self.strangers):
            self.hidden.append("history")
        return [
            a_stranger(file) if file in self.strangers else an_import_row(file)
            for file in self.files
        ]

    async def _wait(self, name: str) -> None:
        self.under_way.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            self.settled.set()
            raise


@dataclass
class PretendedHouse:
    """Everything that a gateway is wired to, pretended but for the gateway itself."""

    gnomon: PretendedGnomon = field(default_factory=PretendedGnomon)
    clock: FakeClock = field(default_factory=FakeClock)
    kept: list[Session] = field(default_factory=list[Session])
    dev_mode: bool = False
    simulated: bool = False
    home_option: str = ""

    def __post_init__(self) -> None:
        self.stream = Stream(self.clock.wall)
        self.authority = self.new_authority()

    def new_authority(self) -> Authority:
        """As a restarted gateway makes it: from the token and the sessions that were kept."""
        return Authority(
            operator_sha256=digest(OPERATOR_TOKEN),
            keep=self._keep,
            client_of=lambda sha256: "client" if sha256 == digest(CLIENT_TOKEN) else None,
            sessions=tuple(self.kept),
        )

    def wiring(self, **operations: Operation) -> Wiring:
        table = {**self.gnomon.table(), **operations}
        return Wiring(
            table,
            self.authority,
            self.stream,
            self.clock,
            simulated=self.simulated,
            dev_mode=self.dev_mode,
            home_option=self.home_option,
        )

    def _keep(self, sessions: Any) -> None:
        self.kept = list(sessions)
