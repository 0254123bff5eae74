"""A run of the refiner from both ends of its pipe: the real worker, the gateway's real half."""

import asyncio
import hashlib
from typing import Any

import msgspec
import pytest

from gnomon.domain.errors import (
    BudgetError,
    GnomonError,
    LedgerError,
    ScopedToolViolationError,
    TrustError,
    UsageError,
)
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import Message, ModelReply, ModelRequest, ToolSpec
from gnomon.domain.plain import fields
from gnomon.refiner import worker_main
from gnomon.refiner.likeness import Failed
from gnomon.refiner.tools import specs
from gnomon.testing.memory_child import MemoryChild
from gnomon.testing.models import ScriptedModel, calls, says
from tests.refiner_kit import (
    FITNESS,
    OTHER,
    PROMPT,
    TEXT,
    TRAJECTORY,
    WORDS,
    WRITE,
    Bench,
    argument,
)

FOUR = ["read_scaffold", "write_scaffold", "read_fitness_ledger", "read_trajectory_window"]
READS: tuple[tuple[str, Fields], ...] = (
    ("read_trajectory_window", {"reflections": 3}),
    ("read_fitness_ledger", {}),
    ("read_scaffold", {"target": PROMPT}),
)


def told(bench: Bench) -> list[str]:
    """What the model was told by its tools, in order."""
    return [m.content for m in bench.requests[-1].messages if m.role == "tool"]


async def test_it_looks_and_proposes_one_edit() -> None:
    bench = Bench(ScriptedModel([calls(*READS), calls(("write_scaffold", WRITE)), says("Done.")]))
    ran = await bench.work()
    assert (ran.stop_reason, ran.text, ran.failures) == ("done", "Done.", ())
    (change,) = bench.proposed
    assert (change.status, change.target, change.tier) == ("proposed", PROMPT, "T2")
    assert change.candidate == TEXT.replace(WORDS, OTHER)
    assert change.base_sha256 == hashlib.sha256(TEXT.encode()).hexdigest()
    assert change.candidate_sha256 == hashlib.sha256(change.candidate.encode()).hexdigest()
    assert (change.author.role, change.author.model) == ("refiner", "scripted")
    assert change.author.prompt == "refiner-system@packaged#0"
    assert change.evidence == ("fitness-ledger:7",)
    assert change.prediction is not None
    assert (change.prediction.signal, change.prediction.direction) == ("stall", "down")
    assert OTHER in change.diff
    assert TRAJECTORY in told(bench)[0]
    assert "(3)" in told(bench)[0]
    assert FITNESS in told(bench)[1]
    assert WORDS in told(bench)[2]
    assert "ch-1 is proposed" in told(bench)[3]
    assert bench.run.refused == 0


async def test_the_model_is_offered_the_four_before_and_after_its_first_turn() -> None:
    bench = Bench(ScriptedModel([calls(*READS), says("Nothing is worth it.")]))
    ran = await bench.work()
    assert [[spec.name for spec in request.tools] for request in bench.requests] == [FOUR, FOUR]
    assert ran.text == "Nothing is worth it."
    assert bench.run.sentence() == "It proposed nothing."
    assert {request.purpose for request in bench.requests} == {"refine"}


async def test_a_tool_that_it_does_not_have_is_not_found_and_counted_by_the_gateway() -> None:
    wanted = [("shell", {"command": "id"}), ("write", {"path": "a", "content": "b"})]
    bench = Bench(ScriptedModel([calls(*wanted), says("I cannot.")]))
    ran = await bench.work()
    assert [failure.code for failure in ran.failures] == ["tool-not-found"] * 2
    assert ["Tool not found." in text for text in told(bench)] == [True, True]
    assert bench.run.refused == 2
    assert bench.proposed == []


@pytest.mark.parametrize("target", ["self-state.json", "/etc/passwd", "../fitness-ledger.jsonl"])
async def test_a_file_beyond_its_scope_is_a_violation_that_is_counted(target: str) -> None:
    said = {**WRITE, "target": target}
    bench = Bench(ScriptedModel([calls(("write_scaffold", said)), says("I cannot.")]))
    ran = await bench.work()
    assert [failure.code for failure in ran.failures] == ["scoped-tool-violation"]
    assert "is not in its scope" in told(bench)[0]
    assert bench.run.refused == 1
    assert bench.proposed == []


async def test_a_second_proposal_is_refused_also_in_the_same_step() -> None:
    second = {**WRITE, "find": "## Manner", "replace": "## How to say it"}
    both = calls(("write_scaffold", WRITE), ("write_scaffold", second))
    bench = Bench(ScriptedModel([both, calls(("write_scaffold", second)), says("Done.")]))
    ran = await bench.work()
    assert [failure.code for failure in ran.failures] == ["scoped-tool-violation"] * 2
    assert len(bench.proposed) == 1


