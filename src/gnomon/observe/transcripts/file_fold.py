"""Folds a file's events into the facts of its row, its turns and its sessions."""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from gnomon.domain.plain_text import clean, one_line
from gnomon.domain.records_observe import ImportedSession, Observation
from gnomon.domain.views_history import TokenCounts
from gnomon.observe.identity import Recent, key
from gnomon.observe.transcripts.draft import Draft
from gnomon.observe.transcripts.events import (
    Answer,
    AnyEvent,
    Context,
    Finished,
    Interrupted,
    NotARecord,
    Seen,
    Todos,
    ToolCall,
    ToolResult,
    Totals,
    Trouble,
    Usage,
    UserTurn,
)
from gnomon.observe.transcripts.reorder import Reorder
from gnomon.observe.transcripts.session_fold import SessionFold, Span, Tokens, written

MOST_SESSIONS = 2_000
MOST_TOOLS = 1_000
MOST_CALLS = 65_536
"""Calls that are remembered until their result comes."""
MOST_MESSAGES = 200_000
"""Replies whose best row is remembered, twice over."""
OTHER = "(other)"


class Claims(Protocol):
    """Who told a message first (`identity.Owners`)."""

    def claim(self, name: int, owner: int) -> bool: ...


@dataclass(frozen=True, slots=True)
class FoundTurn:
    """`spoken` is false for work that a command of the agent's program began."""

    name: int
    owner: int
    observation: Observation
    spoken: bool = True


@dataclass(frozen=True, slots=True)
class FoundSession:
    name: int
    owner: int
    session: ImportedSession


class _Best:
    """The row with most output tokens of each reply; forgets the oldest half when full."""

    def __init__(self) -> None:
        self._young: dict[int, Usage] = {}
        self._old: dict[int, Usage] = {}

    def better(self, name: int, usage: Usage) -> Tokens | None:
        """What the row adds to the sums; null when a better one was there."""
        known = self._young.get(name) or self._old.get(name)
        if known is not None and known.output >= usage.output:
            return None
        if len(self._young) >= MOST_MESSAGES:
            self._old, self._young = self._young, {}
        self._young[name] = usage
        if known is None:
            return Tokens(usage.input, usage.output, usage.cache_read, usage.cache_creation)
        return Tokens(
            usage.input - known.input,
            usage.output - known.output,
            usage.cache_read - known.cache_read,
            usage.cache_creation - known.cache_creation,
        )


