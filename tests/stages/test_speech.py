"""What the resident brings, on the real core: its words, its documents, and when it is silent."""

import asyncio
import re
from collections.abc import Callable
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gnomon.agent.frontmatter import FrontmatterError
from gnomon.daemon.inbox.artifacts import surface_mode
from gnomon.domain.errors import TrustError, UsageError
from gnomon.domain.messages import ModelReply, ModelRequest, ToolCall
from gnomon.domain.records import (
    ExecutiveAttempt,
    Reflection,
    RunOpened,
    Spend,
    SurfaceDecided,
    Tick,
)
from gnomon.resident.protocol import ArtifactArguments
from tests.world_kit import Gateway, World, in_virtual_time

FULL = '[kernel]\nmode = "full"\nidle_activity_gate_minutes = 0\n'
SOFT = "[kernel]\nidle_activity_gate_minutes = 0\n"


def thought(number: int, action: str = "rest", source: str = "concern") -> str:
    said = {
        "focus": f"focus {number}",
        "desired_action": action,
        "summary": f"summary {number}",
        "concerns": [],
        "interests": [],
        "open_questions": [],
        "candidate_items": [],
        "active_item": {"title": f"item {number}", "source": source},
        "thread_title": f"thread {number}",
        "next_step": f"step {number}",
        "problem_statement": f"question {number}",
    }
    return msgspec.json.encode(said).decode()


def document(*points: str, kind: str = "research-brief", more: str = "sources: []") -> str:
    listed = msgspec.json.encode(points).decode()
    return f"---\nkind: {kind}\ntitle: T\nsummary: s\npoints: {listed}\n{more}\n---\nText."


def thinking(*thoughts: str, then: str, documents: tuple[str, ...] = ()) -> Callable[..., str]:
    """Thoughts in order, then always one; documents in order where work is asked for."""
    left, papers = list(thoughts), list(documents)

    def says(request: ModelRequest) -> str:
        if request.purpose == "executive":
            return papers.pop(0)
        return left.pop(0) if left else then

    return says


def of(gateway: Gateway, kind: type) -> list[Any]:
    return [body for body in gateway.lines("decision-ledger") if isinstance(body, kind)]


def test_a_concern_comes_to_the_inbox_with_the_version_that_was_in_force(tmp_path: Path) -> None:
    async def story() -> None:
        says = thinking(thought(1), then=thought(2, source="background"))
        world = World(tmp_path / "home", says=says, config=SOFT)
        async with world.up() as gateway:
            await asyncio.sleep(250)
            (surface,) = gateway.surfaces()
            assert (surface.title, surface.origin, surface.synthetic) == ("item 1", "model", False)
            assert surface.delivered_to == ("inbox",)
            (decided,) = of(gateway, SurfaceDecided)
            assert (decided.title, decided.suppressed) == ("item 1", False)
            assert of(gateway, Reflection)[0].scaffold_version == surface.scaffold_version
            shown = await gateway.ask("inbox.show", surface_id=surface.surface_id)
            assert shown.item.body == "summary 1\n\nstep 1"

    in_virtual_time(story)


