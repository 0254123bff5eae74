"""`gnomon report`: what the history shows, by counting. No model is asked (page 8).

One pass over observations and sessions keeps a small note of each turn; the sections are
made from the notes. Pure: lines in, a `Report` out.
"""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median

import msgspec

from gnomon.domain.errors import BreakerOpenError, BudgetError, NoModelError, PausedError
from gnomon.domain.instants import MINUTE, Millis, parse_iso
from gnomon.domain.plain_text import one_line
from gnomon.domain.records_observe import Failure, ImportedSession, ModelTokens, Observation
from gnomon.domain.views import Source
from gnomon.domain.views_history import (
    Correction,
    CostRow,
    FailureGroup,
    LooseEnd,
    LooseEndKind,
    Repeat,
    Report,
)
from gnomon.observe.corrections import own_words
from gnomon.observe.families import REJECTED
from gnomon.observe.price_list import PriceList
from gnomon.observe.procedure import MOST_STEPS
from gnomon.observe.wording import groups

CLEAN_RUNS = 3
STEPS = 2
SESSIONS = 2
KEEPS_FAILING = 2
"""Times that the same tool fails the same way before people are told that it keeps failing."""
DECIDED = frozenset(
    [
        REJECTED,
        *(error.code for error in (PausedError, BudgetError, BreakerOpenError, NoModelError)),
    ]
)
"""Calls that the operator or a bound of theirs did not let through: no tool failed."""
MOST_SOURCES = 20
QUOTE = 300
"""Characters of a user's words that are shown."""
Line = Observation | ImportedSession


@dataclass(frozen=True, slots=True)
class Note:
    """What is kept of a turn. `words` are the user's where the turn corrects."""

    source: str
    session: str
    turn: int
    at: str | None
    session_at: str | None
    path: str | None
    line: int | None
    project: str | None
    task: str
    words: str | None
    failures: tuple[Failure, ...]
    procedure: tuple[str, ...]
    corrects: bool
    interrupted: bool

    @property
    def session_key(self) -> tuple[str, str]:
        return self.source, self.session

    def quoted(self, quote: str) -> Source:
        return Source(
            source=self.source,
            session=self.session,
            at=self.at,
            path=self.path,
            line=self.line,
            quote=quote,
            session_at=self.session_at,
        )


def note_of(seen: Observation) -> Note:
    """`corrects` says that the turn takes back the one before it; words inside a rejected
    call correct their own turn.
    """
    words = (seen.correction or own_words(seen.task)) if seen.corrected else None
    return Note(
        source=seen.source,
        session=seen.session,
        turn=seen.turn,
        at=seen.happened_at,
        session_at=seen.session_at,
        path=seen.path,
        line=seen.line,
        project=seen.project,
        task=one_line(seen.task, 120),
        words=None if words is None else one_line(words, QUOTE),
        failures=seen.failures,
        procedure=seen.procedure if STEPS <= len(seen.procedure) < MOST_STEPS else (),
        corrects=seen.corrected and seen.correction is None,
        interrupted=seen.interrupted,
    )


class History:
    """What is kept of all lines: the later of two lines about the same thing stands."""

    def __init__(self) -> None:
        self._turns: dict[tuple[str, str], Note] = {}
        self._sessions: dict[tuple[str, str, str], ImportedSession] = {}

    def add(self, line: Line) -> None:
        match line:
            case Observation():
                name = line.turn_id or f"{line.session}\0{line.turn}"
                self._turns[line.source, name] = note_of(line)
            case ImportedSession():
                self._sessions[line.source, line.session, line.path] = line

    @property
    def count(self) -> int:
        """Of all turns, whatever is asked about."""
        return len(self._turns)

    def turns(self, scope: "Scope") -> list[Note]:
        return [note for note in self._turns.values() if scope.holds(note.project, note.at)]

    def newest(self, scope: "Scope") -> str | None:
        """When something of the projects in scope happened last, in scope or not."""
        turns = ((each.project, each.at) for each in self._turns.values())
        sessions = ((each.project, each.last_at) for each in self._sessions.values())
        times = (
            at for project, at in chain(turns, sessions) if at is not None and scope.covers(project)
        )
        return max(times, key=parse_iso, default=None)

    def sessions(self, scope: "Scope") -> list[ImportedSession]:
        return [each for each in self._sessions.values() if scope.holds(each.project, each.last_at)]


