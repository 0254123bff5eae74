"""The judge's desk over real files: when it asks, what it takes, what is done with the verdict."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from gnomon.domain.errors import GnomonError, JailError, LedgerCorruptError, RecordError, TrustError
from gnomon.domain.instants import DAY, iso
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.ledgers import BODIES, Head, LedgerName
from gnomon.domain.plain import fields
from gnomon.domain.records_change import Judgment
from gnomon.referee.config import parse
from gnomon.referee.judge import Windows
from gnomon.referee.judge_main import AT_ONCE, Judge, JudgeArgument, Ruling
from gnomon.trust.jail import Grants
from gnomon.trust.roles import check_append, trust_of
from tests.change_kit import CANDIDATE, PARENT, a_change
from tests.court_kit import DEV, Court, a_court
from tests.judge_kit import a_window, amended


@pytest_asyncio.fixture
async def court(tmp_path: Path) -> AsyncIterator[Court]:
    made = a_court(tmp_path / "home")
    yield made
    await made.close()


# --- verdicts ------------------------------------------------------------------------------------


async def test_a_better_prompt_is_kept(court: Court) -> None:
    await court.tested(0.4, 0.6)
    done = await court.run()
    assert done.ran
    assert done.done == ("change-0001: kept, since you used more of what it brought.",)
    assert (court.status, court.lab.text()) == ("kept", CANDIDATE)
    [verdict] = court.judgments()
    assert (verdict.outcome, verdict.basis, verdict.delta.engagement) == ("kept", "both", 0.1)
    head = court.lab.stores.files["fitness-ledger"].head
    assert (verdict.fitness_head.seq, verdict.fitness_head.sha256) == (head.seq, head.sha256)


async def test_a_worse_prompt_is_rolled_back_and_restored_from_versions(court: Court) -> None:
    await court.tested(0.6, 0.4)
    await court.run()
    assert (court.status, court.lab.text()) == ("reverted", PARENT)
    [verdict] = court.judgments()
    assert (verdict.outcome, verdict.prediction_held) == ("rolled_back", False)
    assert verdict.restored_version is not None
    kept = court.lab.stores.agent.scaffold_versions / verdict.restored_version
    assert kept.read_text() == PARENT


async def test_without_engagement_stall_decides_at_the_deadline(court: Court) -> None:
    await court.tested(0.2)
    await court.run()
    assert court.outcomes() == ["pending"]
    assert not court.desk.is_due()
    court.clock.advance(7 * 86_400)
    assert court.desk.is_due(), "with no new line"
    await court.run()
    assert court.outcomes() == ["pending", "kept"]
    assert court.judgments()[-1].basis == "stall_only"


async def test_pending_is_noted_once_and_asked_again_only_for_news(court: Court) -> None:
    await court.hours(2, 0.4, 0.5)
    assert court.desk.not_due(court.now) == "Nothing is under judgment."
    assert not (await court.run()).ran
    await court.lab.changes.propose(a_change())
    assert court.desk.is_due()
    done = await court.run()
    [waits] = done.done
    assert waits.startswith("change-0001: no verdict yet, since too few hours could be measured")
    assert waits.endswith("; too few items were settled to say whether it was useful.")
    assert not court.desk.is_due()
    again = await court.run()
    assert (again.ran, again.done) == (True, ())
    assert again.why_not == (
        "change-0001 still waits. Too few hours could be measured for going in circles. "
        "Too few items were settled to say whether it was useful."
    )
    await court.hours(1, 0.4, 0.6)
    assert court.desk.is_due()
    await court.run()
    await court.hours(1, 0.4, 0.6)
    await court.run()
    assert court.outcomes() == ["pending", "kept"]
    assert not court.desk.is_due()
    assert (await court.run()).why_not == "Nothing is under judgment."


async def test_the_next_in_line_is_judged_by_its_own_windows(court: Court) -> None:
    await court.tested(0.6, 0.4)
    other = PARENT + "\nSay less.\n"
    await court.lab.changes.propose(a_change(2, other))
    await court.run()
    assert court.lab.text() == other
    assert court.desk.is_due()
    await court.run()
    await court.hours(2, 0.4, 0.7)
    await court.run()
    assert court.outcomes() == ["rolled_back", "pending", "kept"]
    assert court.judgments()[-1].engagement.before == 0.5, "the parent's, from before both"


# --- what voids ----------------------------------------------------------------------------------


async def test_a_human_edit_during_judgment_voids_it_and_survives(court: Court) -> None:
    await court.tested(0.2, 0.9)
    court.lab.prompt.write_text("By hand.")
    assert court.desk.is_due()
    await court.run()
    assert (court.status, court.lab.text()) == ("voided", "By hand.")
    [verdict] = court.judgments()
    assert (verdict.reasons, verdict.restored_version) == (("target-edited",), None)


async def test_an_edit_of_another_file_voids_and_both_texts_are_as_they_should_be(
    court: Court,
) -> None:
    await court.tested(0.2, 0.9)
    other = court.lab.prompt.with_name("executive-prompt.md")
    other.write_text("Another by hand.")
    await court.run()
    assert (court.status, court.lab.text()) == ("voided", PARENT)
    assert other.read_text() == "Another by hand."


async def test_a_changed_fitness_config_voids_what_runs(court: Court, tmp_path: Path) -> None:
    await court.tested(0.2, 0.9)
    await court.close()
    again = a_court(tmp_path / "home", '{"dev_mode": true, "delta": 0.01}', clock=court.clock)
    await again.run()
    assert (again.status, again.lab.text()) == ("voided", PARENT)
    assert again.judgments()[0].reasons == ("config-changed",)
    court.lab = again.lab


async def test_the_operators_revert_ends_the_test_at_once(court: Court) -> None:
    await court.tested(0.2, 0.9)
    said = await court.lab.changes.revert("change-0001")
    assert "is stopped" in said
    assert (court.status, court.outcomes(), court.lab.text()) == ("reverted", [], PARENT)


async def test_below_the_length_floor_it_is_rolled_back_at_once(court: Court) -> None:
    await court.hours(2, 0.4, 0.5)
    await court.lab.changes.propose(a_change(candidate="Reflect, and say it in JSON."))
    await court.run()
    assert court.judgments()[0].reasons == ("below-length-floor",)
    assert (court.status, court.lab.text()) == ("reverted", PARENT)


# --- what comes between --------------------------------------------------------------------------


async def test_an_edit_while_it_was_judged_leaves_the_verdict_untaken(court: Court) -> None:
    await court.tested(0.2, 0.9)

    async def meanwhile() -> None:
        court.lab.prompt.write_text("By hand.")

    court.meanwhile = meanwhile
    done = await court.run()
    assert done.done == ()
    assert "judged anew" in str(done.why_not)
    assert court.judgments() == []
    assert court.desk.is_due()
    await court.run()
    assert (court.outcomes(), court.lab.text()) == (["voided"], "By hand.")


async def test_what_was_undone_early_is_not_judged_too(court: Court) -> None:
    await court.tested(0.2, 0.9)

    async def meanwhile() -> None:
        await court.lab.changes.undo_early("change-0001", "its replies broke")

    court.meanwhile = meanwhile
    await court.run()
    assert (court.status, court.judgments()) == ("reverted", [])
    assert not court.desk.is_due()


async def test_a_verdict_whose_deed_was_cut_off_is_done_and_not_asked_for_again(
    court: Court,
) -> None:
    await court.tested(0.6, 0.4)
    await court.run()
    [verdict] = court.judgments()
    await court.lab.changes.propose(a_change(2))
    await court.lab.stores.append(
        "judgment-ledger", msgspec.structs.replace(verdict, change_id="change-0002")
    )
    starts = len(court.grants)
    assert court.desk.is_due()
    done = await court.run()
    assert done.done == ("Finished what the verdict on change-0002 says: undone.",)
    assert court.lab.changes.known("change-0002").status == "reverted"
    assert (len(court.judgments()), len(court.grants)) == (2, starts)


# --- a job that fails or lies --------------------------------------------------------------------


async def test_a_judge_that_cannot_start_is_told_once_and_tried_again_later(court: Court) -> None:
    await court.tested(0.4, 0.6)

    async def refuses() -> None:
        raise JailError("There is no jail here.")

    court.meanwhile = refuses
    for _ in range(3):
        await court.desk.turn()
    said = court.lab.stores.agent.journal.read_text()
    assert said.count("could not be judged") == 1
    assert not court.desk.is_due()
    court.clock.advance(600)
    assert court.desk.is_due()
    assert (court.status, court.judgments()) == ("watched", [])


@pytest.mark.parametrize(
    ("lie", "fault"),
    [
        ({"change_id": "change-0002"}, "another change"),
        ({"restored_version": "mine.000001-0001-aaaaaaaaaaaa.md"}, "not the parent"),
        ({"fitness_head": {"seq": 1, "sha256": "0" * 64}}, "other lines"),
    ],
)
async def test_an_answer_to_another_question_is_not_taken(
    court: Court, lie: dict[str, Any], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await court.tested(0.4, 0.6)
    answer = Judge.answer

    async def lies(self: Judge, op: str, args: Fields, send_part: Any) -> Json:
        told: Any = await answer(self, op, args, send_part)
        return {**told, "judgment": {**told["judgment"], **lie}}

    monkeypatch.setattr(Judge, "answer", lies)
    with pytest.raises(RecordError, match=fault):
        await court.run()
    assert (court.status, court.judgments()) == ("watched", [])


async def test_lines_that_are_not_those_that_were_written_are_judged_by_nobody(
    court: Court,
) -> None:
    await court.tested(0.4, 0.6)
    path = court.lab.stores.agent.fitness_ledger
    path.write_bytes(path.read_bytes().replace(b'"stall_composite":0.4', b'"stall_composite":0.1'))
    with pytest.raises(LedgerCorruptError):
        await court.run()
    assert (court.status, court.judgments()) == ("watched", [])


# --- what it reads -------------------------------------------------------------------------------


async def test_it_is_granted_the_fitness_ledger_and_nothing_else(court: Court) -> None:
    await court.tested(0.4, 0.6)
    court.lab.stores.stretch.begin()
    await court.hours(1, 0.4, 0.6)
    await court.run()
    [grants] = court.grants
    assert grants.write == ()
    names = [path.name for path in grants.read]
    assert names == ["fitness-ledger.jsonl", "fitness-ledger.0002.jsonl"]
    row = trust_of("judge")
    assert (row.network, row.may_exec, row.model, row.asks) == ("none", False, "none", ())


@pytest.mark.parametrize("name", [name for name in BODIES if name != "judgment-ledger"])
def test_the_judge_authors_the_judgment_ledger_alone(name: LedgerName) -> None:
    for kind in ("judgment", "step", "change", "window"):
        with pytest.raises(TrustError):
            check_append("judge", name, kind)
    check_append("judge", "judgment-ledger", "judgment")


@pytest.mark.parametrize("role", ["gateway", "resident", "refiner", "fitness-writer", "operator"])
def test_nobody_else_authors_a_verdict(role: str) -> None:
    with pytest.raises(TrustError):
        check_append(role, "judgment-ledger", "judgment")


class Counting:
    """A ledger's reader that counts the lines it gives."""

    def __init__(self, judge: Judge) -> None:
        self._reader = judge._reader
        self.lines = 0

    def read(self, *, after_seq: int = 0, until: Head | None = None) -> Any:
        for line in self._reader.read(after_seq=after_seq, until=until):
            self.lines += 1
            yield line

    def corrupt(self, line: int, reason: str) -> GnomonError:
        return self._reader.corrupt(line, reason)


