"""The resident end to end, over the real protocol in memory, with a scripted model."""

import asyncio
import importlib.resources
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from gnomon.config import KernelConfig
from gnomon.domain.body import Body
from gnomon.domain.errors import (
    BreakerOpenError,
    BudgetError,
    GnomonError,
    LedgerClosedError,
    ModelAuthError,
    ModelTimeoutError,
    NoModelError,
    PausedError,
    PipeError,
    RecordError,
    TrustError,
)
from gnomon.domain.ledgers import LedgerName
from gnomon.domain.messages import ModelReply, ModelRequest
from gnomon.domain.records import (
    ErrorNoted,
    ExecutiveAttempt,
    ModeChanged,
    Reflection,
    RunClosed,
    RunOpened,
    SkipReason,
    Started,
    Stopped,
    SurfaceDecided,
    Tick,
)
from gnomon.resident import state
from gnomon.resident.reflection import published_schema
from gnomon.scaffold.defaults import packaged_defaults
from gnomon.scaffold.versions import Scaffold
from gnomon.testing.gateway import FakeGateway
from gnomon.testing.models import ScriptedModel, hangs, says

PROMPT = "inner-loop-prompt.md"


def thought(number: int = 0, **changes: object) -> str:
    plain: dict[str, object] = {
        "focus": f"focus {number}",
        "desired_action": "research",
        "summary": "summary",
        "concerns": ["A concern"],
        "interests": [],
        "open_questions": [],
        "candidate_items": [],
        "active_item": {"title": f"item{number}", "source": "background", "rationale": "r"},
        "thread_title": f"thread{number}",
        "next_step": f"step {number}",
    }
    return msgspec.json.encode(plain | changes).decode()


def thinker() -> Callable[[ModelRequest], str]:
    numbers: Iterator[int] = iter(range(10**6))
    return lambda _request: thought(next(numbers))


@pytest.fixture
def scaffold(tmp_path: Path) -> Scaffold:
    folder = tmp_path / "scaffold"
    return Scaffold(folder, folder / ".versions", tmp_path / "seen.json", packaged_defaults())


def kinds(gateway: FakeGateway) -> list[str]:
    return [body.kind() for body in gateway.decisions()]


# --- the shape of a life ----------------------------------------------------------------------


async def test_a_life_is_started_ticks_and_stopped_on_the_ledger() -> None:
    gateway = FakeGateway(ScriptedModel(then=thinker()))
    await gateway.start()
    first = await gateway.tick()
    second = await gateway.tick("idle", operator_present=False)
    await gateway.stop("the gateway ends")
    assert kinds(gateway) == ["started", "tick", "reflection", "tick", "stopped"]
    started, tick, reflection, skipped, stopped = gateway.decisions()
    assert isinstance(started, Started)
    assert isinstance(stopped, Stopped)
    assert (started.mode, started.model) == ("soft", "scripted")
    assert isinstance(tick, Tick)
    assert isinstance(skipped, Tick)
    assert (tick.skip_reason, skipped.skip_reason) == (None, "idle")
    assert isinstance(reflection, Reflection)
    assert reflection.scaffold_version == tick.scaffold_version == started.scaffold_version
    assert (first.reflected, second.reflected, second.error) == (True, False, None)
    assert stopped.reason == "the gateway ends"
    assert all(line.durable for line in gateway.lines)


async def test_a_skipped_tick_makes_no_call_and_writes_no_state() -> None:
    model = ScriptedModel()
    gateway = FakeGateway(model)
    await gateway.start()
    for _ in range(3):
        await gateway.tick("paused")
    await gateway.kill()
    assert model.requests == []
    assert len(gateway.states) == 1, "that a life began; passed ticks alone are no news"


async def test_the_state_goes_on_in_the_next_life() -> None:
    gateway = FakeGateway(ScriptedModel([thought(1), thought(2)]))
    await gateway.start()
    await gateway.tick()
    await gateway.stop()
    await gateway.start()
    await gateway.tick()
    await gateway.stop()
    assert [line.reflection_no for line in gateway.reflections()] == [1, 2]
    kept = state.decode(gateway.states[-1])
    assert (kept.continuity.lives, kept.shadow.ticks) == (2, 2)
    told = msgspec.json.decode(gateway.requests[-1][1].messages[1].content)
    assert told["thread"]["title"] == "thread1"