def test_an_edited_scaffold_is_the_surfaces_only_from_the_tick_that_takes_it_up(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        says = thinking(then=thought(1, source="background"))
        world = World(tmp_path / "home", says=says, config=SOFT)
        async with world.up() as gateway:
            await asyncio.sleep(130)
            prompt = world.home.agent("main").scaffold / "inner-loop-prompt.md"
            prompt.write_text(prompt.read_text() + "\nBe brief.\n")
            await gateway.emit("Before the tick")
            await asyncio.sleep(130)
            await gateway.emit("After it")
            before, after = (s.scaffold_version for s in gateway.surfaces())
            assert (before[:6], after[:6]) == ("000001", "000002")
            assert of(gateway, Tick)[-1].scaffold_version == after

    in_virtual_time(story)


def test_a_suppressed_surface_writes_no_line_of_engagement(tmp_path: Path) -> None:
    async def story() -> None:
        says = thinking(thought(1), then=thought(2, source="background"))
        world = World(tmp_path / "home", says=says, config=SOFT)
        async with world.up() as gateway:
            gateway.core.surfaces._gate = Closed()
            await asyncio.sleep(250)
            assert gateway.surfaces() == []
            assert of(gateway, SurfaceDecided)[0].suppressed

    in_virtual_time(story)


class Closed:
    """A gate that lets nothing pass."""

    def suppressed(self, key: str, material: Any) -> bool:
        assert key == "reflection:item 1"
        assert material == {"title": "item 1", "next_step": "step 1"}
        return True

    def delivered(self, key: str, material: Any) -> None:
        raise AssertionError


def test_while_paused_nothing_is_brought(tmp_path: Path) -> None:
    async def story() -> None:
        world = World(tmp_path / "home", says=thinking(then=thought(1)), config=SOFT)
        async with world.up() as gateway:
            await gateway.ask("kernel.pause")
            await asyncio.sleep(600)
            assert gateway.surfaces() == []
            from gnomon.resident.protocol import SurfaceArguments

            late = SurfaceArguments(kind="notification", title="late", body="")
            reply = await gateway.core.services.surface("resident", late)
            assert (reply.surface_id, reply.suppressed) == (None, True)
            assert gateway.surfaces() == []

    in_virtual_time(story)


def test_five_a_day_and_an_hour_apart(tmp_path: Path) -> None:
    async def story() -> None:
        numbers = iter(range(10_000))

        def says(_: ModelRequest) -> str:
            return thought(next(numbers))

        world = World(tmp_path / "home", says=says, config=SOFT)
        async with world.up() as gateway:
            await asyncio.sleep(17 * 3600)  # until the day of UTC is nearly over
            times = [line.at for line in gateway.core.stores.files["engagement-ledger"].read()
                     if line.body.kind() == "surface_emitted"]  # fmt: skip
            assert len(times) == 5
            assert min(b - a for a, b in pairwise(times)) >= 3_600_000

    in_virtual_time(story)


# --- documents ---------------------------------------------------------------------------------


def test_work_leaves_a_document_under_its_own_hash_and_name(tmp_path: Path) -> None:
    async def story() -> None:
        says = thinking(
            thought(1, "research", "background"),
            then=thought(2, source="background"),
            documents=(document("one"),),
        )
        world = World(tmp_path / "home", says=says, config=FULL)
        async with world.up() as gateway:
            await asyncio.sleep(250)
            (made,) = gateway.lines("artifact-ledger")
            file = world.home.agent("main").kernel / made.path
            assert file.name == "research-brief-item-1@v1.md"
            assert sha256(file.read_bytes()).hexdigest() == made.sha256
            assert (made.progressed, made.work_title, made.query) == (True, "item 1", "question 1")
            (attempt,) = of(gateway, ExecutiveAttempt)
            assert (attempt.outcome, attempt.artifact) == ("produced", made.artifact_id)
            (surface,) = gateway.surfaces()
            assert (surface.surface_kind, surface.artifact) == ("artifact", made.artifact_id)
            spends = [b for b in gateway.lines("spend-ledger") if isinstance(b, Spend)]
            assert {spend.purpose for spend in spends} == {"reflection", "executive"}
            shown = await gateway.ask("artifact.show", artifact=made.artifact_id)
            assert shown.text == file.read_text()
            assert gateway.outcomes() == []

    in_virtual_time(story)


def test_background_work_only_looks(tmp_path: Path) -> None:
    """A tool that its manifest does not grant does not exist, also when it is asked for."""

    async def story() -> None:
        told: list[str] = []
        world = World(tmp_path / "home", says=lambda _: "", config=FULL)
        replies = iter(
            [
                ModelReply(content=thought(1, "plan", "background"), finish="stop", model="m"),
                ModelReply(content="", finish="tool-calls", model="m", tool_calls=(
                    ToolCall(id="1", name="shell", arguments='{"command":"touch /tmp/x"}'),
                    ToolCall(id="2", name="write", arguments='{"path":"a","content":"b"}'),
                    ToolCall(id="3", name="recall", arguments='{"query":"flaky"}'),
                )),
                ModelReply(content=document("a", kind="plan-note", more="risks: []"),
                           finish="stop", model="m"),
            ]
        )  # fmt: skip

        async def answer(op: str, args: Any, send_part: Any) -> Any:
            del op, send_part
            request = msgspec.convert(args["request"], ModelRequest)
            told.extend(m.content for m in request.messages if m.role == "tool")
            last = ModelReply(content=thought(2, "rest", "background"), finish="stop", model="m")
            return msgspec.to_builtins(next(replies, last))

        world.host._answer = answer  # type: ignore[method-assign]
        async with world.up() as gateway:
            await asyncio.sleep(250)
            assert [a.outcome for a in of(gateway, ExecutiveAttempt)] == ["produced"]
            assert [re.findall(r'error="(.*?)"', text) for text in told] == [
                ["tool-not-found"], ["tool-not-found"], [],
            ]  # fmt: skip
            run = next(iter(gateway.core.stores.runs.ids()))
            services = gateway.core.services
            assert run not in services.runs, "a finished run runs no tools"
            opened = RunOpened(agent="main", manifest_sha256="0" * 64, objective="", session="s-1")
            # It says that it answers a turn; none is under way.
            await services.append("resident", "run", opened, "run-forged", False)
            call = ToolCall(id="1", name="shell", arguments='{"command":"id"}')
            assert (await services.run_tool("resident", "run-forged", call))[1] == "tool-not-found"

    in_virtual_time(story)


def artifact(*points: str, title: str = "Release") -> ArtifactArguments:
    text = document(*points, kind="plan-note", more="risks: []")
    return ArtifactArguments(action_kind="plan-note", title=title, query="q", text=text)


def test_versions_are_never_replaced_and_only_news_is_progress(tmp_path: Path) -> None:
    async def story() -> None:
        world = World(tmp_path / "home")
        async with world.up() as gateway:
            artifacts = gateway.core.artifacts
            replies = [
                await artifacts.put(artifact("one")),
                await artifacts.put(artifact("one")),
                await artifacts.put(artifact("One!")),
                await artifacts.put(artifact("one", "two")),
                await artifacts.put(artifact()),
                await artifacts.put(artifact("one", title="Another")),
            ]
            assert [(r.artifact, r.progressed) for r in replies] == [
                ("plan-note-release@v1", True),
                ("plan-note-release@v1", False),
                ("plan-note-release@v2", False),
                ("plan-note-release@v3", True),
                ("plan-note-release@v4", False),
                ("plan-note-another@v1", True),
            ]
            assert {r.surface_mode for r in replies if not r.progressed} == {"hold"}
            for made in gateway.lines("artifact-ledger"):
                file = world.home.agent("main").kernel / made.path
                assert sha256(file.read_bytes()).hexdigest() == made.sha256

    in_virtual_time(story)


def test_what_does_not_fit_its_kind_is_not_kept(tmp_path: Path) -> None:
    async def story() -> None:
        world = World(tmp_path / "home")
        async with world.up() as gateway:
            wrong = msgspec.structs.replace(artifact("one"), action_kind="draft")
            with pytest.raises(FrontmatterError):
                await gateway.core.artifacts.put(wrong)
            assert list(world.home.agent("main").artifacts.iterdir()) == []

    in_virtual_time(story)


def test_a_newest_version_that_somebody_spoilt_stops_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        world = World(tmp_path / "home")
        async with world.up() as gateway:
            artifacts = gateway.core.artifacts
            first = await artifacts.put(artifact("one"))
            artifacts.path(first.artifact).write_text("gone")
            (world.home.agent("main").artifacts / "plan-note-release@vx.md").write_text("")
            second = await artifacts.put(artifact("one"))
            assert (second.artifact, second.progressed) == ("plan-note-release@v2", True)

    in_virtual_time(story)


@pytest.mark.parametrize("name", ["plan-note-release@v9", "../x@v1", "a", "a@v0", "A@v1"])
def test_a_document_that_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    async def story() -> None:
        world = World(tmp_path / "home")
        async with world.up() as gateway:
            with pytest.raises(UsageError):
                gateway.core.artifacts.text(name)

    in_virtual_time(story)


@pytest.mark.parametrize("mode", ["off", "shadow", "soft"])
def test_only_the_mode_full_keeps_documents(tmp_path: Path, mode: str) -> None:
    async def story() -> None:
        config = f'[kernel]\nmode = "{mode}"\n'
        world = World(tmp_path / "home", says=thinking(then=thought(1)), config=config)
        async with world.up() as gateway:
            with pytest.raises(TrustError):
                await gateway.core.services.put_artifact(artifact("one"))
            assert gateway.lines("artifact-ledger") == []

    in_virtual_time(story)


def test_how_finished_work_is_shown() -> None:
    assert surface_mode(progressed=False, is_here=True) == "hold"
    assert surface_mode(progressed=True, is_here=True) == "interrupt"
    assert surface_mode(progressed=True, is_here=False) == "queue"