class FileFold:
    """Takes events as they are read; `turns` gives those that are complete."""

    def __init__(self, *, source: str, path: str, stem: str, claims: Claims) -> None:
        self._source = source
        self._path = clean(path)
        self._stem = clean(stem)
        self._claims = claims
        self._sessions: dict[str, SessionFold] = {}
        self._current: SessionFold | None = None
        self._reorder = Reorder()
        self._seen = Recent()
        self._asked: dict[int, ToolCall] = {}
        self._best = _Best()
        self._found: deque[FoundTurn] = deque()
        self._nameless = 0
        self.span = Span()
        self.tokens = Tokens()
        self.tokens_known = False
        self.cumulative = False
        self.calls: Counter[str] = Counter()
        self.not_records: Counter[str] = Counter()

    # --- taking events -------------------------------------------------------------------

    def take(self, event: AnyEvent) -> None:
        match event:
            case NotARecord():
                what = one_line(clean(event.what), 60)
                self.not_records[what if len(self.not_records) < 50 else OTHER] += 1
            case Seen():
                self._note_time(event)
            case _:
                ready = self._reorder.push(event)
                if ready is not None:
                    self._apply(ready)

    def end(self) -> None:
        """The file ends."""
        for event in self._reorder.rest():
            self._apply(event)
        for session in self._sessions.values():
            for draft in session.end():
                self._emit(session, draft)

    def turns(self) -> Iterator[FoundTurn]:
        """The turns that became complete since the last time."""
        while self._found:
            yield self._found.popleft()

    def _note_time(self, event: Seen) -> None:
        session = self._session(event.session) if event.session is not None else None
        if event.at is None:
            return
        self.span.note(event.at, event.stamp)
        if session is not None:
            session.span.note(event.at, event.stamp)

    def _session(self, name: str | None) -> SessionFold:
        """The session of an event; one that names none belongs to the one before it."""
        if name is None:
            if self._current is not None:
                return self._current
            name = self._stem
        session = self._sessions.get(name)
        if session is None:
            if self._current is not None and len(self._sessions) >= MOST_SESSIONS:
                return self._current
            session = self._sessions[name] = SessionFold(one_line(clean(name), 200))
        self._current = session
        return session

    # --- in the order of time ------------------------------------------------------------

    def _apply(self, event: AnyEvent) -> None:
        session = self._session(event.session)
        match event:
            case UserTurn():
                self._user(event, session)
            case ToolCall():
                self._call(event, session)
            case ToolResult():
                self._result(event, session)
            case Usage():
                self._usage(event, session)
            case Totals():
                self._totals(event, session)
            case _:
                self._plain(event, session)

    def _plain(self, event: AnyEvent, session: SessionFold) -> None:
        match event:
            case Answer():
                session.answer(event)
            case Context():
                session.project = session.project or (clean(event.project or "") or None)
                session.use_model(_name(event.model), side=event.side)
            case Interrupted() if self._new("interruption", event.id):
                session.interrupt()
            case Trouble(side=False):
                session.trouble()
            case Finished():
                session.finish(event)
            case Todos():
                session.todos = event.open
            case _:
                return

    def _new(self, kind: str, name: str | None) -> bool:
        """Whether this was not read before; what has no id is always new."""
        return name is None or self._seen.add(key(kind, name))

    def _user(self, turn: UserTurn, session: SessionFold) -> None:
        name = self._turn_name(turn, session)
        if not self._seen.add(name):
            return
        begin = session.begin if turn.spoken else session.command
        for draft in begin(turn, name):
            self._emit(session, draft)

    def _turn_name(self, turn: UserTurn, session: SessionFold) -> int:
        if turn.id is not None:
            return key(self._source, "turn", turn.id)
        if turn.at is not None:
            return key(self._source, "turn", str(turn.at), turn.text)
        return key(self._source, "turn", session.name, str(session.turns), turn.text)

    def _call(self, call: ToolCall, session: SessionFold) -> None:
        if not self._new("call", call.id):
            return
        if call.id is not None:
            if len(self._asked) >= MOST_CALLS:
                del self._asked[next(iter(self._asked))]
            self._asked[key("call", call.id)] = call
        known = call.name in self.calls or len(self.calls) < MOST_TOOLS
        self.calls[call.name if known else OTHER] += 1
        session.call(call)

    def _result(self, result: ToolResult, session: SessionFold) -> None:
        if not self._new("result", result.call):
            return
        call = None if result.call is None else self._asked.pop(key("call", result.call), None)
        session.result(result, call)

    def _usage(self, usage: Usage, session: SessionFold) -> None:
        self.tokens_known = True
        self._nameless += usage.id is None
        name = key(self._source, "message", usage.id or f"{self._path}:{self._nameless}")
        model = _name(usage.model)
        session.reply(model, name, side=usage.side)
        added = self._best.better(name, usage)
        if added is None:
            return
        self.tokens.add(added)
        counts = usage.id is None or self._claims.claim(name, self._owner(session))
        session.spend(model, added, counts=counts)

    def _totals(self, totals: Totals, session: SessionFold) -> None:
        self.tokens_known = True
        self.cumulative = True
        before = session.total
        fresh = max(0, totals.input - totals.cache_read)
        now = Tokens(fresh, totals.output, totals.cache_read)
        added = Tokens(
            now.input - before.input,
            now.output - before.output,
            now.cache_read - before.cache_read,
        )
        session.total = now
        self.tokens.add(added)
        session.spend(session.model, added, counts=True)

    # --- what was found ------------------------------------------------------------------

    def _owner(self, session: SessionFold) -> int:
        return key(self._source, "owner", self._path, session.name)

    def _emit(self, session: SessionFold, draft: Draft) -> None:
        observation = draft.observation(
            source=self._source,
            session=session.name,
            project=session.project,
            path=self._path,
            began=session.span.first,
        )
        spoken = draft.said.spoken
        self._found.append(FoundTurn(draft.name, self._owner(session), observation, spoken))

    def token_counts(self) -> TokenCounts:
        """As the format counts: where totals are cumulative, `input` includes what was read
        from the cache, and nothing is known of what was written to it.
        """
        if not self.tokens_known:
            return TokenCounts(input=None, output=None, cache_read=None, cache_creation=None)
        used = self.tokens
        if self.cumulative:
            return TokenCounts(
                input=used.input + used.cache_read,
                output=used.output,
                cache_read=used.cache_read,
                cache_creation=None,
            )
        return TokenCounts(
            input=used.input,
            output=used.output,
            cache_read=used.cache_read,
            cache_creation=used.cache_creation,
        )

    def tool_errors(self) -> int | None:
        """Null where results are blacked out, or where no call has one to judge."""
        judged = sum(session.judged for session in self._sessions.values())
        opaque = sum(session.opaque for session in self._sessions.values())
        if opaque > 0 or (judged == 0 and self.calls.total() > 0):
            return None
        return sum(session.errors for session in self._sessions.values())

    def sessions(self) -> Iterator[FoundSession]:
        """What each session was, once the file has ended."""
        for fold in self._sessions.values():
            known = self.tool_errors() is not None
            session = ImportedSession(
                source=self._source,
                session=fold.name,
                path=self._path,
                project=fold.project,
                models=tuple(sorted(fold.models)),
                first_at=written(fold.span.first, None),
                last_at=written(fold.span.last, None),
                ended=fold.ended(),
                tokens=fold.model_tokens(),
                user_turns=fold.turns,
                tool_errors=fold.errors if known else None,
                interruptions=fold.interruptions,
                rejections=fold.rejections if known else None,
                title=None if fold.title is None else one_line(fold.title, 200),
                last_line=fold.last_line,
            )
            name = key(self._source, "session", self._path, fold.name)
            yield FoundSession(name, self._owner(fold), session)

    def folds(self) -> tuple[SessionFold, ...]:
        return tuple(self._sessions.values())


def _name(model: str | None) -> str | None:
    return one_line(clean(model), 100) or None if model else None
