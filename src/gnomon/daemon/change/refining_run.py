"""One run of the refiner as the gateway sees it: what it may ask, and what it has asked.

Nothing that its process says is believed. The scope is checked here once more, calls of tools
that it does not have are counted from the model's own replies, which pass through here, and
what it wants written is checked and put on record by the gateway alone.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from gnomon.change.diff import summary
from gnomon.daemon.child.child_requests import CompleteArguments, EventArguments
from gnomon.domain.errors import ConflictError, GnomonError, ScopedToolViolationError, TrustError
from gnomon.domain.events import Event
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import ModelReply, ModelRequest, ToolCall
from gnomon.domain.plain import fields, read
from gnomon.domain.records_change import Change, ChangeAuthor, Prediction
from gnomon.domain.unified_diff import unified
from gnomon.refiner.check import TARGETS, HeldAgainst, Refusal, check
from gnomon.refiner.tools import (
    ARGUMENTS,
    READ_FITNESS,
    READ_SCAFFOLD,
    READ_TRAJECTORY,
    WRITE_SCAFFOLD,
    ReadScaffold,
    ReadTrajectoryWindow,
    WriteScaffold,
    checked,
    edited,
    specs,
    violation,
)
from gnomon.scaffold.hashing import text_sha256
from gnomon.trust.roles import check_op

MOST_CALLS = 24
"""Of the model, in one run: twice what its manifest allows, since the manifest is held by its
own process alone."""
MOST_ASKED = 200
"""Requests of one run."""

OnText = Callable[[str], None]
Complete = Callable[[ModelRequest, OnText], Awaitable[ModelReply]]


class ToolAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's answer, as `gnomon.agent.outcome.Outcome` reads it."""

    text: str
    error: str | None = None


@dataclass(frozen=True)
class RunWorld:
    """What a run rests on. `standing` gives a file's text in force; `against` what an edit to it
    is held against; `propose` puts a change on record.
    """

    run: str
    change_id: str
    prompt: str
    evidence: tuple[str, ...]
    complete: Complete
    standing: Callable[[str], str]
    against: Callable[[str], HeldAgainst]
    fitness: Callable[[], str]
    trajectory: Callable[[int], str]
    propose: Callable[[Change], Awaitable[object]]
    publish: Callable[[Event], None]


