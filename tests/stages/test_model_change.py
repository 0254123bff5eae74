"""A new model waits for turns that the old one is in the middle of."""

import asyncio
from pathlib import Path

import pytest

from gnomon.daemon.acts import Acts
from gnomon.daemon.arguments import ChatTurn
from gnomon.daemon.wire import open_core
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.home import Home
from gnomon.models import weights
from gnomon.testing.clock import FakeClock, SequenceIds
from tests.daemon_world import Machine, PlayedModel, fine


async def test_a_turn_in_flight_is_waited_for_and_not_for_ever(tmp_path: Path) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def slow(request: ModelRequest) -> ModelReply:
        asked.set()
        await go_on.wait()
        return await fine(request)

    machine = Machine(FakeClock(), SequenceIds(), model=PlayedModel(slow))
    async with open_core(Home(tmp_path / "home"), "main", machine.platform()) as core:
        turn = asyncio.create_task(Acts(core).chat(ChatTurn(text="hello"), lambda _: None))
        await asked.wait()
        await core.turns.over(0.01)  # its time is over before the turn is
        assert core.turns.in_flight == 1
        waiting = asyncio.create_task(core.turns.over(60.0))
        go_on.set()
        assert (await turn).reply == "fine"
        await waiting
        assert core.turns.in_flight == 0


async def test_another_model_can_be_named_beside_the_one_in_force(tmp_path: Path) -> None:
    machine = Machine(FakeClock(), SequenceIds(), model=PlayedModel(fine))
    async with open_core(Home(tmp_path / "home"), "main", machine.platform()) as core:
        models = core.models
        assert (models.in_force().name, models.in_force().kind) == ("played", "local")
        named = models.named("another")
        assert (named.name, named.kind, named.host is not None) == ("another", "local", True)
        assert models.named("embedded").kind == "demo"
        assert models.named("none").model is None
        assert models.in_force().name == "played", "it stays what it was"
        (core.home.models / weights.FILE).write_bytes(b"")
        assert models.has_embedded


async def test_weights_that_are_not_here_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "PACKAGE", "no_such_package")
    machine = Machine(FakeClock(), SequenceIds())
    async with open_core(Home(tmp_path / "home"), "main", machine.platform()) as core:
        assert not core.models.has_embedded
