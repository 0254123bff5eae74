"""Chat turns: one at a time a session, committed by one line, everything else derived."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from weakref import WeakValueDictionary

import msgspec

from gnomon.daemon.store.stores import Stores
from gnomon.daemon.talk import conversations, derive
from gnomon.daemon.talk.session_list import SessionList
from gnomon.domain.errors import TrustError, UsageError
from gnomon.domain.instants import Millis
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.ledgers import Ack
from gnomon.domain.plain import read
from gnomon.domain.ports import Ids
from gnomon.domain.records import SessionMessage, SessionOpened, Spend, Turn, TurnUndone
from gnomon.domain.views import Done, MessageView, ModelKind, SessionView, TurnReply

ENDS_KEPT = 32
"""Sessions whose end is kept in memory, so that a turn reads only what was said since."""

Beside = Callable[[Callable[[], list[SessionView]]], Awaitable[list[SessionView]]]
AskResident = Callable[[str, Fields, Callable[[Json], None]], Awaitable[Json]]


@dataclass(eq=False)
class HandedOut:
    """A turn that the resident was handed and has not answered. `run` is the one that took it
    up: a turn has one, and one commit line, which `commit` writes with what follows from it.
    """

    session: str
    turn: int
    text: str
    reply_to: str | None
    run: str | None = None
    commit: "asyncio.Task[Ack] | None" = None

    def check(self, said: Turn) -> None:
        """Raises TrustError when a commit line is not of this turn."""
        if (said.session, said.turn, said.user, said.reply_to) != (
            self.session,
            self.turn,
            self.text,
            self.reply_to,
        ):
            raise TrustError("A turn's line must be of the turn that was handed out.")


class Turns:
    """The operator's conversations with the resident."""

    def __init__(
        self,
        stores: Stores,
        ids: Ids,
        ask: AskResident,
        catch_up: Callable[[], Awaitable[None]],
        beside: Beside,
    ) -> None:
        self._stores = stores
        self._ids = ids
        self._ask = ask
        self._catch_up = catch_up
        self._shown = SessionList(stores.agent.sessions, stores.sessions.reader)
        self._beside = beside
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._ends: OrderedDict[str, tuple[int, conversations.Conversation]] = OrderedDict()
        self._handed_out: dict[str, HandedOut] = {}
        self._over = asyncio.Event()
        self._over.set()

    @property
    def in_flight(self) -> int:
        return len(self._handed_out)

    def take_up(self, session: str, run: str) -> HandedOut | None:
        """The session's turn, for the first run that says that it answers it; else null."""
        turn = self._handed_out.get(session)
        if turn is None or turn.run is not None:
            return None
        turn.run = run
        return turn

    def is_under_way(self, turn: HandedOut) -> bool:
        return self._handed_out.get(turn.session) is turn

    def check(self, session: str) -> None:
        """Raises UsageError when there is no such session."""
        if not self._stores.agent.session(session).exists():
            raise UsageError(
                f"There is no session {session!r}.", next_step="`gnomon chat` starts a new one."
            )

    def conversation(self, session: str) -> conversations.Conversation:
        """Raises UsageError when there is no such session."""
        self.check(session)
        lines = self._stores.ledger("session", session).read()
        return conversations.conversation(session, lines)

    def _end_of(self, session: str) -> conversations.Conversation:
        """The end of a session, as the next turn needs it. O(lines since the last look).

        Raises UsageError when there is no such session.
        """
        self.check(session)
        ledger = self._stores.ledger("session", session)
        head = ledger.head
        up_to, known = self._ends.pop(session, (0, None))
        end: conversations.Conversation | None = None
        if known is not None and up_to <= head.seq:
            end = conversations.grown(known, ledger.read(after_seq=up_to, until=head))
        if end is None:
            whole = conversations.conversation(session, ledger.read(until=head))
            end = conversations.ending(whole)
        self._ends[session] = head.seq, end
        while len(self._ends) > ENDS_KEPT:
            self._ends.popitem(last=False)
        return end

    def _lock(self, session: str) -> asyncio.Lock:
        """One turn at a time a session. Kept for as long as somebody holds it or waits."""
        lock = self._locks.get(session)
        if lock is None:
            lock = self._locks[session] = asyncio.Lock()
        return lock

    async def sessions(self) -> list[SessionView]:
        """The newest first, by when they were last written. Read beside the event loop."""
        return await self._beside(self._shown.newest)

    def messages(self, session: str) -> list[MessageView]:
        return list(self.conversation(session).messages)

    async def undo(self, session: str) -> Done:
        """Take the last turn back: its lines stay, it is no longer context."""
        async with self._lock(session):
            turn = conversations.last_standing_turn(self.conversation(session))
            if turn is None:
                raise UsageError("There is nothing to undo in this session.")
            await self._stores.append("session", TurnUndone(turn=turn), member=session)
            return Done(detail=f"Turn {turn} is taken back; the next one does not see it.")

    async def take(
        self,
        text: str,
        session: str | None,
        reply_to: str | None,
        kind: ModelKind,
        paused_until: str | None,
        on_part: Callable[[Json], None],
    ) -> TurnReply:
        """Hand one turn to the resident and give its reply. Cancelling cancels the turn."""
        name = session or self._ids.new("s")
        async with self._lock(name):
            await self._catch_up()  # the next turn's number and context count what stands
            talk = conversations.conversation(name, ()) if session is None else self._end_of(name)
            turn = HandedOut(name, talk.last_turn + 1, text, reply_to)
            self._handed_out[name] = turn
            self._over.clear()
            try:
                answer = await self._ask(
                    "turn",
                    {
                        "session": name,
                        "turn": turn.turn,
                        "text": text,
                        "reply_to": reply_to,
                        "history": msgspec.to_builtins(conversations.history(talk)),
                        "model_kind": kind,
                        "paused_until": paused_until,
                        "imported": self._stores.files["observations-imported"].head.seq > 0,
                    },
                    on_part,
                )
            finally:
                del self._handed_out[name]
                if not self._handed_out:
                    self._over.set()
                if turn.commit is not None:  # the next turn's number counts it
                    await asyncio.wait({turn.commit})
        return read(answer, TurnReply)

    async def over(self, seconds: float) -> None:
        """Wait until no turn is in flight, so long at most."""
        try:
            async with asyncio.timeout(seconds):
                await self._over.wait()
        except TimeoutError:
            return  # whoever waits goes on; the turn will say what became of it

    async def derive(self, run: str, turn: Turn, committed_at: Millis) -> None:
        """Write what follows from a commit line, unsynced: it can be rebuilt."""
        for line in derive.session_lines(run, turn):
            await self._stores.append("session", line, member=turn.session, durable=False)
        await self._stores.append(
            "observations", derive.observation(turn, committed_at), durable=False
        )

    async def rebuild(self, run: str, turn: Turn, committed_at: Millis) -> int:
        """After a crash: write what a committed turn lacks; how many lines that were."""
        session = self._stores.ledger("session", turn.session)
        standing = [line.body for line in session.read()]
        wanted = derive.missing_session_lines(
            run,
            turn,
            [body for body in standing if isinstance(body, SessionMessage)],
            any(isinstance(body, SessionOpened) for body in standing),
        )
        for line in wanted:
            await self._stores.append("session", line, member=turn.session)
        return len(wanted)


def spends_of(turn: Turn) -> list[Spend]:
    """The spend lines that a commit line carries."""
    return [read(spend, Spend) for spend in turn.spend]