@dataclass
class RefineRun:
    """Answers one process. `refused` counts calls of what it does not have; `change` is what it
    proposed, null: nothing.
    """

    world: RunWorld
    change: Change | None = None
    refusal: Refusal | None = None
    refused: int = 0
    model: str | None = None
    _bases: dict[str, str] = field(default_factory=dict[str, str])
    _written: bool = False
    _calls: int = 0
    _asked: int = 0

    def __post_init__(self) -> None:
        self._answers: dict[str, Callable[[Fields, OnText], Awaitable[Json]]] = {
            "model.complete": self._complete,
            "event": self._event,
            READ_SCAFFOLD: self._read_scaffold,
            WRITE_SCAFFOLD: self._write_scaffold,
            READ_FITNESS: self._read_fitness,
            READ_TRAJECTORY: self._read_trajectory,
        }
        self._bases = {target: text_sha256(self.world.standing(target)) for target in TARGETS}

    async def __call__(self, op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
        """Raises TrustError for what the trust table does not grant, and
        ScopedToolViolationError for what goes beyond its tools' scope.
        """
        check_op("refiner", op)
        self._asked += op != "event"
        if self._asked > MOST_ASKED:
            raise TrustError("Too much was asked in one run.", role="refiner", op=op)
        try:
            return await self._answers[op](args, lambda text: send_part({"text": text}))
        except TrustError:
            self.refused += 1
            raise

    # --- the model -------------------------------------------------------------------------------

    async def _complete(self, args: Fields, on_text: OnText) -> Json:
        """One call. It can offer the model no tool but the four, as they are."""
        request = read(args, CompleteArguments).request
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise TrustError("Too many model calls in one run.", role="refiner")
        if any(spec not in specs() for spec in request.tools):
            raise violation("model.complete", "it offers the model a tool that is none of its own")
        reply = await self.world.complete(request, on_text)
        self.model = reply.model
        self.refused += sum(map(self._is_beyond, reply.tool_calls))
        return fields(reply)

    def _is_beyond(self, call: ToolCall) -> bool:
        """Whether a model asks for a tool that is not there, or for more than one of them does.
        Arguments that fit nothing are only a mistake.
        """
        if call.name not in ARGUMENTS:
            return True
        try:
            arguments = msgspec.json.decode(call.arguments or "{}", type=dict[str, object])
            checked(call.name, arguments, written=self._written)  # pyright: ignore[reportArgumentType] - JSON
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return False
        except GnomonError as error:
            return isinstance(error, ScopedToolViolationError)
        return False

    async def _event(self, args: Fields, _: OnText) -> Json:
        """For whoever watches. Whose it is is not the process's to say."""
        event = read(args, EventArguments).event
        world = self.world
        self.world.publish(
            msgspec.structs.replace(
                event,
                agent="refiner",
                run=world.run,
                parent_run=None,
                change_id=world.change_id,
            )
        )
        return {}

    # --- the four tools --------------------------------------------------------------------------

    async def _read_scaffold(self, args: Fields, _: OnText) -> Json:
        asked = checked(READ_SCAFFOLD, args, written=self._written)
        assert isinstance(asked, ReadScaffold)
        return fields(ToolAnswer(text=self.world.standing(asked.target)))

    async def _read_fitness(self, args: Fields, _: OnText) -> Json:
        checked(READ_FITNESS, args, written=self._written)
        return fields(ToolAnswer(text=self.world.fitness()))

    async def _read_trajectory(self, args: Fields, _: OnText) -> Json:
        asked = checked(READ_TRAJECTORY, args, written=self._written)
        assert isinstance(asked, ReadTrajectoryWindow)
        return fields(ToolAnswer(text=self.world.trajectory(asked.reflections)))

    async def _write_scaffold(self, args: Fields, _: OnText) -> Json:
        asked = checked(WRITE_SCAFFOLD, args, written=self._written)
        assert isinstance(asked, WriteScaffold)
        standing = self.world.standing(asked.target)
        if text_sha256(standing) != self._bases[asked.target]:
            raise ConflictError(
                f"{asked.target} was edited while you worked on it. Nothing was proposed.",
                target=asked.target,
            )
        candidate = edited(asked, standing)
        self._written = True  # before anything is waited for: one proposal a run
        self.refusal = check(asked.target, candidate, self.world.against(asked.target))
        change = self._made(asked, standing, candidate)
        try:
            await self.world.propose(change)
        except BaseException:
            self._written = False  # nothing stands on the ledger: it may be said again
            raise
        self.change = change
        return fields(ToolAnswer(text=self.sentence(), error=self.refusal and "REFUSED"))

    def _made(self, asked: WriteScaffold, standing: str, candidate: str) -> Change:
        world = self.world
        return Change(
            change_id=world.change_id,
            tier="T2",
            author=ChangeAuthor(role="refiner", model=self.model, prompt=world.prompt),
            target=asked.target,
            base_sha256=text_sha256(standing),
            candidate_sha256=text_sha256(candidate),
            candidate=candidate,
            diff=unified(standing, candidate, asked.target),
            rationale=asked.rationale,
            prediction=Prediction(signal=asked.signal, direction=asked.direction),
            evidence=world.evidence,
            status="proposed" if self.refusal is None else "refused",
            reason=self.refusal and self.refusal.reason,
        )

    def sentence(self) -> str:
        """What became of the proposal, for people and for the refiner."""
        change = self.change
        if change is None:
            return "It proposed nothing."
        if self.refusal is not None:
            return f"{change.change_id}, to {change.target}, was refused: {self.refusal.sentence}"
        return f"{change.change_id} is proposed, to {change.target}: {summary(change.diff)}"