@dataclass(frozen=True, slots=True)
class Scope:
    """Since when, and for which projects: those whose path has this text, whatever its case."""

    since: Millis | None = None
    project: str | None = None

    def holds(self, project: str | None, at: str | None) -> bool:
        return self._in_time(at) and self.covers(project)

    def _in_time(self, at: str | None) -> bool:
        """What has no time is left out when a time is asked for."""
        return self.since is None or (at is not None and parse_iso(at) >= self.since)

    def covers(self, project: str | None) -> bool:
        if self.project is None:
            return True
        wanted = self.project.rstrip("/").casefold()
        return project is not None and wanted in project.casefold()


def history_of(lines: Iterable[Line]) -> History:
    history = History()
    for line in lines:
        history.add(line)
    return history


def report(
    lines: Iterable[Line],
    prices: PriceList,
    *,
    since: Millis | None = None,
    project: str | None = None,
) -> Report:
    """The five sections (page 8), most frequent or latest first."""
    history = history_of(lines)
    scope = Scope(since, project)
    turns = history.turns(scope)
    sessions = history.sessions(scope)
    return Report(
        corrections=tuple(corrections(turns)),
        failures=tuple(failures(turns)),
        repeats=tuple(repeats(turns)),
        loose_ends=tuple(loose_ends(sessions)),
        cost=tuple(cost(sessions, prices)),
        turns=history.count,
        asked_turns=len(turns),
        newest_at=history.newest(scope),
    )


def misses(told: Report) -> bool:
    """Whether something was read, and nothing of it lies within what was asked for."""
    found = (told.corrections, told.failures, told.repeats, told.loose_ends, told.cost)
    return told.turns > 0 and told.asked_turns == 0 and not any(found)


def _latest(note: Note) -> tuple[str, int]:
    return note.at or note.session_at or "", note.turn


def _latest_first(notes: Iterable[Note]) -> list[Note]:
    return sorted(notes, key=_latest, reverse=True)


def corrections(turns: Iterable[Note]) -> list[Correction]:
    """Near-same correcting words in two or more sessions. "Likely": found by rules."""
    said = _latest_first(note for note in turns if note.words)
    found: list[Correction] = []
    for group in groups(note.words or "" for note in said):
        notes = [said[position] for position in group]
        latest = list({note.session_key: note for note in reversed(notes)}.values())[::-1]
        if len(latest) < SESSIONS:
            continue
        found.append(
            Correction(
                text=notes[0].words or "",
                sessions=len(latest),
                last_at=notes[0].at,
                sources=tuple(note.quoted(note.words or "") for note in latest[:MOST_SOURCES]),
            )
        )
    return sorted(found, key=lambda each: (each.sessions, each.last_at or ""), reverse=True)


def failures(turns: Iterable[Note]) -> list[FailureGroup]:
    """Failed calls by tool and family of error; not what was decided (`DECIDED`)."""
    grouped: defaultdict[tuple[str, str], list[tuple[Note, Failure]]] = defaultdict(list)
    for note in turns:
        for failure in note.failures:
            if failure.code not in DECIDED:
                grouped[failure.tool, failure.code].append((note, failure))
    found = [_failure_group(tool, code, seen) for (tool, code), seen in grouped.items()]
    return sorted(found, key=lambda each: (-each.count, each.tool, each.family))


def keeps_failing(found: Sequence[FailureGroup]) -> tuple[list[FailureGroup], int]:
    """What failed the same way at least twice, and how many ways of failing were seen once.
    A report holds both; what people read is about the first.
    """
    again = [each for each in found if each.count >= KEEPS_FAILING]
    return again, len(found) - len(again)


def _failure_group(tool: str, code: str, seen: list[tuple[Note, Failure]]) -> FailureGroup:
    recovered = [each.recovery_ms for _, each in seen if each.recovery_ms is not None]
    latest = sorted(seen, key=lambda each: _latest(each[0]))[::-1]
    return FailureGroup(
        tool=tool,
        family=code,
        count=len(seen),
        median_minutes_to_success=round(median(recovered) / MINUTE, 2) if recovered else None,
        last_at=max((note.at for note, _ in seen if note.at is not None), default=None),
        sources=tuple(_failed(*each) for each in latest[:MOST_SOURCES]),
    )


