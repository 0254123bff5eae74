"""The refiner's desk in a real gateway, over virtual time: when it runs, what comes of it, and
what outlives a restart.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gnomon.brokers.model_in_force import InForce
from gnomon.daemon.change.refiner_model import RefinerModel, refiner_model
from gnomon.daemon.presence import Presence, steady
from gnomon.domain.errors import ConfigError, GnomonError, TrustError, UsageError
from gnomon.domain.instants import DAY, HOUR, MINUTE, Millis
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.domain.records_change import Change
from gnomon.referee import writer_main
from gnomon.refiner import worker_main
from gnomon.resident.reflection import ReflectionOutput
from gnomon.testing.models import calls, says
from tests.refiner_kit import OTHER, PROMPT, WORDS, WRITE
from tests.world_kit import CLIENT, Gateway, World, in_virtual_time

DEV = """{"dev_mode": true, "window_seconds": 600, "refiner_every_ticks": 10000,
 "refiner_every_hours": 1}"""
KERNEL = "[kernel]\ntick_ms = 60000\nidle_activity_gate_minutes = 0\n"
AWAY = 20 * MINUTE / 1000


def thinks() -> str:
    """A reflection."""
    output = ReflectionOutput(
        focus="the release",
        desired_action="rest",
        summary="Nothing is new.",
        concerns=(),
        interests=(),
        open_questions=(),
        candidate_items=(),
        active_item=None,
    )
    return msgspec.json.encode(output).decode()


def proposes(request: ModelRequest) -> str | ModelReply:
    """One proposal, then the end; a reflection's request gets what is none."""
    if request.purpose != "refine":
        return thinks()
    if any(message.role == "tool" for message in request.messages):
        return says("Done.")
    return calls(("write_scaffold", WRITE))


def lived(
    tmp_path: Path,
    story: Callable[[Gateway, World], Any],
    says_: Any = proposes,
    fitness: str = DEV,
    config: str = "",
) -> None:
    async def live() -> None:
        world = World(tmp_path / "home", says=says_, fitness=fitness, config=KERNEL + config)
        async with world.up() as gateway:
            await measured(gateway)
            await story(gateway, world)

    in_virtual_time(live)


async def measured(gateway: Gateway) -> None:
    """Two windows, in which the present instructions are measured; the operator is there."""
    for minutes in (10, 12):
        await asyncio.sleep(minutes * MINUTE / 1000)
        gateway.core.seen("chat")


def changes(gateway: Gateway) -> list[Change]:
    return [line for line in gateway.lines("refinement-ledger") if isinstance(line, Change)]


def refining(world: World) -> list[ModelRequest]:
    return [request for request in world.host.requests if request.purpose == "refine"]


async def run(gateway: Gateway) -> Any:
    return await gateway.ask("jobs.run", name="refine")


def test_by_hand_it_proposes_an_edit_which_is_applied_and_watched(tmp_path: Path) -> None:
    async def story(gateway: Gateway, world: World) -> None:
        done = await run(gateway)
        assert done.ran
        assert "is proposed, to inner-loop-prompt.md" in done.done[0]
        (change,) = changes(gateway)
        assert (change.status, change.author.role) == ("proposed", "refiner")
        (view,) = await gateway.ask("changes.list")
        assert view.status == "watched"
        assert OTHER in (gateway.core.agent.scaffold / PROMPT).read_text()
        spends = [line for line in gateway.lines("spend-ledger") if line.purpose == "refine"]
        assert {line.role for line in spends} == {"refiner"}
        assert {line.change_id for line in spends} == {change.change_id}
        assert "The refiner: " in gateway.core.agent.journal.read_text()
        again = await run(gateway)
        assert (again.ran, again.why_not) == (False, "A change is being tested.")
        assert len(refining(world)) == 2

    lived(tmp_path, story)