async def test_a_corrupt_state_starts_afresh_says_so_and_keeps_counting() -> None:
    gateway = FakeGateway(ScriptedModel([thought(1), thought(2)]))
    await gateway.start()
    await gateway.tick()
    await gateway.stop()
    gateway.states.append({"version": 1, "shadow": "torn"})
    await gateway.start()
    await gateway.tick()
    await gateway.stop()
    noted = [body for body in gateway.decisions() if isinstance(body, ErrorNoted)]
    assert [(error.code, error.where) for error in noted] == [("self-state", "self-state")]
    assert [line.reflection_no for line in gateway.reflections()] == [1, 2]


async def test_the_demo_model_brings_the_mode_down_and_the_ledger_says_so() -> None:
    gateway = FakeGateway(ScriptedModel(then=thinker()), kind="demo", mode="full")
    await gateway.start()
    await gateway.tick()
    await gateway.stop()
    (change,) = [body for body in gateway.decisions() if isinstance(body, ModeChanged)]
    assert (change.mode, change.effective, change.reason) == ("full", "shadow", "demo-model")
    assert "executive-attempt" not in kinds(gateway)


async def test_after_a_stop_nothing_is_answered() -> None:
    gateway = FakeGateway(ScriptedModel())
    await gateway.start()
    await gateway.ask("stop", {"reason": "x"})
    with pytest.raises(PipeError, match="has stopped"):
        await gateway.tick()
    await gateway.kill()


async def test_what_the_resident_does_not_answer_is_refused() -> None:
    gateway = FakeGateway(ScriptedModel())
    await gateway.start()
    with pytest.raises(TrustError):
        await gateway.ask("dance", {})
    with pytest.raises(RecordError):
        await gateway.ask("tick", {"now": "soon"})
    await gateway.stop()


async def test_a_stop_in_mid_reflection_ends_it() -> None:
    gateway = FakeGateway(ScriptedModel([hangs]))
    await gateway.start()
    ticking = asyncio.create_task(gateway.tick())
    await until(lambda: len(gateway.requests) == 1)
    await asyncio.wait_for(gateway.stop(), 5)
    with pytest.raises(GnomonError):
        await ticking
    assert kinds(gateway) == ["started", "stopped"]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0)


# --- seed 1, phase 1 --------------------------------------------------------------------------


@pytest.mark.parametrize("ticks", [10, 100])
async def test_reflections_are_the_same_for_the_same_inputs(ticks: int, scaffold: Scaffold) -> None:
    async def life(texts: Scaffold | None) -> FakeGateway:
        gateway = FakeGateway(
            ScriptedModel(then=thinker()), mode="full", kind="local", scaffold=texts
        )
        await gateway.start()
        for _ in range(ticks):
            assert (await gateway.tick()).reflected
        await gateway.stop()
        return gateway

    from_file, from_package = await life(scaffold), await life(None)
    assert [r.raw_signature for r in from_file.reflections()] == [
        r.raw_signature for r in from_package.reflections()
    ]
    assert from_file.decisions() == from_package.decisions()
    assert from_file.requests == from_package.requests
    assert from_file.states == from_package.states
    assert len(from_file.reflections()) == ticks


@pytest.mark.parametrize("kind", ["demo", "local", "remote"])
async def test_phase_1_d_every_model_path_reads_the_same_scaffold_file(
    kind: str, scaffold: Scaffold, tmp_path: Path
) -> None:
    gateway = FakeGateway(ScriptedModel(then=thinker()), kind=kind, scaffold=scaffold)  # type: ignore[arg-type]
    await gateway.start()
    await gateway.tick()
    (tmp_path / "scaffold" / PROMPT).write_text("Words typed by a hand.")
    await gateway.tick()
    await gateway.stop()
    systems = [request.messages[0].content for _, request in gateway.requests]
    assert systems == [packaged_defaults()[PROMPT], "Words typed by a hand."]


def test_an_explicit_tick_wins_and_the_default_is_two_minutes() -> None:
    assert KernelConfig().tick_ms == 120_000
    assert msgspec.convert({"tick_ms": 30_000}, KernelConfig).tick_ms == 30_000