async def aged(
    court: Court, hours: int, engagement: float | None, since: float | None = 0.6
) -> tuple[Judge, Counting, Any]:
    """A test after so many hours of the parent."""
    version = court.lab.scaffold.observe(court.now).version
    for _ in range(hours):
        start = iso(court.now)
        court.clock.advance(3600)
        window = a_window(start, 0.4, engagement, version=version, config=court.loaded.sha256)
        await court.lab.stores.append("fitness-ledger", window, durable=False)
    court.clock.advance(1)
    await court.lab.changes.propose(a_change())
    await court.hours(2, 0.3, since)
    path = court.lab.stores.agent.fitness_ledger
    judge = Judge(JudgeArgument(fitness=str(path), config=court.loaded.text))
    counting = Counting(judge)
    judge._reader = counting  # type: ignore[assignment]
    hearing = court.desk._hearing(court.lab.changes.known("change-0001"), court.now)
    return judge, counting, hearing


async def test_it_reads_no_further_back_than_the_baseline(court: Court) -> None:
    judge, counting, hearing = await aged(court, 3 * AT_ONCE, 0.5)
    near = judge.windows(hearing)
    assert counting.lines <= 2 * AT_ONCE
    whole = Windows(hearing.case)
    for line in court.lab.stores.files["fitness-ledger"].read():
        whole.take(line)
    assert list(near.before())[-2:] == list(whole.before())[-2:]
    assert list(near.after()) == list(whole.after())
    assert len(list(near.after())) == 2