def test_what_the_refiner_is_told_holds_the_measure_and_the_residents_prompt_does_not(
    tmp_path: Path,
) -> None:
    def looks(request: ModelRequest) -> str | ModelReply:
        if request.purpose != "refine":
            return thinks()
        if any(message.role == "tool" for message in request.messages):
            return says("Nothing.")
        return calls(("read_fitness_ledger", {}), ("read_trajectory_window", {}))

    async def story(gateway: Gateway, world: World) -> None:
        done = await run(gateway)
        assert done.done == ("It proposed nothing. Nothing.",)
        told = [m.content for m in refining(world)[-1].messages if m.role == "tool"]
        assert "By day:" in told[0]
        assert "Flags, counted beforehand:" in told[1]
        others = [r for r in world.host.requests if r.purpose != "refine"]
        assert not any("By day:" in m.content for r in others for m in r.messages)

    lived(tmp_path, story, looks)


def test_past_failures_reach_it_and_near_copies_are_refused(tmp_path: Path) -> None:
    replacements = iter(["Aim for 0.42 of it", "Aim for 0.43 of it"])

    def proposes_it_again(request: ModelRequest) -> str | ModelReply:
        if request.purpose != "refine":
            return thinks()
        told = sum(message.role == "tool" for message in request.messages)
        if told == 0:
            return calls(("read_fitness_ledger", {}))
        if told == 1:
            return calls(("write_scaffold", {**WRITE, "replace": next(replacements)}))
        return says("Done.")

    async def story(gateway: Gateway, world: World) -> None:
        await run(gateway)
        await run(gateway)
        reasons = [str(change.reason).partition(":")[0] for change in changes(gateway)]
        assert reasons == ["new-number", "near-copy"]
        told = [m.content for m in refining(world)[-1].messages if m.role == "tool"]
        assert "inner-loop-prompt.md refused (new-number: The edit brings a number" in told[0]
        assert gateway.core.scaffold_version().startswith("000001-")

    lived(tmp_path, story, proposes_it_again)


def test_at_a_beat_it_runs_once_the_operator_is_away_and_then_after_its_time(
    tmp_path: Path,
) -> None:
    async def story(gateway: Gateway, world: World) -> None:
        await asyncio.sleep(10 * MINUTE / 1000)
        assert not refining(world), "the operator was here at the start"
        await asyncio.sleep(7 * MINUTE / 1000)
        assert len(refining(world)) == 1
        await asyncio.sleep(50 * MINUTE / 1000)
        assert len(refining(world)) == 1
        await asyncio.sleep(15 * MINUTE / 1000)
        assert len(refining(world)) == 2
        gateway.core.seen("chat")
        await asyncio.sleep(10 * MINUTE / 1000)
        assert len(refining(world)) == 2

    def nothing(request: ModelRequest) -> str:
        return thinks() if request.purpose != "refine" else "Nothing."

    lived(tmp_path, story, nothing)


def test_it_waits_for_a_pause_and_for_whoever_has_gone_for_days(tmp_path: Path) -> None:
    async def story(gateway: Gateway, world: World) -> None:
        await gateway.ask("kernel.pause")
        await asyncio.sleep(HOUR / 1000)
        assert not refining(world)
        (row,) = [row for row in await gateway.ask("jobs.list") if row.name == "refine"]
        assert (row.due, row.why_not) == (
            False,
            "The budget, the duty cycle or a pause forbids a call.",
        )
        await gateway.ask("kernel.resume")
        seen = Millis(steady(world.clock) - 3 * DAY - 1)
        gateway.core.presence = Presence(last_at=seen, last_sign="chat")
        (row,) = [row for row in await gateway.ask("jobs.list") if row.name == "refine"]
        assert row.why_not == "You have not been here for 3 days."

    lived(tmp_path, story)


def test_it_is_not_ready_until_the_evidence_is_there_and_says_what_is_missing(
    tmp_path: Path,
) -> None:
    async def story(gateway: Gateway, world: World) -> None:
        found = await gateway.ask("refine.status")
        assert found.codes == ("few-days", "engagement-unknown", "not-enabled", "unmeasured")
        assert (found.ready, found.enabled, found.next_at) == (False, False, None)
        done = await run(gateway)
        assert not done.ran
        assert done.why_not is not None
        assert "It has been measured on 0 of 7 days." in done.why_not
        await asyncio.sleep(AWAY)
        assert not refining(world)
        with pytest.raises(UsageError, match="There is no number yet"):
            await gateway.ask("refine.enable")
        assert not (await gateway.ask("refine.status")).enabled
        await asyncio.sleep(2 * HOUR / 1000)
        enabled = await gateway.ask("refine.enable")
        assert enabled.enabled
        assert enabled.codes[:2] == ("few-days", "engagement-unknown")

    lived(tmp_path, story, fitness="")