async def test_the_prior_text_is_on_disk_before_the_resident_is_handed_the_new_one(
    scaffold: Scaffold, tmp_path: Path
) -> None:
    kept: list[bool] = []

    def look(request: ModelRequest) -> str:
        if request.messages[0].content == "Edited.":
            versions = (tmp_path / "scaffold" / ".versions").glob("inner-loop-prompt.*")
            kept.append(packaged_defaults()[PROMPT] in [path.read_text() for path in versions])
        return thought()

    gateway = FakeGateway(ScriptedModel(then=look), scaffold=scaffold)
    await gateway.start()
    await gateway.tick()
    (tmp_path / "scaffold" / PROMPT).write_text("Edited.")
    await gateway.tick()
    await gateway.stop()
    assert kept == [True]


async def test_an_edit_made_while_stopped_is_kept_and_handed_at_the_start(
    scaffold: Scaffold, tmp_path: Path
) -> None:
    gateway = FakeGateway(ScriptedModel(then=thinker()), scaffold=scaffold)
    await gateway.start()
    await gateway.tick()
    await gateway.stop()
    (tmp_path / "scaffold" / PROMPT).write_text("Edited offline.")
    folder = tmp_path / "scaffold"
    gateway.scaffold = Scaffold(
        folder, folder / ".versions", tmp_path / "seen.json", packaged_defaults()
    )
    await gateway.start()
    kept = [path.read_text() for path in (folder / ".versions").glob("inner-loop-prompt.*")]
    assert kept == [packaged_defaults()[PROMPT]]
    await gateway.tick()
    await gateway.stop()
    assert gateway.requests[-1][1].messages[0].content == "Edited offline."


async def test_a_new_version_takes_force_at_the_next_tick_and_stands_on_its_lines(
    scaffold: Scaffold, tmp_path: Path
) -> None:
    gateway = FakeGateway(ScriptedModel(then=thinker()), scaffold=scaffold)
    await gateway.start()
    for text in (None, "one", "one", "two"):
        if text:
            (tmp_path / "scaffold" / PROMPT).write_text(text)
        await gateway.tick()
    await gateway.stop()
    numbers = [line.scaffold_version[:6] for line in gateway.reflections()]
    assert numbers == ["000001", "000002", "000002", "000003"]


async def test_a_bad_scaffold_file_is_an_error_line_with_file_and_line(
    scaffold: Scaffold, tmp_path: Path
) -> None:
    gateway = FakeGateway(ScriptedModel(then=thinker()), scaffold=scaffold)
    await gateway.start()
    await gateway.tick()
    (tmp_path / "scaffold" / "antipattern-flags.json").write_text('{\n"hold_at_repeats": 0\n}')
    await gateway.tick()
    await gateway.tick()
    await gateway.stop()
    noted = [body for body in gateway.decisions() if isinstance(body, ErrorNoted)]
    assert [(e.code, e.where) for e in noted] == [("scaffold", "scaffold/antipattern-flags.json:2")]
    assert {line.scaffold_version[:6] for line in gateway.reflections()} == {"000001"}


def test_the_published_schema_is_made_from_the_type() -> None:
    published = importlib.resources.files("gnomon.data").joinpath("schemas", "reflection.json")
    assert msgspec.json.decode(published.read_bytes()) == published_schema()


def test_the_default_inner_loop_prompt_is_of_the_length_that_was_meant() -> None:
    prompt = packaged_defaults()[PROMPT]
    assert 400 <= len(prompt) / 4.6 <= 700, "about 4.6 characters a token in English prose"
    for name in ("fitness", "engagement", "composite", "judgment", "metric"):
        assert name not in prompt.lower()


# --- reflecting ---------------------------------------------------------------------------------


async def test_repeats_and_pressure_stand_on_the_ledger() -> None:
    gateway = FakeGateway(ScriptedModel(then=thought(1)))
    await gateway.start()
    for _ in range(5):
        await gateway.tick()
    await gateway.stop()
    assert [(r.repeat_count, r.repeated, r.pressure) for r in gateway.reflections()] == [
        (0, False, "none"),
        (1, True, "sharpened"),
        (2, True, "sharpened"),
        (3, True, "hold"),
        (4, True, "hold"),
    ]
    assert gateway.reflections()[-1].desired_action == "hold"