async def test_it_reads_back_to_where_nothing_is_provisional_any_more(
    court: Court, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnomon.referee.judge_main.AT_ONCE", 16)
    judge, counting, hearing = await aged(court, 200, 0.5)
    judge.windows(hearing)
    assert 72 <= counting.lines <= 72 + 2 * 16, "the 72 hours after which a surface has settled"


async def test_where_there_is_no_baseline_it_stops_after_so_many_lines(
    court: Court, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnomon.referee.judge_main.AT_ONCE", 64)
    monkeypatch.setattr("gnomon.referee.judge_main.MOST_OLDER", 256)
    judge, counting, hearing = await aged(court, 600, None)
    found = judge.windows(hearing)
    assert 256 <= counting.lines <= 256 + 2 * 64
    assert len(list(found.after())) == 2


async def test_while_it_waits_it_looks_for_no_baseline_that_could_not_decide(
    court: Court,
) -> None:
    judge, counting, hearing = await aged(court, 600, None, since=None)
    noted = judge.ruling(hearing)
    assert noted.judgment is not None
    assert counting.lines > 600
    counting.lines = 0
    waiting = msgspec.structs.replace(hearing, earlier=noted.judgment)
    assert judge.ruling(waiting) == Ruling(judgment=None, reasons=noted.reasons)
    assert counting.lines <= 2 * AT_ONCE


async def test_a_year_that_was_set_right_hides_no_deadline_and_no_baseline(court: Court) -> None:
    judge, counting, hearing = await aged(court, 600, None, since=None)
    noted = judge.ruling(hearing).judgment
    case = msgspec.structs.replace(hearing.case, watched_at=hearing.now + 365 * DAY)
    asked = msgspec.structs.replace(hearing, case=case, earlier=noted)
    counting.lines = 0
    judge.ruling(asked)
    assert counting.lines > 600, "the deadline may have passed, and then all of it counts"


async def test_what_the_writer_has_not_amended_yet_is_settled_for_nobody(
    court: Court, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge runs after a week off, before the writer: by the ledger no time has passed."""
    monkeypatch.setattr("gnomon.referee.judge_main.AT_ONCE", 16)
    judge, counting, hearing = await aged(court, 600, 0.5)
    judge.windows(hearing)
    before, counting.lines = counting.lines, 0
    judge.windows(msgspec.structs.replace(hearing, now=hearing.now + 7 * DAY))
    assert counting.lines == before


async def test_steps_backwards_that_do_not_join_are_refused(
    court: Court, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnomon.referee.judge_main.AT_ONCE", 64)
    judge, counting, hearing = await aged(court, 200, None)
    read = counting.read

    def another(*, after_seq: int = 0, until: Head | None = None) -> Any:
        lines = list(read(after_seq=after_seq, until=until))
        if until is not None and after_seq + 64 < until.seq:
            lines = [msgspec.structs.replace(line, sha256="e" * 64) for line in lines]
        return iter(lines)

    counting.read = another  # type: ignore[method-assign]
    with pytest.raises(LedgerCorruptError, match="does not follow"):
        judge.windows(hearing)


async def test_what_an_amendment_says_later_is_what_counts(court: Court) -> None:
    await court.tested(0.4, 0.9)
    for line in list(court.lab.stores.files["fitness-ledger"].read(after_seq=2)):
        await court.measured(amended(line.body, engagement_rate=0.2))  # type: ignore[arg-type]
    await court.run()
    assert court.outcomes() == ["rolled_back"]
    assert court.judgments()[0].engagement.after == 0.2


async def test_the_job_answers_work_and_stop_and_nothing_else(court: Court) -> None:
    await court.tested(0.4, 0.6)
    path = court.lab.stores.agent.fitness_ledger
    given = fields(JudgeArgument(fitness=str(path), config=DEV))
    child = await court._start("judge", "gnomon.referee.judge_main", given, Grants(), serve=None)
    assert await child.peer.call("stop", {}) == {}
    for op, asked in (("append", {}), ("work", {"now": "soon"})):
        with pytest.raises(GnomonError):
            await child.peer.call(op, asked)
    hearing = court.desk._hearing(court.lab.changes.known("change-0001"), court.now)
    answer: Any = await child.peer.call("work", fields(hearing))
    judgment = msgspec.convert(answer["judgment"], Judgment)
    assert judgment.outcome == "kept"
    await child.stop(1)
    assert parse(DEV).sha256 == judgment.config_sha256
