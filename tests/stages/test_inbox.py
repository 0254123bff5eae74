"""Seed 1, phase 3: what was brought to the operator, and what became of it, on the real core."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from gnomon.daemon.store import heartbeat
from gnomon.domain.errors import GnomonError, LedgerClosedError, RecordError, TrustError, UsageError
from gnomon.domain.messages import ModelRequest
from gnomon.domain.records_referee import ClockStepped, GatewayStarted, GatewayStopped
from gnomon.referee.config import default_text
from gnomon.trust.roles import check_append
from tests.world_kit import BROWSER, CLI, CLIENT, Gateway, World, in_virtual_time, kinds, lived

TEN_MINUTES = json.dumps(json.loads(default_text()) | {"horizon_seconds": 600})


# --- by name, from the seed --------------------------------------------------------------------


def test_surface_emission_writes_a_ledger_entry(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit("Look here", body="The text.")
        (line,) = gateway.surfaces()
        assert (line.surface_id, line.title, line.origin) == (surface_id, "Look here", "model")
        assert line.scaffold_version.startswith("000001-")
        shown = await gateway.ask("inbox.show", surface_id=surface_id)
        assert (shown.item.body, shown.fault) == ("The text.", None)

    lived(tmp_path, story)


def test_artifact_open_triggers_acted(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        surface_id = await an_artifact(gateway)
        shown = await gateway.ask("inbox.open", surface_id=surface_id)
        assert "Text." in shown.text
        (outcome,) = gateway.outcomes(surface_id)
        assert (outcome.outcome, outcome.source) == ("acted", "artifact_file_open")

    lived(tmp_path, story)


def test_ack_button_triggers_acked(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit()
        item = await gateway.ask("inbox.dismiss", BROWSER, surface_id=surface_id)
        assert (item.outcome, item.source) == ("acked", "dashboard_click")

    lived(tmp_path, story)


def test_timeout_sweeper_triggers_ignored(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit()
        await asyncio.sleep(23 * 3600)
        assert gateway.outcomes(surface_id) == []
        await asyncio.sleep(3700)
        (outcome,) = gateway.outcomes(surface_id)
        assert (outcome.outcome, outcome.source) == ("ignored", "timeout")

    lived(tmp_path, story)


def test_gateway_shutdown_with_unresolved_surfaces_triggers_system_unavailable(
    tmp_path: Path,
) -> None:
    """Killed 30 s after the emission and started 5 minutes after it: 30 alive, 270 down."""

    async def story() -> None:
        world = World(tmp_path / "home")
        async with world.up() as gateway:
            surface_id = await gateway.emit()
            answered = await gateway.emit("Another")
            await gateway.ask("inbox.use", surface_id=answered)
            await asyncio.sleep(30)
        await asyncio.sleep(270)
        async with world.up() as gateway:
            stopped, started = gateway.outcomes(surface_id)
            assert (stopped.outcome, stopped.source) == ("system_unavailable", "gateway_shutdown")
            assert (stopped.alive_seconds, stopped.downtime_seconds) == (30, None)
            assert (started.outcome, started.alive_seconds) == ("system_unavailable", 30)
            assert started.downtime_seconds == 270
            assert [o.outcome for o in gateway.outcomes(answered)] == ["acted"]
            lines = kinds(gateway.lines())
            assert lines.index("gateway_stopped") > lines.index("outcome")
            item = await gateway.ask("inbox.use", surface_id=surface_id)
            assert item.outcome == "acted", "what outlived a shutdown may still be used"

    in_virtual_time(story)


def test_all_four_outcomes_within_one_hour(tmp_path: Path) -> None:
    async def story() -> None:
        world = World(tmp_path / "home", fitness=TEN_MINUTES)
        async with world.up() as gateway:
            names = [await gateway.emit(f"Item {n}") for n in range(3)]
            await gateway.ask("inbox.use", surface_id=names[0])
            await gateway.ask("inbox.dismiss", surface_id=names[1])
            await asyncio.sleep(12 * 60)
            late = await gateway.emit("Nobody could see it")
            await asyncio.sleep(60)
        await asyncio.sleep(20 * 60)
        async with world.up() as gateway:
            found = {o.surface_id: o.outcome for o in gateway.outcomes()}
            assert [found[name] for name in names] == ["acted", "acked", "ignored"]
            assert found[late] == "system_unavailable"

    in_virtual_time(story)


# --- authority ---------------------------------------------------------------------------------

ACTS = ("inbox.use", "inbox.dismiss", "inbox.read", "inbox.open", "inbox.resolve", "inbox.edit")


@pytest.mark.parametrize("door", [CLIENT, None], ids=["client", "nobody"])
@pytest.mark.parametrize("name", [*ACTS, "inbox.emit", "chat.turn"])
def test_engagement_is_the_operators_alone(tmp_path: Path, name: str, door: Any) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        surface_id = await an_artifact(gateway)
        before = gateway.lines()
        given: dict[str, Any] = {
            "inbox.emit": {"title": "Forged", "count": True},
            "inbox.edit": {"surface_id": surface_id, "text": "Mine."},
            "chat.turn": {"text": "Thanks.", "reply_to": surface_id},
        }.get(name, {"surface_id": surface_id})
        with pytest.raises(TrustError):
            await gateway.ask(name, door, **given)
        assert gateway.lines() == before

    lived(tmp_path, story)


def test_each_act_changes_something_and_asks_for_the_operator(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        rows = [row for name, row in gateway.operations.items() if name.startswith("inbox.")]
        assert {row.name for row in rows if row.reads} == {"inbox.list", "inbox.show"}
        assert {row.authority for row in rows} == {"operator"}

    lived(tmp_path, story)


def test_looking_is_not_engagement(tmp_path: Path) -> None:
    async def story(world: World, gateway: Gateway) -> None:
        surface_id = await an_artifact(gateway)
        await gateway.ask("inbox.list")
        await gateway.ask("inbox.show", surface_id=surface_id)
        folder = world.home.agent("main").artifacts
        for file in folder.iterdir():  # neither is opening or touching it
            file.read_bytes()
            file.touch()
        await asyncio.sleep(180)
        assert gateway.outcomes() == []

    lived(tmp_path, story)


@pytest.mark.parametrize("extra", ["at", "source", "outcome", "happened_at", "alive_seconds"])
def test_a_caller_can_say_neither_when_nor_how(tmp_path: Path, extra: str) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit()
        with pytest.raises(UsageError, match="does not know"):
            await gateway.ask("inbox.use", CLI, **{"surface_id": surface_id, extra: "x"})

    lived(tmp_path, story)


def test_an_unknown_item_is_refused_everywhere(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        for name in (*ACTS, "inbox.show"):
            more: dict[str, Any] = {"text": "x"} if name == "inbox.edit" else {}
            with pytest.raises(UsageError, match="no item"):
                await gateway.ask(name, CLI, surface_id="sf-0000", **more)
        with pytest.raises(UsageError, match="no item"):
            await gateway.ask("chat.turn", text="hello", reply_to="sf-0000")
        assert gateway.outcomes() == []
        assert await gateway.core.turns.sessions() == [], "no turn was begun"

    lived(tmp_path, story)


@pytest.mark.parametrize(
    ("ledger", "kind"),
    [
        ("engagement-ledger", "outcome"),
        ("engagement-ledger", "surface_emitted"),
        ("fitness-ledger", "window"),
    ],
)
def test_the_residents_pipe_writes_no_engagement(ledger: str, kind: str) -> None:
    with pytest.raises(TrustError):
        check_append("resident", ledger, kind)


def test_a_resident_that_forges_is_refused(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit()
        child = gateway.core.services
        from gnomon.daemon.child.child_requests import ChildRequests

        pipe = ChildRequests("resident", child)
        forged: list[tuple[str, dict[str, Any], type[GnomonError]]] = [
            (
                "ledger.append",
                {
                    "name": "engagement-ledger",
                    "kind": "outcome",
                    "fields": {"surface_id": surface_id, "outcome": "acted", "source": "cli"},
                },
                TrustError,
            ),
            (
                "ledger.append",
                {"name": "artifact-ledger", "kind": "artifact", "fields": {}},
                TrustError,
            ),
            ("inbox.use", {"surface_id": surface_id}, TrustError),
            ("surface", {"kind": "notification", "title": "x", "body": ""}, TrustError),
            (
                "surface",
                {"kind": "notification", "title": "x", "body": "", "origin": "rule"},
                TrustError,
            ),
            ("surface", {"kind": "notification", "title": "x", "synthetic": True}, RecordError),
            (
                "artifact.put",
                {"action_kind": "draft", "title": "x", "query": "", "text": "x"},
                TrustError,
            ),
        ]
        before = gateway.lines()
        for op, args, error in forged:
            with pytest.raises(error):
                await pipe(op, args, lambda _: None)
        assert gateway.lines() == before

    lived(tmp_path, story)  # without a model the mode is `shadow`: nothing may be shown


# --- which outcome stands ----------------------------------------------------------------------


def test_the_strongest_stands_and_acked_may_become_acted(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit()
        assert (await gateway.ask("inbox.dismiss", surface_id=surface_id)).outcome == "acked"
        assert (await gateway.ask("inbox.use", surface_id=surface_id)).outcome == "acted"
        assert (await gateway.ask("inbox.dismiss", surface_id=surface_id)).outcome == "acted"
        assert [o.outcome for o in gateway.outcomes()] == ["acked", "acted"]

    lived(tmp_path, story)


def test_of_two_clicks_at_once_one_counts(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit()
        clicks = [gateway.ask("inbox.use", BROWSER, surface_id=surface_id) for _ in range(4)]
        items = await asyncio.gather(*clicks)
        assert {item.outcome for item in items} == {"acted"}
        assert len(gateway.outcomes()) == 1

    lived(tmp_path, story)


def test_after_the_horizon_nothing_changes_and_what_is_there_can_still_be_read(
    tmp_path: Path,
) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        surface_id = await an_artifact(gateway)
        await asyncio.sleep(11 * 60)
        for name in ("inbox.use", "inbox.dismiss", "inbox.read"):
            with pytest.raises(UsageError, match="over"):
                await gateway.ask(name, surface_id=surface_id)
        assert "Text." in (await gateway.ask("inbox.open", surface_id=surface_id)).text
        item = await gateway.item(surface_id)
        assert (item.outcome, item.open_until) == ("ignored", None)

    lived(tmp_path, story, fitness=TEN_MINUTES)


def test_every_way_of_acting_has_its_source(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        async def acted(name: str, door: Any = CLI, **more: Any) -> str:
            kind = "pending" if name == "inbox.resolve" else "notification"
            made = an_artifact(gateway) if name in ("inbox.open", "inbox.read") else None
            surface_id = await (made or gateway.emit(kind=kind))
            await gateway.ask(name, door, surface_id=surface_id, **more)
            (outcome,) = gateway.outcomes(surface_id)
            assert outcome.outcome == "acted"
            return outcome.source

        assert await acted("inbox.use") == "cli"
        assert await acted("inbox.use", BROWSER) == "dashboard_click"
        assert await acted("inbox.read") == "cli"
        assert await acted("inbox.open", BROWSER) == "artifact_file_open"
        assert await acted("inbox.resolve") == "agenda_resolved"
        assert await acted("inbox.edit", text="Mine.") == "text_edited"

    lived(tmp_path, story)


def test_the_agent_hears_at_its_next_tick_that_an_item_was_settled(tmp_path: Path) -> None:
    title = "Decide about the flaky test"
    thought: dict[str, Any] = {
        "focus": title,
        "desired_action": "rest",
        "summary": "It waits.",
        "concerns": [],
        "interests": [],
        "open_questions": [],
        "candidate_items": [],
        "active_item": {"title": title, "source": "operator"},
        "next_step": "Ask.",
    }
    asked: list[dict[str, Any]] = []

    def says(request: ModelRequest) -> str:
        asked.append(json.loads(request.messages[-1].content))
        return json.dumps(thought)

    async def story(_: World, gateway: Gateway) -> None:
        await asyncio.sleep(130)
        (brought,) = gateway.surfaces()
        assert (brought.title, brought.surface_kind) == (title, "pending")
        await asyncio.sleep(120)
        assert asked[-1]["active_item"]["title"] == title
        await gateway.ask("inbox.resolve", surface_id=brought.surface_id)
        assert gateway.core.closed_items.waiting() == (title,)
        thought.update(active_item=None, candidate_items=[])
        await asyncio.sleep(120)
        assert asked[-1]["closed_by_operator"] == [title]
        assert "active_item" not in asked[-1]
        assert "operator_lane" not in asked[-1]
        assert gateway.core.closed_items.waiting() == ()
        await asyncio.sleep(120)
        assert "closed_by_operator" not in asked[-1]

    lived(tmp_path, story, says=says)


def test_what_was_settled_is_told_by_the_next_life_and_a_test_of_the_operators_never(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        world = World(tmp_path / "home")
        async with world.up(crashes=True) as gateway:
            for count in (True, False):
                made = await gateway.ask("inbox.emit", kind="pending", title="Mine", count=count)
                await gateway.ask("inbox.resolve", surface_id=made.surface_id)
        async with world.up() as gateway:
            assert gateway.core.closed_items.waiting() == ("Mine",)
            await asyncio.sleep(130)
            assert gateway.core.closed_items.waiting() == ()

    in_virtual_time(story)


def test_an_edit_is_kept_beside_what_was_shown(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit(body="Theirs.")
        await gateway.ask("inbox.edit", surface_id=surface_id, text="Mine.")
        shown = await gateway.ask("inbox.show", surface_id=surface_id)
        assert (shown.item.body, shown.edited) == ("Theirs.", "Mine.")

    lived(tmp_path, story)


def test_what_does_not_fit_the_item_is_refused(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit()
        for name in ("inbox.read", "inbox.open", "inbox.resolve"):
            with pytest.raises(UsageError):
                await gateway.ask(name, surface_id=surface_id)
        assert gateway.outcomes() == []

    lived(tmp_path, story)


def test_a_reply_to_an_item_is_acted(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit()
        with pytest.raises(UsageError, match="no session"):
            await gateway.ask("chat.turn", text="x", session="s-nowhere", reply_to=surface_id)
        assert gateway.outcomes() == []
        await gateway.ask("chat.turn", text="Thanks.", reply_to=surface_id)
        (outcome,) = gateway.outcomes()
        assert (outcome.outcome, outcome.source) == ("acted", "reply_in_conversation")

    lived(tmp_path, story)


def test_an_act_is_presence(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit()
        await asyncio.sleep(3600)
        await gateway.ask("inbox.show", surface_id=surface_id)
        assert not gateway.core.is_near(30)
        await gateway.ask("inbox.use", surface_id=surface_id)
        assert gateway.core.presence.last_sign == "inbox"
        assert gateway.core.is_near(1)

    lived(tmp_path, story)


def test_a_test_item_counts_only_when_it_is_said_to(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        await gateway.ask("inbox.emit", title="A test", kind="pending", body="b")
        await gateway.ask("inbox.emit", title="A test", count=True)
        first, second = gateway.surfaces()
        assert (first.synthetic, first.origin, first.surface_kind) == (True, "rule", "pending")
        assert (second.synthetic, second.origin) == (False, "model")
        assert first.surface_id != second.surface_id
        assert [item.title for item in await gateway.ask("inbox.list", limit=1)] == ["A test"]

    lived(tmp_path, story)


def test_a_damaged_text_is_said_and_never_shown(tmp_path: Path) -> None:
    async def story(world: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit(body="True.")
        (file,) = world.home.agent("main").surfaces.glob("*.json")
        file.write_text(file.read_text().replace("True.", "False"))
        shown = await gateway.ask("inbox.show", surface_id=surface_id)
        assert (shown.item.body, "not what was shown" in shown.fault) == (None, True)
        file.unlink()
        assert "gone" in (await gateway.ask("inbox.show", surface_id=surface_id)).fault

    lived(tmp_path, story)


# --- availability ------------------------------------------------------------------------------


def test_sleep_pauses_the_horizon(tmp_path: Path) -> None:
    async def story(world: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit()
        for _ in range(3):
            world.clock.sleep(12 * 3600)
            await asyncio.sleep(4 * 3600)
        assert gateway.outcomes(surface_id) == [], "12 hours awake of 48"
        slept = [b for b in gateway.lines() if isinstance(b, GatewayStopped)]
        assert [b.cause for b in slept] == ["sleep"] * 3
        await asyncio.sleep(13 * 3600)
        assert [o.outcome for o in gateway.outcomes(surface_id)] == ["ignored"]

    lived(tmp_path, story)


def test_three_days_asleep_are_unavailable(tmp_path: Path) -> None:
    async def story(world: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit()
        await asyncio.sleep(3600)
        world.clock.sleep(72 * 3600)
        await asyncio.sleep(120)
        (outcome,) = gateway.outcomes(surface_id)
        assert (outcome.outcome, outcome.source) == ("system_unavailable", "timeout")

    lived(tmp_path, story)


@pytest.mark.parametrize("seconds", [7200.0, -7200.0])
def test_a_clock_that_is_set_moves_no_horizon(tmp_path: Path, seconds: float) -> None:
    async def story(world: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit()
        await asyncio.sleep(130)
        world.clock.step(seconds)
        await asyncio.sleep(300)
        steps = [b for b in gateway.lines() if isinstance(b, ClockStepped)]
        assert [b.step_seconds for b in steps] == [round(seconds)]
        assert gateway.outcomes(surface_id) == []
        await asyncio.sleep(120)
        assert (await gateway.ask("inbox.dismiss", surface_id=surface_id)).outcome == "acked"

    lived(tmp_path, story, fitness=TEN_MINUTES)


@pytest.mark.parametrize("seconds", [7200.0, -7200.0])
def test_what_is_brought_right_after_a_step_comes_after_its_note(
    tmp_path: Path, seconds: float
) -> None:
    async def story(world: World, gateway: Gateway) -> None:
        await asyncio.sleep(130)
        world.clock.step(seconds)
        await gateway.emit()
        kinds = [body.kind() for body in gateway.lines()]
        assert kinds == ["gateway_started", "clock-stepped", "surface_emitted"]

    lived(tmp_path, story)


def test_a_ledger_that_takes_nothing_keeps_no_heartbeat_from_being_written(tmp_path: Path) -> None:
    async def story(world: World, gateway: Gateway) -> None:
        await gateway.emit()
        before = heartbeat.read(world.home.heartbeat)

        async def refuse(*_: Any, **__: Any) -> Any:
            raise LedgerClosedError("The ledger is closed.")

        append, gateway.core.stores.append = gateway.core.stores.append, refuse  # type: ignore[method-assign]
        await asyncio.sleep(15 * 60)
        after = heartbeat.read(world.home.heartbeat)
        assert before is not None
        assert after is not None
        assert after.wall > before.wall + 10 * 60_000
        gateway.core.stores.append = append  # type: ignore[method-assign]
        await asyncio.sleep(120)
        assert [o.outcome for o in gateway.outcomes()] == ["ignored"], "as soon as it can"

    lived(tmp_path, story, fitness=TEN_MINUTES)


@pytest.mark.parametrize(("gap", "marks"), [(240, False), (600, True)])
def test_a_crash_marks_after_300_seconds(tmp_path: Path, gap: int, marks: bool) -> None:
    async def story() -> None:
        world = World(tmp_path / "home")
        async with world.up(crashes=True) as gateway:
            surface_id = await gateway.emit()
            await asyncio.sleep(125)
        await asyncio.sleep(gap)
        async with world.up() as gateway:
            outcomes = gateway.outcomes(surface_id)
            if not marks:
                assert outcomes == []
                return
            (outcome,) = outcomes
            assert (outcome.outcome, outcome.source) == ("system_unavailable", "gateway_shutdown")
            assert outcome.alive_seconds == 120, "dated by the last beat"
            assert outcome.downtime_seconds == gap + 5

    in_virtual_time(story)


def test_a_pause_counts_as_downtime(tmp_path: Path) -> None:
    async def story(_: World, gateway: Gateway) -> None:
        surface_id = await gateway.emit()
        await asyncio.sleep(60)
        await gateway.ask("kernel.pause")
        await gateway.ask("kernel.pause", for_seconds=7200)
        await asyncio.sleep(3600)
        await gateway.ask("kernel.resume")
        first, second = gateway.outcomes(surface_id)
        assert (first.outcome, first.alive_seconds) == ("system_unavailable", 60)
        assert second.downtime_seconds == 3600

    lived(tmp_path, story)


def test_a_pause_that_runs_out_ends_by_itself_also_across_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        world = World(tmp_path / "home")
        async with world.up() as gateway:
            await gateway.ask("kernel.pause", for_seconds=7200)
            await asyncio.sleep(600)
        async with world.up() as gateway:
            assert not gateway.core.book.state().availability.is_up
            await asyncio.sleep(7200)
            assert gateway.core.book.state().availability.is_up
            assert gateway.core.paused_until() is None
            causes = [b.cause for b in gateway.lines() if isinstance(b, GatewayStarted)]
            assert causes == [None, "orderly", "pause"]

    in_virtual_time(story)


def test_a_start_reads_no_more_than_what_can_still_matter(tmp_path: Path) -> None:
    async def story() -> None:
        world = World(tmp_path / "home", fitness=TEN_MINUTES)
        async with world.up() as gateway:
            surface_id = ""
            for number in range(30):
                surface_id = await gateway.emit(f"Item {number}")
                await asyncio.sleep(600)
            await gateway.ask("inbox.use", surface_id=await gateway.emit("Last"))
            before = {i.surface_id: i.outcome for i in await gateway.ask("inbox.list")}
        async with world.up() as gateway:
            after = {i.surface_id: i.outcome for i in await gateway.ask("inbox.list")}
            assert {key: before[key] for key in after if before[key]} == {
                key: value for key, value in after.items() if before[key]
            }
            assert surface_id in after

    in_virtual_time(story)


async def an_artifact(gateway: Gateway) -> str:
    """An item with an artifact, as the executive leaves one."""
    from gnomon.daemon.inbox.surfaces import Asked, Payload
    from gnomon.resident.protocol import ArtifactArguments

    text = "---\nkind: draft\ntitle: T\nsummary: s\npoints: [a]\nassumptions: []\n---\nText."
    kept = await gateway.core.artifacts.put(
        ArtifactArguments(action_kind="draft", title="T", query="q", text=text)
    )
    surface_id = await gateway.core.surfaces.emit(
        Asked(
            payload=Payload(kind="artifact", title="T", body="s", artifact=kept.artifact),
            origin="model",
            scaffold_version="000001-000000000000",
        )
    )
    assert surface_id is not None
    return surface_id