async def test_the_flags_file_steers_the_pressure(scaffold: Scaffold, tmp_path: Path) -> None:
    gateway = FakeGateway(ScriptedModel(then=thought(1)), scaffold=scaffold)
    await gateway.start()
    flags = '{"hold_at_repeats": 1, "sharpened_next_step": "x"}'
    (tmp_path / "scaffold" / "antipattern-flags.json").write_text(flags)
    for _ in range(2):
        await gateway.tick()
    await gateway.stop()
    assert [r.pressure for r in gateway.reflections()] == ["none", "hold"]


@pytest.mark.parametrize(
    ("error", "reason", "noted"),
    [
        (PausedError("paused"), "paused", False),
        (NoModelError("none"), "no-model", False),
        (BudgetError("spent", bound="usd_per_day", until=None), "budget", False),
        (BudgetError("hot", bound="duty-cycle", until=None), "duty-cycle", False),
        (BreakerOpenError("open"), "model-error", True),
        (ModelTimeoutError("late"), "model-error", True),
        (ModelAuthError("401"), "model-error", True),
    ],
)
async def test_what_kept_it_from_reflecting_stands_on_the_ticks_line(
    error: GnomonError, reason: SkipReason, noted: bool
) -> None:
    gateway = FakeGateway(ScriptedModel([error, thought()]))
    await gateway.start()
    reply = await gateway.tick()
    assert (reply.reflected, reply.error) == (False, error.code)
    (tick,) = [body for body in gateway.decisions() if isinstance(body, Tick)]
    assert tick.skip_reason == reason
    assert ("error" in kinds(gateway)) is noted
    assert (await gateway.tick()).reflected, "the next tick is a new attempt"
    await gateway.stop()


@pytest.mark.parametrize(
    "garbage",
    [
        "garbage",
        "{}",
        thought(focus="x" * 161),
        thought(active_item={"title": "t", "source": "root", "rationale": ""}),
        says("{").__class__(content=thought(), finish="length", model="m"),
    ],
)
async def test_invalid_output_is_retried_once_then_reported_and_never_half_used(
    garbage: str | ModelReply,
) -> None:
    model = ScriptedModel([garbage, garbage])
    gateway = FakeGateway(model)
    await gateway.start()
    reply = await gateway.tick()
    await gateway.stop()
    assert (reply.reflected, reply.error) == (False, "invalid-output")
    assert len(model.requests) == 2
    (tick,) = [body for body in gateway.decisions() if isinstance(body, Tick)]
    assert tick.skip_reason == "invalid-output"
    assert gateway.reflections() == []
    kept = state.decode(gateway.states[-1])
    assert kept.shadow.reflections == 0
    assert kept.last_error is not None
    assert kept.last_error.code == "invalid-output"


async def test_a_retry_that_fits_counts_both_calls() -> None:
    gateway = FakeGateway(ScriptedModel([says("no", tokens=5), says(thought(), tokens=7)]))
    await gateway.start()
    assert (await gateway.tick()).reflected
    await gateway.stop()
    (line,) = gateway.reflections()
    assert (line.tokens_in, line.tokens_out) == (12, 12)


async def test_ticks_never_overlap() -> None:
    answer = asyncio.Event()

    async def slow(_request: ModelRequest) -> str:
        await answer.wait()
        return thought()

    gateway = FakeGateway(ScriptedModel([slow]))
    await gateway.start()
    first = asyncio.create_task(gateway.tick())
    await until(lambda: len(gateway.requests) == 1)
    second = await gateway.tick()
    assert (second.reflected, second.error) == (False, "busy")
    answer.set()
    assert (await first).reflected
    await gateway.stop()
    assert kinds(gateway) == ["started", "tick", "reflection", "stopped"]


async def test_no_number_of_the_referee_reaches_a_prompt() -> None:
    gateway = FakeGateway(ScriptedModel(then=thought(1)))
    await gateway.start()
    for _ in range(4):
        await gateway.tick()
    await gateway.stop()
    told = " ".join(
        message.content for _, request in gateway.requests for message in request.messages
    ).lower()
    for name in ("fitness", "engagement", "stall_composite", "composite", "acted", "judge"):
        assert name not in told


