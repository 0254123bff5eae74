"""The executive at work: one run of the agent's loop that leaves one document behind.

The run has its own manifest (it looks things up and changes nothing), its own log and its own
purpose on the bill. What comes of it is checked here and again where it is kept.
"""

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from gnomon.agent import loop
from gnomon.agent.artifacts import Artifact, also_required, read_artifact
from gnomon.agent.frontmatter import FrontmatterError
from gnomon.agent.prompts import Prompt, resolve
from gnomon.agent.remote_model import EventsOverPipe, ModelOverPipe
from gnomon.agent.run import Ports, RunResult, Task, Working
from gnomon.agent.tool_specs import granted
from gnomon.domain.canonical import canonical
from gnomon.domain.errors import GnomonError, InvalidOutputError, ModelReplyError
from gnomon.domain.manifest import Manifest
from gnomon.domain.messages import Message
from gnomon.domain.plain import fields, read
from gnomon.domain.ports import Clock, Ids, Pipe
from gnomon.domain.records import AttemptOutcome, RunClosed, RunOpened, SurfaceMode
from gnomon.resident import executive
from gnomon.resident.ports import (
    LedgerOverPipe,
    RunLog,
    ToolsOverPipe,
)
from gnomon.resident.protocol import ArtifactArguments, ArtifactReply
from gnomon.resident.rules import Rules

PROMPT = "executive-prompt@production"
"""Where the manifest names none."""
TASK_PROMPT = "executive-task@packaged"
RETRY_PROMPT = "executive-retry@packaged"
PURPOSE = "executive"


@dataclass(frozen=True)
class Finished:
    """How an attempt ended. `summary` and `artifact` are set once something was kept."""

    outcome: AttemptOutcome
    artifact: str | None = None
    surface_mode: SurfaceMode = "hold"
    title: str = ""
    summary: str = ""
    error: GnomonError | None = None


class Executive:
    """Carries out work that was decided on. One piece at a time."""

    def __init__(
        self, pipe: Pipe, agent: str, manifest: Manifest, clock: Clock, ids: Ids, rules: Rules
    ) -> None:
        self._pipe = pipe
        self._agent = agent
        self._manifest = manifest
        self._clock = clock
        self._ids = ids
        self._rules = rules
        self._events = EventsOverPipe(pipe)
        self._log: RunLog | None = None

    async def carry_out(self, work: executive.Work, scaffold: Mapping[str, str]) -> Finished:
        """Work until there is a document, and have it kept. What goes wrong is in the answer;
        a cancellation closes the run's log and passes on.
        """
        run = self._ids.new("run")
        self._log = log = RunLog(LedgerOverPipe(self._pipe), run)
        reason = "done"
        try:
            await log.open(self._opened(work))
            return await self._made(work, scaffold, run, log)
        except asyncio.CancelledError:
            reason = "cancelled"
            raise
        except GnomonError as error:
            reason = error.code
            return Finished(outcome="error", error=error)
        finally:
            log.note(RunClosed(reason=reason))

    async def drained(self) -> None:
        """Wait until what goes out in the background has gone."""
        if self._log is not None:
            await self._log.drained()
        await self._events.drained()

    def _opened(self, work: executive.Work) -> RunOpened:
        return RunOpened(
            agent=self._agent,
            manifest_sha256=hashlib.sha256(canonical(self._manifest)).hexdigest(),
            objective=f"{work.action_kind}: {work.title}",
        )

    async def _made(
        self, work: executive.Work, scaffold: Mapping[str, str], run: str, log: RunLog
    ) -> Finished:
        system = resolve(self._manifest.prompts.get("system", PROMPT), scaffold)
        first = await self._run((_asked(work),), system, run, log)
        try:
            made = read_artifact(first.text, work.action_kind)
        except FrontmatterError as error:
            told = resolve(RETRY_PROMPT).text.replace("{reason}", str(error.facts["reason"]))
            again = (
                _asked(work),
                Message(role="assistant", content=first.text),
                Message(role="user", content=told),
            )
            second = await self._run(again, system, run, log)
            made = _valid(second, work.action_kind)
        kept = read(
            await self._pipe.call(
                "artifact.put",
                fields(
                    ArtifactArguments(
                        action_kind=work.action_kind,
                        title=work.title,
                        query=work.query,
                        text=made.text,
                    )
                ),
            ),
            ArtifactReply,
        )
        return Finished(
            outcome="produced" if kept.progressed else "no-progress",
            artifact=kept.artifact,
            surface_mode=kept.surface_mode,
            title=made.title,
            summary=made.summary,
        )

    async def _run(
        self, messages: tuple[Message, ...], system: Prompt, run: str, log: RunLog
    ) -> RunResult:
        """One run of the loop to its answer. Raises what kept it from one."""
        task = Task(
            run_id=run,
            system=system,
            messages=messages,
            specs=granted(self._manifest.tools),
            purpose=PURPOSE,
        )
        ports = Ports(
            model=ModelOverPipe(self._pipe, run),
            tools=ToolsOverPipe(self._pipe, run, self._rules.describe),
            clock=self._clock,
            emit=self._events.emit,
            log=log.note,
        )
        result = await loop.run(Working(self._manifest, task, self._clock.monotonic()), ports)
        if result.error is not None:
            raise result.error
        if result.stop_reason != "done":
            raise ModelReplyError(
                f"The work came to no end: {result.stop_reason}.", reason=result.stop_reason
            )
        return result


def _valid(result: RunResult, kind: str) -> Artifact:
    try:
        return read_artifact(result.text, kind)
    except FrontmatterError as error:
        raise InvalidOutputError(
            f"The document does not fit its schema: {error.facts['reason']}.",
            reason=error.facts["reason"],
            model=result.model or "",
        ) from error


def _asked(work: executive.Work) -> Message:
    """The task in words: the kind, the title, the question, and the shape of the answer."""
    text = resolve(TASK_PROMPT).text
    for name, value in (
        ("kind", work.action_kind),
        ("extra", ", ".join(also_required(work.action_kind))),
        ("title_yaml", msgspec.json.encode(work.title).decode()),
        ("title", work.title),
        ("query", work.query),
    ):
        text = text.replace(f"{{{name}}}", value)
    return Message(role="user", content=text)
