"""The simulated model: plausible reflections and answers, from one seed, in virtual time."""

import asyncio
from collections.abc import Callable
from random import Random

import msgspec

from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.resident.reflection import Item, ReflectionOutput
from gnomon.trust.ipc import Peer

SECONDS = (1.0, 6.0)
"""How long a call takes, from a seeded even spread."""
SUBJECTS = (
    "the flaky login test",
    "the release notes",
    "a slow query in the report",
    "the migration to the new parser",
    "renaming the settings module",
    "the backup job",
)


class SimulatedModel:
    """Serves `complete` as a model host does; `seen` hears every prompt."""

    def __init__(self, rng: Random, seen: Callable[[ModelRequest], None]) -> None:
        self._rng = rng
        self._seen = seen
        self._subject = SUBJECTS[0]

    async def serve(self, peer: Peer, argument: Fields) -> None:
        """The host's entry, in place of the real module's."""
        del argument
        peer.serve(self._answer)
        await peer.closed()

    async def _answer(self, op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
        del op, send_part
        request = msgspec.convert(args["request"], ModelRequest)
        self._seen(request)
        seconds = self._rng.uniform(*SECONDS)
        await asyncio.sleep(seconds)
        content = self._reflection() if request.schema is not None else self._sentence()
        reply = ModelReply(
            content=content,
            finish="stop",
            model="simulated",
            tokens_in=sum(len(message.content) for message in request.messages) // 4,
            tokens_out=len(content) // 4,
            seconds=round(seconds, 3),
        )
        return msgspec.to_builtins(reply)

    def _sentence(self) -> str:
        return f"I looked at {self._rng.choice(SUBJECTS)}; nothing there is urgent."

    def _reflection(self) -> str:
        if self._rng.random() < 0.4:
            self._subject = self._rng.choice(SUBJECTS)
        subject = self._subject
        output = ReflectionOutput(
            focus=f"What stands still in {subject}",
            desired_action=self._rng.choice(("rest", "observe", "research", "plan")),
            summary=f"{subject} needs one more datum before anything is done.",
            concerns=(f"{subject} may block other work",),
            interests=(),
            open_questions=(f"Who last changed {subject}?",),
            candidate_items=(
                Item(title=f"Look at {self._rng.choice(SUBJECTS)}", source="background"),
            ),
            active_item=Item(title=f"Look at {subject}", source="continuity"),
            thread_title=subject,
            next_step=f"Find the last change to {subject}",
        )
        return msgspec.json.encode(output).decode()