def _failed(note: Note, failure: Failure) -> Source:
    """The call that failed and what it was answered, where that stands; else the turn's task."""
    said = [words for words in (failure.call, failure.error) if words]
    source = note.quoted(" → ".join(said) if said else note.task)
    return source if failure.line is None else msgspec.structs.replace(source, line=failure.line)


def repeats(turns: list[Note]) -> list[Repeat]:
    """The same sequence of steps, at least three times clean: no failed call, no
    interruption, and no correction in the turn or right after it.
    """
    corrected = {(*note.session_key, note.turn - 1) for note in turns if note.corrects}
    runs: defaultdict[tuple[str, ...], list[Note]] = defaultdict(list)
    for note in turns:
        if note.procedure:
            runs[note.procedure].append(note)
    found: list[Repeat] = []
    for procedure, seen in runs.items():
        clean = [note for note in seen if _is_clean(note, corrected)]
        if len(clean) < CLEAN_RUNS:
            continue
        found.append(
            Repeat(
                procedure=" > ".join(procedure),
                count=len(seen),
                clean=len(clean),
                sources=tuple(note.quoted(note.task) for note in _latest_first(clean)[:5]),
            )
        )
    return sorted(found, key=lambda each: (-each.clean, -each.count, each.procedure))


def _is_clean(note: Note, corrected: set[tuple[str, str, int]]) -> bool:
    taken_back = note.words is not None and not note.corrects
    return not (
        note.failures
        or note.interrupted
        or taken_back
        or (*note.session_key, note.turn) in corrected
    )


def loose_ends(sessions: Iterable[ImportedSession]) -> list[LooseEnd]:
    """Sessions that did not end well, latest first. A session told by several files (its
    sub-agents', a resumed copy) ended as the latest of them says.
    """
    latest: dict[tuple[str, str], ImportedSession] = {}
    for each in sessions:
        known = latest.get((each.source, each.session))
        if each.ended != "unknown" and (
            known is None or (each.last_at or "") >= (known.last_at or "")
        ):
            latest[each.source, each.session] = each
    found = [end for each in latest.values() for end in _loose_end(each)]
    return sorted(found, key=lambda end: end.at or "", reverse=True)


def _loose_end(session: ImportedSession) -> Iterator[LooseEnd]:
    kind: LooseEndKind
    match session.ended:
        case "error" | "interruption" | "open-todos" as kind:
            yield LooseEnd(
                session=session.session,
                kind=kind,
                at=session.last_at,
                resume=resume(session.source, session.session),
                source=session.source,
                project=session.project,
                title=session.title,
                path=session.path,
                line=session.last_line,
            )
        case "ok" | "unknown":
            return


def resume(source: str, session: str) -> str:
    """The command that goes on with a session. A name from a file is quoted: it is data."""
    name = shlex.quote(session)
    match source:
        case "claude-code":
            return f"claude --resume {name}"
        case "codex":
            return f"codex resume {name}"
        case _:
            return ""


def cost(sessions: Iterable[ImportedSession], prices: PriceList) -> list[CostRow]:
    """By project and model, dearest first; null where the list has no price."""
    used: defaultdict[tuple[str, str], list[ModelTokens]] = defaultdict(list)
    for session in sessions:
        for tokens in session.tokens:
            used[session.project or "", tokens.model].append(tokens)
    rows: list[CostRow] = []
    for (project, model), all_tokens in used.items():
        each = [prices.cost(tokens) for tokens in all_tokens]
        known = [usd for usd in each if usd is not None]
        usd = round(sum(known), 4) if len(known) == len(each) else None
        rows.append(CostRow(project=project or None, model=model, usd=usd))
    return sorted(rows, key=lambda row: (-(row.usd or 0.0), row.project or "", row.model))


def total(rows: Iterable[CostRow]) -> float:
    """List prices together; what has none is left out."""
    return round(sum(row.usd for row in rows if row.usd is not None), 4)