def test_only_the_operator_enables_it(tmp_path: Path) -> None:
    async def story(gateway: Gateway, world: World) -> None:
        for door in (CLIENT, None):
            with pytest.raises(TrustError):
                await gateway.ask("refine.enable", door=door)
            with pytest.raises(TrustError):
                await gateway.ask("refine.disable", door=door)
        assert not (await gateway.ask("refine.status")).enabled
        assert gateway.operations["refine.enable"].authority == "operator"

    lived(tmp_path, story)


def test_the_operators_word_can_be_taken_back_and_the_journal_says_so(tmp_path: Path) -> None:
    async def story(gateway: Gateway, world: World) -> None:
        assert (await gateway.ask("refine.enable")).enabled
        for _ in range(2):
            assert not (await gateway.ask("refine.disable")).enabled
        journal = gateway.core.agent.journal.read_text()
        assert journal.count("You took back that the number fits") == 1
        assert (await gateway.ask("refine.enable")).enabled

    lived(tmp_path, story)


def test_its_word_and_its_counts_outlive_a_restart_and_a_damaged_file_means_off(
    tmp_path: Path,
) -> None:
    def wants_more(request: ModelRequest) -> str | ModelReply:
        if request.purpose != "refine":
            return thinks()
        if len(request.messages) > 2:
            return says("I cannot.")
        return calls(("shell", {"command": "id"}), ("network", {}))

    async def live() -> None:
        world = World(tmp_path / "home", says=wants_more, fitness=DEV, config=KERNEL)
        async with world.up() as gateway:
            await measured(gateway)
            await gateway.ask("refine.enable")
            await run(gateway)
        async with world.up() as gateway:
            found = await gateway.ask("refine.status")
            assert (found.enabled, found.refused_calls) == (True, 2)
            (row,) = [row for row in await gateway.ask("jobs.list") if row.name == "refine"]
            assert row.last_at is not None
        (world.home.agent("main").state / "refiner.json").write_text("{broken")
        async with world.up() as gateway:
            assert not (await gateway.ask("refine.status")).enabled
            journal = gateway.core.agent.journal.read_text()
            assert "The refiner is off until you enable it again" in journal

    in_virtual_time(live)


def test_autonomy_below_full_keeps_it_from_running(tmp_path: Path) -> None:
    async def story(gateway: Gateway, world: World) -> None:
        done = await run(gateway)
        assert not done.ran
        assert done.why_not is not None
        assert "improve.autonomy is 'skills'" in done.why_not

    lived(tmp_path, story, config='[improve]\nautonomy = "skills"\n')


def test_while_the_referee_fails_nothing_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(peer: Any, argument: object) -> None:
        del argument
        peer.close()

    async def story(gateway: Gateway, world: World) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(writer_main, "serve", dies)
            await asyncio.sleep(2 * HOUR / 1000)
            assert (await gateway.ask("refine.status")).codes == ("referee-fails",)
            assert (await gateway.ask("status.show")).autonomy == "memory"
        await asyncio.sleep(2 * HOUR / 1000)
        assert (await gateway.ask("refine.status")).ready
        assert (await gateway.ask("status.show")).autonomy == "full"

    lived(tmp_path, story)


def test_two_runs_that_broke_off_in_a_row_are_the_last_until_it_is_enabled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(peer: Any, argument: object) -> None:
        del argument
        peer.close()

    async def story(gateway: Gateway, world: World) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(worker_main, "serve", dies)
            with pytest.raises(GnomonError):
                await run(gateway)
            await asyncio.sleep(AWAY)  # the next is the beat's
            await asyncio.sleep(HOUR / 1000)
        assert (await gateway.ask("refine.status")).codes == ("failed-twice",)
        assert "The refiner's run broke off" in gateway.core.agent.journal.read_text()
        assert (await gateway.ask("refine.enable")).ready

    lived(tmp_path, story)