async def test_an_edit_that_says_no_text_may_be_said_again() -> None:
    unclear = {**WRITE, "find": "no such words"}
    bench = Bench(
        ScriptedModel(
            [calls(("write_scaffold", unclear)), calls(("write_scaffold", WRITE)), says("")]
        )
    )
    ran = await bench.work()
    assert [failure.code for failure in ran.failures] == ["usage"]
    assert "stands there 0 times" in told(bench)[0]
    assert len(bench.proposed) == 1


async def test_a_refused_edit_is_on_record_with_its_reason_and_told_to_the_refiner() -> None:
    said = {**WRITE, "replace": "Aim for 0.42."}
    bench = Bench(ScriptedModel([calls(("write_scaffold", said)), says("Done.")]))
    ran = await bench.work()
    (change,) = bench.proposed
    assert change.status == "refused"
    assert change.reason is not None
    assert change.reason.startswith("new-number: ")
    assert "was refused: The edit brings a number" in told(bench)[0]
    assert [failure.code for failure in ran.failures] == ["REFUSED"]
    assert "was refused" in bench.run.sentence()


async def test_a_near_copy_of_a_failed_proposal_is_refused() -> None:
    first = Bench(ScriptedModel([calls(("write_scaffold", WRITE)), says("")]))
    await first.work()
    (before,) = first.proposed
    failed = Failed(before.target, before.diff, before.candidate_sha256)
    again = {**WRITE, "replace": OTHER.replace("one act", "an act")}
    bench = Bench(ScriptedModel([calls(("write_scaffold", again)), says("")]), failed=(failed,))
    await bench.work()
    reason = bench.proposed[0].reason
    assert reason is not None
    assert reason.startswith("near-copy: ")


async def test_a_text_that_was_edited_meanwhile_is_not_proposed_over() -> None:
    bench = Bench(ScriptedModel())

    def edited(_request: ModelRequest) -> ModelReply:
        bench.texts[PROMPT] = TEXT + "\nA person wrote this.\n"
        return calls(("write_scaffold", WRITE))

    bench.model = ScriptedModel([edited, says("")])
    ran = await bench.work()
    assert [failure.code for failure in ran.failures] == ["conflict"]
    assert bench.proposed == []


async def test_a_record_that_could_not_be_written_is_no_proposal() -> None:
    bench = Bench(ScriptedModel([calls(("write_scaffold", WRITE)), says("")]))

    async def refuses(_change: object) -> None:
        raise LedgerError("The disk takes nothing.", ledger="refinement-ledger")

    object.__setattr__(bench.run.world, "propose", refuses)
    ran = await bench.work()
    assert [failure.code for failure in ran.failures] == ["ledger"]
    assert bench.run.change is None


async def test_events_are_the_refiners_own_whatever_they_say() -> None:
    bench = Bench(ScriptedModel([says("")]))
    await bench.work()
    assert bench.events
    event = {**fields(bench.events[0]), "agent": "main", "run": "run-9", "change_id": "ch-9"}
    await bench.run("event", {"event": event}, lambda _: None)
    assert {(e.agent, e.run, e.change_id) for e in bench.events} == {("refiner", "run-1", "ch-1")}


# --- the gateway's half, asked by a process that does as it likes --------------------------------


async def asked(bench: Bench, op: str, args: Fields) -> str:
    """The code with which it was refused; empty when it was answered."""
    try:
        await bench.run(op, args, lambda _: None)
    except GnomonError as error:
        return error.code
    return ""


@pytest.mark.parametrize("op", ["ledger.append", "state.put", "tool.run", "recall", "surface", "x"])
async def test_what_the_trust_table_does_not_grant_is_denied(op: str) -> None:
    bench = Bench(ScriptedModel())
    with pytest.raises(TrustError):
        await bench.run(op, {}, lambda _: None)


async def test_the_gateway_checks_the_scope_itself() -> None:
    bench = Bench(ScriptedModel())
    for target in ("self-state.json", "/etc/passwd", "../x", "README.md"):
        assert await asked(bench, "read_scaffold", {"target": target}) == "scoped-tool-violation"
        said = {**WRITE, "target": target}
        assert await asked(bench, "write_scaffold", said) == "scoped-tool-violation"
    assert await asked(bench, "write_scaffold", WRITE) == ""
    assert await asked(bench, "write_scaffold", WRITE) == "scoped-tool-violation"
    assert bench.run.refused == 9
    assert len(bench.proposed) == 1


