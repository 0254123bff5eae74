"""A turn while it is being read, and the observation that it becomes."""

from dataclasses import dataclass, field

from gnomon.domain.instants import Millis, iso
from gnomon.domain.records_observe import Failure, Observation
from gnomon.observe.transcripts.events import UserTurn
from gnomon.observe.transcripts.values import LARGEST

MOST_FAILURES = 200
MOST_TOOLS = 200
"""Different tools and failures kept of one turn; more than any turn that was seen."""


@dataclass(slots=True)
class OpenFailure:
    """A failed call whose tool has not succeeded since."""

    tool: str
    code: str
    at: Millis | None
    recovery_ms: int | None = None
    waiting: bool = True
    call: str | None = None
    error: str | None = None
    line: int | None = None

    def closed(self) -> Failure:
        return Failure(
            tool=self.tool,
            code=self.code,
            recovery_ms=self.recovery_ms,
            call=self.call,
            error=self.error,
            line=self.line,
        )


@dataclass(slots=True)
class Draft:
    """Fields as `Observation`'s; mutable until the turn is handed on."""

    name: int
    said: UserTurn
    ordinal: int
    corrected: bool
    model: str | None = None
    tools: dict[str, int] = field(default_factory=dict[str, int])
    failures: list[OpenFailure] = field(default_factory=list[OpenFailure])
    procedure: tuple[str, ...] = ()
    answer: str | None = None
    replies: set[int] = field(default_factory=set[int])
    tokens: int | None = None
    duration: int | None = None
    ends: Millis | None = None
    interrupted: bool = False
    correction: str | None = None

    @property
    def waiting(self) -> bool:
        """Whether a failure may still find its success."""
        return any(failure.waiting for failure in self.failures)

    def count_tool(self, name: str) -> None:
        """Names of fields are ASCII in a ledger (page 2): others are spelt out."""
        tool = name.encode("ascii", "backslashreplace").decode("ascii")
        if tool in self.tools or len(self.tools) < MOST_TOOLS:
            self.tools[tool] = self.tools.get(tool, 0) + 1

    def fail(self, failure: OpenFailure) -> None:
        if len(self.failures) < MOST_FAILURES:
            self.failures.append(failure)

    def move_end(self, at: Millis | None) -> None:
        if at is not None and (self.ends is None or at > self.ends):
            self.ends = at

    def took(self) -> int | None:
        """Milliseconds: as the source says, else to the last thing that the agent did."""
        if self.duration is not None:
            return min(LARGEST, self.duration)
        start = self.said.at
        if start is None or self.ends is None:
            return None
        return min(LARGEST, max(0, self.ends - start))

    def observation(
        self, *, source: str, session: str, project: str | None, path: str, began: Millis | None
    ) -> Observation:
        """`began` is the session's first instant: it dates a turn that has no time of its own."""
        return Observation(
            session=session,
            turn=self.ordinal,
            task=self.said.text,
            tools=self.tools,
            failures=tuple(each.closed() for each in self.failures),
            corrected=self.corrected,
            durationMs=self.took(),
            source=source,
            happened_at=None if self.said.at is None else iso(self.said.at),
            tokens=self.tokens,
            steps=len(self.replies) or None,
            model=self.model,
            project=project,
            answer=self.answer,
            path=path,
            line=self.said.line,
            procedure=self.procedure,
            turn_id=f"{self.name:016x}",
            interrupted=self.interrupted,
            correction=self.correction,
            session_at=iso(began) if self.said.at is None and began is not None else None,
        )
