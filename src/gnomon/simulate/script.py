"""The simulated model: plausible reflections, documents and answers, from one seed, in virtual
time; and the ways in which a model fails.
"""

import asyncio
from collections.abc import Callable, Sequence
from random import Random

import msgspec

from gnomon.agent.artifacts import also_required
from gnomon.domain.errors import ModelUnavailableError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import ModelReply, ModelRequest, ToolCall
from gnomon.domain.records import ItemSource
from gnomon.resident.reflection import Item, ReflectionOutput
from gnomon.simulate import refining
from gnomon.simulate.edits import EDITS, Edit, effect
from gnomon.simulate.faults import FaultKind
from gnomon.trust.ipc import Peer

SECONDS = (1.0, 6.0)
"""How long a call takes, from a seeded even spread."""
SLOW = 15.0
"""A slow model takes so many times as long."""
SUBJECTS = (
    "the flaky login test",
    "the release notes",
    "a slow query in the report",
    "the migration to the new parser",
    "renaming the settings module",
    "the backup job",
    "the expired certificate",
    "the memory leak of the worker",
)
DEEDS = ("Look at", "Decide about", "Finish", "Ask for a review of")
ACTIONS = ("rest",) * 80 + ("observe", "research", "plan", "create")
"""Most reflections ask for nothing."""
SOURCES: tuple[ItemSource, ...] = ("operator", "continuity", "background", "concern")
WEIGHTS = (3, 10, 5, 2)
"""A quarter of the reflections is about something of the operator's."""
GARBAGE = "\x00}{ lorem \u202e 42"
FOLLOWS = 0.6
"""The chance that a reflection stays with its subject; its prompt moves it."""
MOST_FOLLOWS = 0.97
LOOKS_FIRST = 0.5
"""The chance that work begins with a tool."""


class SimulatedModel:
    """Serves `complete` as a model host does. `began` hears every request, and what it gives
    back is called at its end. `mood` is what is wrong with it.
    """

    def __init__(
        self,
        seed: int,
        began: Callable[[ModelRequest], Callable[[], None]],
        edits: Sequence[Edit] = EDITS,
    ) -> None:
        self._edits = edits
        self._rng = Random(f"model {seed}")  # noqa: S311 - a seed is the point
        self._refining = Random(f"refiner {seed}")  # noqa: S311
        self._began = began
        self._subject = SUBJECTS[0]
        self._calls = 0
        self.mood: FaultKind | None = None

    async def serve(self, peer: Peer, argument: Fields) -> None:
        """The host's entry, in place of the real module's."""
        del argument

        async def answer(op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
            del op, send_part
            if self.mood == "model-dies":
                peer.close()
            return await self._answer(msgspec.convert(args["request"], ModelRequest))

        peer.serve(answer)
        await peer.closed()

    async def _answer(self, request: ModelRequest) -> Json:
        seconds = self._rng.uniform(*SECONDS) * (SLOW if self.mood == "model-slow" else 1.0)
        ended = self._began(request)
        try:
            if self.mood == "model-timeout":
                await asyncio.sleep(request.timeout_seconds * 10)
            await asyncio.sleep(seconds)
        finally:
            ended()
        if self.mood == "model-error":
            raise ModelUnavailableError("Simulated: the server answers 500.")
        reply = self._reply(request)
        if self.mood == "model-garbage":
            reply = msgspec.structs.replace(reply, content=GARBAGE, tool_calls=())
        return msgspec.to_builtins(
            msgspec.structs.replace(
                reply,
                tokens_in=sum(len(message.content) for message in request.messages) // 4,
                tokens_out=len(reply.content) // 4,
                seconds=round(seconds, 3),
            )
        )

    def _reply(self, request: ModelRequest) -> ModelReply:
        self._calls += 1
        if request.purpose == refining.PURPOSE:
            return refining.refines(self._refining, request, self._edits)
        if request.schema is not None:
            return _says(self._reflection(effect(request.messages[0].content)))
        if request.purpose == "executive":
            return self._work(request)
        return _says(f"I looked at {self._rng.choice(SUBJECTS)}; nothing there is urgent.")

    def _reflection(self, prompt: Edit) -> str:
        if self._rng.random() > min(MOST_FOLLOWS, max(0.0, FOLLOWS + prompt.follows)):
            self._subject = self._rng.choice(SUBJECTS)
        subject = self._subject
        source = self._rng.choices(SOURCES, WEIGHTS)[0]
        title = f"{self._rng.choice(DEEDS)} {subject}"
        output = ReflectionOutput(
            focus=f"What stands still in {subject}",
            desired_action=self._rng.choice(ACTIONS),
            summary=f"{subject} needs one more datum before anything is done.",
            concerns=(f"{subject} may block other work",),
            interests=(),
            open_questions=(f"Who last changed {subject}?",),
            candidate_items=(
                Item(title=f"Look at {self._rng.choice(SUBJECTS)}", source="background"),
            ),
            active_item=Item(title=title, source=source),
            thread_title=subject,
            next_step=f"Find the last change to {subject}",
        )
        return msgspec.json.encode(output).decode()

    def _work(self, request: ModelRequest) -> ModelReply:
        """One look with a tool, perhaps, then the document that the task's words ask for."""
        last = request.messages[-1]
        asked = next(message for message in request.messages if message.role == "user").content
        if last.role == "user" and request.tools and self._rng.random() < LOOKS_FIRST:
            call = ToolCall(
                id=f"call-{self._calls}",
                name="recall",
                arguments=msgspec.json.encode({"query": self._subject}).decode(),
            )
            return ModelReply(
                content="", finish="tool-calls", model="simulated", tool_calls=(call,)
            )
        return _says(self._document(_told(asked, "Kind of work"), _told(asked, "Title")))

    def _document(self, kind: str, title: str) -> str:
        point = f"Step {self._rng.randint(1, 12)} of {self._subject} is still open."
        extra = "\n".join(f'{name}:\n  - "what was looked at"' for name in also_required(kind))
        head = msgspec.json.encode(title).decode()
        return (
            f"---\nkind: {kind}\ntitle: {head}\n"
            f'summary: "{title}: one thing is still open."\n'
            f'points:\n  - "{point}"\n{extra}\n---\n\n# {title}\n\n{point}\n'
        )


def _told(text: str, name: str) -> str:
    """What a line of the task says."""
    return next(
        line.split(": ", 1)[1] for line in text.splitlines() if line.startswith(f"{name}: ")
    )


def _says(content: str) -> ModelReply:
    return ModelReply(content=content, finish="stop", model="simulated")
