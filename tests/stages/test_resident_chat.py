"""Chat turns end to end: the loop, recall, the commit line, errors, cancelling."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from gnomon.domain.body import Body
from gnomon.domain.errors import (
    CancelledByPeerError,
    LedgerClosedError,
    ModelAuthError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from gnomon.domain.ledgers import LedgerName
from gnomon.domain.messages import Message, ModelRequest
from gnomon.domain.records import RunClosed, RunOpened, RunStep, Turn
from gnomon.domain.views import Source
from gnomon.resident import state
from gnomon.testing.agent import TableTools
from gnomon.testing.gateway import RESIDENT_MANIFEST, FakeGateway, Written
from gnomon.testing.models import ScriptedModel, calls, hangs, says

HIT = Source(
    source="codex",
    session="s-9",
    at="2026-05-24T18:00:00Z",
    path="/h/a.jsonl",
    line=7,
    quote="use pnpm",
)


def turn_line(gateway: FakeGateway) -> Turn:
    (turn,) = [line.body for line in gateway.lines if isinstance(line.body, Turn)]
    return turn


def thought() -> str:
    plain = {
        "focus": "f", "desired_action": "rest", "summary": "", "concerns": [], "interests": [],
        "open_questions": [], "candidate_items": [], "active_item": None,
    }  # fmt: skip
    return msgspec.json.encode(plain).decode()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0)


# --- with a model ------------------------------------------------------------------------------


async def test_a_turn_runs_the_loop_and_is_committed_by_one_durable_line() -> None:
    model = ScriptedModel(
        [calls(("shell", {"command": "git status"})), says("All clean.", tokens=5)]
    )
    tools = TableTools({"shell": "nothing to commit"})
    gateway = FakeGateway(model, tools=tools)
    await gateway.start()
    reply = await gateway.turn("is it clean?", session="s-1", turn=3, reply_to="surface-1")
    await gateway.stop()
    assert (reply.session, reply.turn, reply.reply) == ("s-1", 3, "All clean.")
    assert (reply.steps, reply.tools, reply.stop_reason) == (2, {"shell": 1}, "done")
    assert gateway.streamed() == "All clean."
    assert tools.calls == [("shell", {"command": "git status"})]
    run: list[Written] = gateway.run_lines("run-1")
    assert isinstance(run[0].body, RunOpened)
    assert run[0].body.session == "s-1"
    assert isinstance(run[-1].body, Turn)
    assert [line.durable for line in run] == [False] * (len(run) - 1) + [True]
    assert {type(line.body) for line in run[1:-1]} == {RunStep}
    turn = turn_line(gateway)
    assert (turn.user, turn.reply, turn.turn) == ("is it clean?", "All clean.", 3)
    assert (turn.reply_to, turn.tools, turn.steps) == ("surface-1", {"shell": 1}, 2)
    assert [name for name, _ in gateway.requests] == ["run-1", "run-1"]
    assert {event.step for event in gateway.events} == {"model", "tool", "stop_gate"}


async def test_the_run_is_known_to_the_gateway_before_its_first_call() -> None:
    seen: list[bool] = []

    def look(_request: ModelRequest) -> str:
        seen.append(any(isinstance(line.body, RunOpened) for line in gateway.lines))
        return "ok"

    gateway = FakeGateway(ScriptedModel([look]))
    await gateway.start()
    await gateway.turn("hello")
    await gateway.stop()
    assert seen == [True]


async def test_nothing_is_written_between_the_commit_line_and_the_reply() -> None:
    gateway = FakeGateway(ScriptedModel(["ok"]))
    await gateway.start()
    states = len(gateway.states)
    await gateway.turn("hello")
    assert isinstance(gateway.lines[-1].body, Turn)
    assert len(gateway.states) == states, "the state follows at the next tick or at the end"
    await gateway.stop()
    assert state.decode(gateway.states[-1]).conversation.subjects == ("hello",)


async def test_the_history_and_the_system_prompt_are_sent_and_tools_are_offered() -> None:
    history = (Message(role="user", content="one"), Message(role="assistant", content="two"))
    gateway = FakeGateway(ScriptedModel(["three"]))
    await gateway.start()
    await gateway.turn("no, wrong", turn=2, history=history)
    await gateway.stop()
    request = gateway.requests[0][1]
    assert [m.content for m in request.messages[1:]] == ["one", "two", "no, wrong"]
    assert request.messages[0].content.startswith("You are Gnomon")
    assert {tool.name for tool in request.tools} == {
        "read", "write", "edit", "list", "search", "shell", "recall",
    }  # fmt: skip
    assert request.prompt.startswith("chat-system@production#")
    assert turn_line(gateway).corrected is True


async def test_what_recall_told_the_model_stands_beside_the_reply() -> None:
    model = ScriptedModel([calls(("recall", {"query": "pnpm", "limit": 3})), "Use pnpm."])
    gateway = FakeGateway(model, hits=(HIT,))
    await gateway.start()
    reply = await gateway.turn("which one?")
    await gateway.stop()
    assert reply.sources == (HIT,)
    assert gateway.recalled == ["pnpm"]
    assert turn_line(gateway).sources == ("/h/a.jsonl:7",)
    assert "use pnpm" in gateway.requests[1][1].messages[-1].content


async def test_a_failing_model_is_a_clear_reply_with_the_next_step_and_no_crash() -> None:
    error = ModelAuthError("The server refuses the key.", next_step="Set GNOMON_MODEL_KEY.")
    gateway = FakeGateway(ScriptedModel([error, "back again"]))
    await gateway.start()
    reply = await gateway.turn("hello")
    assert reply.stop_reason == "model-error"
    assert reply.reply == "The server refuses the key. Set GNOMON_MODEL_KEY."
    turn = turn_line(gateway)
    assert [(f.tool, f.code) for f in turn.failures] == [("model", "model-auth")]
    assert (await gateway.turn("again", turn=2)).reply == "back again"
    await gateway.stop()


async def test_a_model_that_is_not_there_leaves_the_history_to_answer() -> None:
    error = ModelUnavailableError("Nobody listens there.", next_step="Start it.")
    gateway = FakeGateway(ScriptedModel([error]), hits=(HIT,))
    await gateway.start()
    reply = await gateway.turn("which package manager?")
    await gateway.stop()
    assert reply.reply.startswith("Nobody listens there. Start it.\n\n2026-05-24")
    assert "use pnpm" in reply.reply
    assert reply.sources == (HIT,)
    assert reply.stop_reason == "model-error"


async def test_a_model_that_repeats_one_call_for_ever_is_stopped_and_told() -> None:
    gateway = FakeGateway(
        ScriptedModel(then=calls(("list", {"path": "."}))), tools=TableTools({"list": "a\nb"})
    )
    await gateway.start()
    reply = await gateway.turn("look")
    await gateway.stop()
    assert reply.stop_reason == "repeated-call"
    assert "again and again" in reply.reply
    assert reply.steps == 3


async def test_a_turn_that_cannot_be_committed_is_the_turns_error() -> None:
    def refuse(_name: LedgerName, body: Body) -> None:
        if isinstance(body, Turn):
            raise LedgerClosedError("The disk is full.", ledger="run")

    gateway = FakeGateway(ScriptedModel(["never told", "told"]), refuse=refuse)
    await gateway.start()
    with pytest.raises(LedgerClosedError):
        await gateway.turn("hello")
    gateway.refuse = lambda _name, _body: None
    assert (await gateway.turn("hello")).reply == "told"
    await gateway.stop()
    closed = [line.body for line in gateway.lines if isinstance(line.body, RunClosed)]
    assert [body.reason for body in closed] == ["ledger-closed"]


async def test_a_step_that_could_not_be_written_leaves_the_turn_uncommitted() -> None:
    def refuse(_name: LedgerName, body: Body) -> None:
        if isinstance(body, RunStep):
            raise LedgerClosedError("The disk is full.", ledger="run")

    gateway = FakeGateway(ScriptedModel(["x"]), refuse=refuse)
    await gateway.start()
    with pytest.raises(LedgerClosedError):
        await gateway.turn("hello")
    assert not any(isinstance(line.body, Turn) for line in gateway.lines)
    await gateway.kill()


async def test_cancelling_ends_the_turn_alone_and_closes_its_log() -> None:
    gateway = FakeGateway(ScriptedModel([hangs, "still here"]))
    await gateway.start()
    turning = asyncio.create_task(gateway.turn("hello"))
    await until(lambda: len(gateway.requests) == 1)
    turning.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turning
    await until(lambda: any(isinstance(line.body, RunClosed) for line in gateway.lines))
    assert (await gateway.turn("again")).reply == "still here"
    await gateway.stop()
    assert len([line for line in gateway.lines if isinstance(line.body, Turn)]) == 1


async def test_a_stop_ends_turns_that_are_under_way() -> None:
    gateway = FakeGateway(ScriptedModel([hangs]))
    await gateway.start()
    turning = asyncio.create_task(gateway.turn("hello"))
    await until(lambda: len(gateway.requests) == 1)
    await asyncio.wait_for(gateway.stop(), 5)
    with pytest.raises(CancelledByPeerError):
        await turning
    assert any(isinstance(line.body, RunClosed) for line in gateway.lines)


# --- chat and reflection --------------------------------------------------------------------


async def test_a_turn_goes_before_a_reflection_which_is_thought_anew() -> None:
    model = ScriptedModel([hangs, "answered", thought()])
    gateway = FakeGateway(model)
    await gateway.start()
    ticking = asyncio.create_task(gateway.tick())
    await until(lambda: len(gateway.requests) == 1)
    reply = await asyncio.wait_for(gateway.turn("quick?"), 5)
    assert reply.reply == "answered"
    assert (await asyncio.wait_for(ticking, 5)).reflected
    await gateway.stop()
    purposes = [request.purpose for _, request in gateway.requests]
    assert purposes == ["reflection", "chat", "reflection"]
    told = msgspec.json.decode(gateway.requests[-1][1].messages[1].content)
    assert told["recent_conversation"] == ["quick?"]
    assert len(gateway.reflections()) == 1


async def test_a_tick_in_mid_turn_waits_for_the_turn() -> None:
    answer = asyncio.Event()

    async def slow(_request: ModelRequest) -> str:
        await answer.wait()
        return "answered"

    gateway = FakeGateway(ScriptedModel([slow, thought()]))
    await gateway.start()
    turning = asyncio.create_task(gateway.turn("slow?"))
    await until(lambda: len(gateway.requests) == 1)
    ticking = asyncio.create_task(gateway.tick())
    for _ in range(50):
        await asyncio.sleep(0)
    assert len(gateway.requests) == 1
    answer.set()
    assert (await turning).reply == "answered"
    assert (await ticking).reflected
    await gateway.stop()


async def test_a_cancelled_tick_is_not_taken_for_one_that_was_broken_off() -> None:
    gateway = FakeGateway(ScriptedModel([hangs, thought()]))
    await gateway.start()
    ticking = asyncio.create_task(gateway.tick())
    await until(lambda: len(gateway.requests) == 1)
    ticking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ticking
    await until(lambda: not gateway.busy)
    assert (await gateway.tick()).reflected
    await gateway.stop()


# --- with a demo model, or none -------------------------------------------------------------


async def test_with_the_demo_model_the_reply_is_from_recall_and_its_sentence_is_apart() -> None:
    gateway = FakeGateway(ScriptedModel(["I think\n it was npm."]), kind="demo", hits=(HIT,))
    await gateway.start()
    reply = await gateway.turn("which package manager?")
    await gateway.stop()
    assert reply.reply == "2026-05-24T18:00:00Z: use pnpm"
    assert reply.model_says == "I think it was npm."
    assert reply.sources == (HIT,)
    assert gateway.streamed() == reply.reply
    assert (reply.steps, reply.tools) == (1, {"recall": 1})
    request = gateway.requests[0][1]
    assert request.max_tokens <= 100
    assert request.tools == ()
    turn = turn_line(gateway)
    assert turn.reply == reply.reply
    assert "npm." not in turn.reply


async def test_with_no_model_recall_answers_and_no_call_is_made() -> None:
    model = ScriptedModel()
    gateway = FakeGateway(model, kind="none", hits=(HIT,))
    await gateway.start()
    reply = await gateway.turn("which?")
    await gateway.stop()
    assert model.requests == []
    assert (reply.reply, reply.model_says) == ("2026-05-24T18:00:00Z: use pnpm", None)
    assert (reply.steps, reply.model, reply.tokens_in) == (0, None, None)


@pytest.mark.parametrize(
    "error", [ModelTimeoutError("Too late."), ModelUnavailableError("It died.")]
)
async def test_a_demo_model_that_fails_is_told_and_changes_no_quote(
    error: ModelTimeoutError | ModelUnavailableError,
) -> None:
    gateway = FakeGateway(ScriptedModel([error]), kind="demo", hits=(HIT,))
    await gateway.start()
    reply = await gateway.turn("which?")
    await gateway.stop()
    assert reply.reply.startswith("2026-05-24T18:00:00Z: use pnpm\n\n")
    assert str(error) in reply.reply
    assert reply.model_says is None
    assert [f.code for f in turn_line(gateway).failures] == [error.code]


async def test_a_demo_turn_shows_its_steps_as_they_begin_and_end() -> None:
    gateway = FakeGateway(ScriptedModel(["I think."]), kind="demo", hits=(HIT,))
    await gateway.start()
    await gateway.turn("which one?")
    await gateway.stop()
    assert [(event.step, event.complete) for event in gateway.events] == [
        ("recall", False),
        ("recall", True),
        ("model", False),
        ("model", True),
    ]
    assert len({event.span for event in gateway.events}) == 2


async def test_while_paused_the_history_answers_once_and_no_sentence_is_announced() -> None:
    gateway = FakeGateway(ScriptedModel([]), kind="demo", hits=(HIT,))
    await gateway.start()
    reply = await gateway.turn("how?", paused_until="2026-12-03T19:27:07.447Z")
    await gateway.stop()
    paused = "It is paused until 2026-12-03 19:27 UTC; `gnomon resume` lets it go on."
    assert reply.reply.count("use pnpm") == 1
    assert reply.reply.endswith(f"\n\n{paused}")
    assert gateway.streamed() == reply.reply
    assert {event.step for event in gateway.events} == {"recall"}
    assert (reply.stop_reason, turn_line(gateway).failures) == ("done", ())


async def test_a_demo_turn_can_be_cancelled_while_the_model_talks() -> None:
    gateway = FakeGateway(ScriptedModel([hangs]), kind="demo", hits=(HIT,))
    await gateway.start()
    turning = asyncio.create_task(gateway.turn("which?"))
    await until(lambda: len(gateway.requests) == 1)
    turning.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turning
    await gateway.stop()


async def test_a_recall_that_fails_is_told() -> None:
    gateway = FakeGateway(ScriptedModel(), kind="none")

    def broken() -> None:
        raise ModelUnavailableError("The search process died.")

    gateway.before_recall = broken
    await gateway.start()
    reply = await gateway.turn("which?")
    await gateway.stop()
    assert "could not be searched" in reply.reply
    assert "died" in reply.reply
    assert [f.tool for f in turn_line(gateway).failures] == ["recall"]


async def test_a_manifest_without_a_system_prompt_gets_the_standing_one() -> None:
    manifest = msgspec.structs.replace(RESIDENT_MANIFEST, prompts={})
    gateway = FakeGateway(ScriptedModel(["ok"]), manifest=manifest)
    await gateway.start()
    assert (await gateway.turn("hello")).reply == "ok"
    await gateway.stop()
    assert gateway.requests[0][1].messages[0].content.startswith("You are Gnomon")