def test_a_model_that_fails_is_told_and_is_no_failure_of_the_refiner(tmp_path: Path) -> None:
    def garbage(request: ModelRequest) -> str | ModelReply:
        if request.purpose != "refine":
            return thinks()
        return ModelReply(content="x", finish="length", model="scripted")

    async def story(gateway: Gateway, world: World) -> None:
        done = await run(gateway)
        assert done.ran
        assert done.done == ("It proposed nothing. x",)
        assert (await gateway.ask("refine.status")).ready

    lived(tmp_path, story, garbage)


def test_a_run_that_hangs_is_ended_by_the_gateways_end(tmp_path: Path) -> None:
    async def hangs(peer: Any, argument: object) -> None:
        del argument

        async def never(*_: object) -> None:
            await asyncio.Event().wait()

        peer.serve(never)
        await peer.closed()

    async def live() -> None:
        world = World(tmp_path / "home", says=proposes, fitness=DEV, config=KERNEL)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(worker_main, "serve", hangs)
            async with world.up() as gateway:
                await measured(gateway)
                running = asyncio.create_task(run(gateway))
                await asyncio.sleep(1)
                assert (await run(gateway)).why_not == "It runs."
                await gateway.core.refine.turn()
            assert (await running).why_not == "It was ended: the gateway stops."

    in_virtual_time(live)


def test_a_run_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hangs(peer: Any, argument: object) -> None:
        del argument

        async def never(*_: object) -> None:
            await asyncio.Event().wait()

        peer.serve(never)
        await peer.closed()

    async def story(gateway: Gateway, world: World) -> None:
        monkeypatch.setattr(worker_main, "serve", hangs)
        began = world.clock.monotonic()
        with pytest.raises(GnomonError, match="did not end within 900 s"):
            await run(gateway)
        assert world.clock.monotonic() - began < 910

    lived(tmp_path, story)


# --- which model --------------------------------------------------------------------------------


class Models:
    """What there is besides the model in force."""

    def __init__(self, *, has_embedded: bool = True) -> None:
        self.has_embedded = has_embedded

    def named(self, name: str) -> InForce:
        if name == "nowhere":
            raise ConfigError("It has no address.")
        kind = "demo" if name == "embedded" else "local"
        return InForce(name=name, kind=kind, model=None)


def in_force(kind: Any) -> InForce:
    return InForce(name="m", kind=kind, model=None)


@pytest.mark.parametrize(
    ("named", "kind", "embedded", "found"),
    [
        ("", "local", True, ("m", False, False)),
        ("", "demo", True, ("m", True, False)),
        ("m", "local", True, ("m", False, False)),
        ("", "remote", True, ("embedded", True, True)),
        ("", "remote", False, "remote-model"),
        ("m", "remote", False, ("m", False, False)),
        ("", "none", True, "no-model"),
        ("qwen3.5:9b-mlx", "local", True, ("qwen3.5:9b-mlx", False, True)),
        ("qwen3.5:9b-mlx", "none", True, ("qwen3.5:9b-mlx", False, True)),
        ("embedded", "local", True, ("embedded", True, True)),
        ("embedded", "local", False, "no-model"),
        ("nowhere", "local", True, "model-config"),
    ],
)
def test_a_remote_model_is_used_only_where_it_is_named(
    named: str, kind: str, embedded: bool, found: object
) -> None:
    chosen = refiner_model(named, in_force(kind), Models(has_embedded=embedded))
    if isinstance(chosen, RefinerModel):
        assert (chosen.name, chosen.by_schema, chosen.beside is not None) == found
    else:
        assert chosen[0] == found
        assert chosen[1].endswith((".", "`."))


def test_a_model_beside_the_one_in_force_is_asked_and_closed(tmp_path: Path) -> None:
    async def story(gateway: Gateway, world: World) -> None:
        done = await run(gateway)
        assert done.ran
        (change,) = changes(gateway)
        assert change.author.model == "scripted"
        assert change.candidate.count(WORDS) == 0
        spends = [line for line in gateway.lines("spend-ledger") if line.purpose == "refine"]
        assert spends

    fitness = DEV.replace("{", '{"refiner_model": "another", ')
    lived(tmp_path, story, fitness=fitness)