async def test_a_ledger_that_refuses_ends_the_tick_with_its_error() -> None:
    def refuse(_name: LedgerName, body: Body) -> None:
        if isinstance(body, Tick):
            raise LedgerClosedError("The disk is full.", ledger="decision-ledger")

    gateway = FakeGateway(ScriptedModel(then=thinker()), refuse=refuse)
    await gateway.start()
    with pytest.raises(LedgerClosedError, match="full"):
        await gateway.tick("idle")
    gateway.refuse = lambda _name, _body: None
    assert (await gateway.tick()).reflected
    await gateway.stop()


# --- the executive ------------------------------------------------------------------------------


def document(*points: str, kind: str = "research-brief") -> str:
    listed = "".join(f'\n  - "{point}"' for point in points) or " []"
    return (
        f'---\nkind: {kind}\ntitle: "item1"\nsummary: "What was found."\n'
        f"points:{listed}\nsources: []\n---\n# Found\n\nText."
    )


def attempts_of(gateway: FakeGateway) -> list[ExecutiveAttempt]:
    return [body for body in gateway.decisions() if isinstance(body, ExecutiveAttempt)]


async def test_work_in_mode_full_leaves_a_document_and_shows_it() -> None:
    gateway = FakeGateway(ScriptedModel([thought(1), document("one")]), mode="full")
    await gateway.start()
    await gateway.tick()
    await gateway.stop()
    (attempt,) = attempts_of(gateway)
    assert (attempt.outcome, attempt.artifact) == ("produced", "research-brief-item1@v1")
    (shown,) = gateway.surfaces
    assert (shown.kind, shown.title, shown.body) == ("artifact", "item1", "What was found.")
    assert (shown.artifact, shown.origin) == ("research-brief-item1@v1", "model")
    (line,) = [body for body in gateway.decisions() if isinstance(body, SurfaceDecided)]
    assert (line.surface_kind, line.suppressed) == ("artifact", False)
    assert kinds(gateway) == [
        "started", "tick", "reflection", "executive-attempt", "surface", "stopped",
    ]  # fmt: skip


async def test_work_has_its_own_purpose_tools_prompt_and_log() -> None:
    gateway = FakeGateway(ScriptedModel([thought(1), document("one")]), mode="full")
    await gateway.start()
    await gateway.tick()
    await gateway.stop()
    run, request = gateway.requests[1]
    assert run is not None
    assert request.purpose == "executive"
    assert {tool.name for tool in request.tools} == {"read", "list", "search", "recall"}
    assert request.prompt.startswith("executive-prompt@production#")
    assert "research-brief" in request.messages[1].content
    assert "{" not in request.messages[1].content
    opened, *_, closed = [line.body for line in gateway.run_lines(run)]
    assert isinstance(opened, RunOpened)
    assert opened.session is None
    assert isinstance(closed, RunClosed)
    assert closed.reason == "done"


async def test_a_document_that_does_not_fit_is_asked_for_once_more() -> None:
    gateway = FakeGateway(
        ScriptedModel([thought(1), "no frontmatter", document("one")]), mode="full"
    )
    await gateway.start()
    await gateway.tick()
    await gateway.stop()
    assert [a.outcome for a in attempts_of(gateway)] == ["produced"]
    assert "the first line must be ---" in gateway.requests[2][1].messages[-1].content


async def test_a_document_that_never_fits_is_an_error_and_nothing_is_kept() -> None:
    gateway = FakeGateway(ScriptedModel([thought(1), "no", "no again"]), mode="full")
    await gateway.start()
    await gateway.tick()
    await gateway.stop()
    (attempt,) = attempts_of(gateway)
    assert (attempt.outcome, attempt.artifact) == ("error", None)
    assert gateway.artifacts == gateway.surfaces == []
    (noted,) = [body for body in gateway.decisions() if isinstance(body, ErrorNoted)]
    assert (noted.code, noted.where) == ("invalid-output", "executive")


async def test_a_document_without_news_is_kept_and_not_shown() -> None:
    again = thought(1, next_step="another", last_conclusion="y", problem_statement="p")
    gateway = FakeGateway(
        ScriptedModel([thought(1), document("one"), again, document("One!")]), mode="full"
    )
    await gateway.start()
    await gateway.tick()
    await gateway.tick()
    await gateway.stop()
    assert [a.outcome for a in attempts_of(gateway)] == ["produced", "no-progress"]
    assert len(gateway.artifacts) == 2
    assert len(gateway.surfaces) == 1


