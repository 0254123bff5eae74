"""What operations do to an open core, where that is not another test's subject."""

import asyncio
from pathlib import Path

from gnomon.daemon import arguments as args
from gnomon.daemon.acts import Acts
from gnomon.daemon.core import Core
from gnomon.daemon.wire import open_core
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.gateway.operation import Nothing
from gnomon.home import Home
from gnomon.testing.clock import FakeClock, SequenceIds
from tests.daemon_world import Machine, PlayedModel, fine

CLOSED = "http://127.0.0.1:9/v1"


def journal(core: Core) -> str:
    return core.agent.journal.read_text()


async def test_to_resume_what_is_not_paused_is_no_act(tmp_path: Path) -> None:
    machine = Machine(FakeClock(), SequenceIds())
    async with open_core(Home(tmp_path / "home"), "main", machine.platform()) as core:
        acts = Acts(core)
        assert (await acts.resume(Nothing(), lambda _: None)).detail == "It is not paused."
        paused = await acts.pause(args.Pause(for_seconds=90), lambda _: None)
        assert " UTC: no model calls" in paused.detail
        assert (await acts.resume(Nothing(), lambda _: None)).detail == "It goes on."
        assert (await acts.resume(Nothing(), lambda _: None)).detail == "It is not paused."
        assert journal(core).count("You: It goes on.") == 1
        assert "You: It is not paused." not in journal(core)


async def test_a_model_is_chosen_at_once_while_the_old_one_ends_what_it_began(
    tmp_path: Path,
) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def slow(request: ModelRequest) -> ModelReply:
        asked.set()
        await go_on.wait()
        return await fine(request)

    machine = Machine(FakeClock(), SequenceIds(), model=PlayedModel(slow), environ={})
    home = Home(tmp_path / "home")
    home.root.mkdir()
    home.config.write_text(f'[model]\nname = "old"\nurl = "{CLOSED}"\n')
    async with open_core(home, "main", machine.platform()) as core:
        acts = Acts(core)
        turn = asyncio.create_task(acts.chat(args.ChatTurn(text="hello"), lambda _: None))
        await asked.wait()
        wanted = args.ModelUse(name="new", url=CLOSED)
        async with asyncio.timeout(5):
            done = await acts.use_model(wanted, lambda _: None)
        assert "It uses new at" in done.detail
        assert "But nothing answers there: start that server" in done.detail
        assert (core.broker.in_force.name, turn.done()) == ("new", False)
        go_on.set()
        assert (await turn).reply == "fine"