def offer(*tools: ToolSpec) -> Fields:
    asked_for = ModelRequest(
        messages=(Message(role="user", content="?"),), purpose="chat", tools=tools
    )
    return {"request": fields(asked_for), "run": None}


async def test_no_other_tool_can_be_offered_to_the_model() -> None:
    bench = Bench(ScriptedModel(then=says("")))
    shell = ToolSpec(name="shell", description="Run it.", parameters={})
    reworded = msgspec.structs.replace(specs()[0], description="Anything.")
    for tools in ((shell,), (*specs(), shell), (reworded,)):
        assert await asked(bench, "model.complete", offer(*tools)) == "scoped-tool-violation"
    assert await asked(bench, "model.complete", offer(*specs())) == ""
    assert bench.run.refused == 3


async def test_a_run_is_bounded_by_the_gateway() -> None:
    bench = Bench(ScriptedModel(then=says("")))
    codes = [await asked(bench, "model.complete", offer()) for _ in range(30)]
    assert codes == [""] * 24 + ["denied"] * 6
    codes = [await asked(bench, "read_fitness_ledger", {}) for _ in range(200)]
    assert codes.count("denied") == 30


@pytest.mark.parametrize("arguments", ["{", "[]", '{"target": 7}', ""])
async def test_arguments_that_fit_nothing_are_a_mistake_and_no_attempt(arguments: str) -> None:
    reply = calls(("write_scaffold", {}))
    wrong = msgspec.structs.replace(reply.tool_calls[0], arguments=arguments)
    bench = Bench(ScriptedModel([msgspec.structs.replace(reply, tool_calls=(wrong,)), says("")]))
    ran = await bench.work()
    assert bench.run.refused == 0
    assert len(ran.failures) == 1


# --- without tools -------------------------------------------------------------------------------

EDIT = {
    "find": WORDS,
    "replace": OTHER,
    "rationale": "It repeats itself.",
    "signal": "stall",
    "direction": "down",
}


async def test_a_model_that_calls_no_tools_is_asked_for_a_record() -> None:
    bench = Bench(ScriptedModel([says(msgspec.json.encode(EDIT).decode())]))
    ran = await bench.work(by_schema=True)
    assert (ran.stop_reason, ran.tools) == ("done", {"write_scaffold": 1})
    assert bench.proposed[0].candidate == TEXT.replace(WORDS, OTHER)
    (request,) = bench.requests
    assert request.tools == ()
    assert request.schema is not None
    assert request.prompt.startswith("refiner-by-schema@packaged#")


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        (["no", "no"], "invalid-output"),
        ([msgspec.json.encode({**EDIT, "find": "no such words"}).decode()], "usage"),
        ([BudgetError("Spent.", bound="duty-cycle", until=None)], "budget"),
    ],
)
async def test_a_record_that_is_none_ends_the_run_and_says_why(
    answers: list[Any], code: str
) -> None:
    bench = Bench(ScriptedModel(answers))
    ran = await bench.work(by_schema=True)
    assert (ran.stop_reason, ran.error) == ("failed", code)
    assert bench.proposed == []


async def test_a_model_that_fails_ends_a_run_with_tools_likewise() -> None:
    ran = await Bench(ScriptedModel([BudgetError("Spent.", bound="x", until=None)])).work()
    assert (ran.stop_reason, ran.error) == ("model-error", "budget")


async def test_the_process_answers_stop_and_nothing_else() -> None:
    bench = Bench(ScriptedModel())
    child = await MemoryChild.begin("refiner", worker_main.serve, argument(), bench.run)
    answer: Json = await child.peer.call("stop", {})
    assert answer == {}
    with pytest.raises(UsageError):
        await child.peer.call("tick", {})
    await child.stop(1.0)


async def test_two_runs_can_be_asked_of_one_process_one_after_the_other() -> None:
    bench = Bench(ScriptedModel([says("one"), says("two")]))
    child = await MemoryChild.begin("refiner", worker_main.serve, argument(), bench.run)
    async with asyncio.timeout(5):
        assert [(await bench.asked(child)).text for _ in range(2)] == ["one", "two"]
    await child.stop(1.0)


async def test_a_violation_is_typed_and_says_what_is_in_scope() -> None:
    with pytest.raises(
        ScopedToolViolationError, match=r"It reaches inner-loop-prompt\.md"
    ) as caught:
        await Bench(ScriptedModel()).run("read_scaffold", {"target": "x"}, lambda _: None)
    assert caught.value.facts == {
        "role": "refiner",
        "tool": "read_scaffold",
        "reason": "'x' is not in its scope",
    }