async def test_a_budget_that_ends_mid_work_ends_the_attempt_and_not_the_tick() -> None:
    gateway = FakeGateway(
        ScriptedModel(
            [thought(1), BudgetError("no", bound="usd"), thought(2, desired_action="rest")]
        ),
        mode="full",
    )
    await gateway.start()
    assert (await gateway.tick()).reflected
    assert (await gateway.tick()).reflected
    await gateway.stop()
    assert [a.outcome for a in attempts_of(gateway)] == ["error"]


async def test_work_gives_way_to_a_turn_and_is_begun_anew() -> None:
    gateway = FakeGateway(
        ScriptedModel([thought(1), hangs, "Here I am.", document("one")]), mode="full"
    )
    await gateway.start()
    ticking = asyncio.create_task(gateway.tick())
    await until(lambda: len(gateway.requests) == 2)
    reply = await gateway.turn("are you there?")
    assert reply.reply == "Here I am."
    await ticking
    await gateway.stop()
    assert [a.outcome for a in attempts_of(gateway)] == ["produced"]
    purposes = [request.purpose for _, request in gateway.requests]
    assert purposes == ["reflection", "executive", "chat", "executive"]


async def test_the_same_attempt_again_is_a_cooldown_also_in_the_next_life() -> None:
    first = thought(1, problem_statement="p", last_conclusion="x")
    again = thought(1, problem_statement="p", last_conclusion="y")
    gateway = FakeGateway(ScriptedModel([first, document("one"), again]), mode="full")
    await gateway.start()
    await gateway.tick()
    await gateway.stop()
    await gateway.start()
    await gateway.tick()
    await gateway.stop()
    assert [a.outcome for a in attempts_of(gateway)] == ["produced", "cooldown"]


# --- what a reflection says ----------------------------------------------------------------------


def concern(number: int, **changes: object) -> str:
    item = {"title": f"item{number}", "source": "concern", "rationale": "r"}
    return thought(number, active_item=item, desired_action="rest", **changes)


async def test_a_concern_is_told_once_and_the_line_follows_the_surface() -> None:
    gateway = FakeGateway(ScriptedModel([concern(1), concern(1, summary="other")]))
    await gateway.start()
    await gateway.tick()
    await gateway.tick()
    await gateway.stop()
    (shown,) = gateway.surfaces
    assert (shown.kind, shown.title, shown.body) == ("notification", "item1", "summary\n\nstep 1")
    assert shown.dedupe_key == "reflection:item1"
    assert kinds(gateway).count("surface") == 1


async def test_what_is_suppressed_says_so_on_the_line() -> None:
    gateway = FakeGateway(ScriptedModel([concern(1)]))
    gateway.old_news.add("reflection:item1")
    await gateway.start()
    await gateway.tick()
    await gateway.stop()
    (line,) = [body for body in gateway.decisions() if isinstance(body, SurfaceDecided)]
    assert line.suppressed


@pytest.mark.parametrize("mode", ["off", "shadow"])
async def test_nothing_leaves_in_a_mode_that_does_not_speak(mode: str) -> None:
    gateway = FakeGateway(ScriptedModel([concern(1)]), mode=mode)  # type: ignore[arg-type]
    await gateway.start()
    await gateway.tick()
    await gateway.stop()
    assert gateway.surfaces == []
    assert "surface" not in kinds(gateway)


async def test_nothing_leaves_that_rests_on_the_demo_model() -> None:
    gateway = FakeGateway(ScriptedModel([concern(1)]), kind="demo", mode="full")
    await gateway.start()
    await gateway.tick()
    await gateway.stop()
    assert gateway.surfaces == []


async def test_a_surface_that_is_refused_ends_no_tick() -> None:
    gateway = FakeGateway(ScriptedModel([concern(1)]))
    gateway.refuses_surfaces = True
    await gateway.start()
    assert (await gateway.tick()).reflected
    await gateway.stop()
    (noted,) = [body for body in gateway.decisions() if isinstance(body, ErrorNoted)]
    assert noted.where == "surface"
