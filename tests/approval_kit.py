"""A core with a folder that is granted for reading, and an agent that wants to write there."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from gnomon.agent.outcome import Outcome
from gnomon.daemon.child.services import Run
from gnomon.daemon.talk.turns import HandedOut
from gnomon.domain.messages import ToolCall
from gnomon.domain.views_change import ApprovalShown, ApprovalView
from tests.world_kit import CALM, CLI, Gateway, World, in_virtual_time

BEFORE = "one\ntwo\nthree\n"
AFTER = "one\n2\nthree\n"


@dataclass
class Desk:
    """One life, seen from both sides: the agent's and the operator's."""

    world: World
    gateway: Gateway
    folder: Path

    @property
    def notes(self) -> Path:
        return self.folder / "notes.md"

    async def wants(self, name: str = "write", **arguments: object) -> Outcome:
        """The agent calls a tool in the run `run-1`."""
        text = msgspec.json.encode(arguments).decode()
        call = ToolCall(id="1", name=name, arguments=text)
        return await self.gateway.core.tools.run("resident", "run-1", "resident", call)

    async def held(self, content: str = AFTER, path: Path | None = None) -> str:
        """The id under which a write is held."""
        outcome = await self.wants(path=str(path or self.notes), content=content)
        assert outcome.error == "HELD", outcome
        found = outcome.text.removeprefix("Held for the operator: ")
        return found.removesuffix(". Nothing was written.")

    async def ask(self, verb: str, approval_id: str, **more: Any) -> ApprovalShown:
        return await self.gateway.ask(f"approvals.{verb}", CLI, id=approval_id, **more)

    async def views(self, **more: Any) -> list[ApprovalView]:
        return await self.gateway.ask("approvals.list", CLI, **more)

    def kinds(self) -> list[str]:
        return [line.kind() for line in self.gateway.lines("approvals")]

    def in_turn(self, text: str, session: str = "s-1") -> None:
        """The run `run-1` answers what the operator said."""
        turn = HandedOut(session, 1, text, None, run="run-1")
        self.gateway.core.services.runs["run-1"] = Run(turn=turn)


async def grant(gateway: Gateway, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    await gateway.ask("folders.add", path=str(folder))


def at_the_desk(
    root: Path, story: Callable[[Desk], Awaitable[None]], *, config: str = CALM, **settings: Any
) -> None:
    """Tell a story of one life, with `notes.md` in a folder that may be read."""

    async def run() -> None:
        world = World(root / "home", config=config, **settings)
        async with world.up() as gateway:
            desk = Desk(world, gateway, root / "data")
            await grant(gateway, desk.folder)
            desk.notes.write_text(BEFORE)
            await story(desk)

    in_virtual_time(run)
