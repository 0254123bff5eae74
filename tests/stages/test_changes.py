"""The life of a change to the scaffold, over real files and ledgers."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from gnomon.change.early import ATTEMPTS
from gnomon.change.shown import change_view
from gnomon.cli.render_changes import verdict_words
from gnomon.daemon.change.carry_on import CarryOn
from gnomon.domain.errors import ConflictError, LedgerError, UsageError
from gnomon.domain.ledgers import Ack, LedgerName
from gnomon.domain.records import Body, Tick
from gnomon.domain.records_change import VerdictOutcome
from gnomon.scaffold.hashing import text_sha256
from gnomon.testing.clock import FakeClock
from tests.change_kit import (
    CANDIDATE,
    PARENT,
    PROMPT,
    Laboratory,
    a_change,
    a_judgment,
    a_laboratory,
)

OTHER = PARENT + "\nSay less.\n"
BY_HAND = PARENT + "\nA line by hand.\n"


@pytest_asyncio.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Laboratory]:
    made = a_laboratory(tmp_path / "home")
    yield made
    await made.close()


async def test_a_proposal_is_applied_and_watched_at_once(lab: Laboratory) -> None:
    before = lab.scaffold.observe(lab.stores.clock.wall()).version
    await lab.changes.propose(a_change())
    life = lab.changes.known("change-0001")
    assert life.status == "watched"
    assert lab.text() == CANDIDATE
    assert life.base_scaffold_version == before
    assert life.watched is not None
    assert life.watched.scaffold_version == lab.scaffold.observe(lab.stores.clock.wall()).version
    assert life.base_version is not None
    assert (lab.stores.agent.scaffold_versions / life.base_version).read_text() == PARENT


async def test_a_refused_proposal_is_a_line_and_nothing_else(lab: Laboratory) -> None:
    refused = replace(a_change(), status="refused", reason="it grew")
    await lab.changes.propose(refused)
    assert lab.changes.known("change-0001").status == "refused"
    assert lab.text() == PARENT
    assert lab.changes.state().failed()


@pytest.mark.parametrize(
    ("outcome", "status", "text"),
    [
        ("kept", "kept", CANDIDATE),
        ("rolled_back", "reverted", PARENT),
        ("inconclusive", "reverted", PARENT),
        ("voided", "voided", PARENT),
    ],
)
async def test_a_verdict_is_carried_out(
    lab: Laboratory, outcome: VerdictOutcome, status: str, text: str
) -> None:
    await lab.changes.propose(a_change())
    await lab.judged(outcome)
    life = lab.changes.known("change-0001")
    assert (life.status, life.outcome, lab.text()) == (status, outcome, text)
    assert life.decided_at is not None
    assert lab.changes.state().under_judgment is None


@pytest.mark.parametrize("outcome", ["rolled_back", "inconclusive", "voided"])
async def test_a_rollback_restores_exact_bytes_only_over_the_candidate(
    lab: Laboratory, outcome: VerdictOutcome
) -> None:
    await lab.changes.propose(a_change())
    lab.prompt.write_text(BY_HAND)
    await lab.judged(outcome)
    assert lab.text() == BY_HAND
    assert lab.changes.known("change-0001").told[-1].reason == (
        "the file was edited since; the text that stands there stays"
    )


async def test_one_change_at_a_time_is_tested_and_the_next_waits(lab: Laboratory) -> None:
    await lab.changes.propose(a_change(1))
    await lab.changes.propose(a_change(2, OTHER))
    assert lab.changes.known("change-0002").status == "proposed"
    await lab.judged("rolled_back")
    assert lab.changes.known("change-0002").status == "watched"
    assert lab.text() == OTHER


async def test_what_waits_on_a_text_that_is_gone_is_voided(lab: Laboratory) -> None:
    await lab.changes.propose(a_change(1))
    await lab.changes.propose(a_change(2, OTHER))
    await lab.judged("kept")
    assert lab.changes.known("change-0002").status == "voided"
    assert lab.text() == CANDIDATE


async def test_what_waited_is_not_applied_once_the_operator_allows_less(lab: Laboratory) -> None:
    await lab.changes.propose(a_change(1))
    await lab.changes.propose(a_change(2, OTHER))
    lab.changes.autonomy = lambda: "memory"
    await lab.judged("rolled_back")
    waited = lab.changes.known("change-0002")
    assert (waited.status, lab.text()) == ("refused", PARENT)
    assert waited.told[-1].reason == (
        "while it waited, improve.autonomy became 'memory', at which it changes no instructions"
    )


async def test_a_human_edit_before_it_is_applied_voids_it(lab: Laboratory) -> None:
    lab.prompt.write_text(BY_HAND)
    await lab.changes.propose(a_change())
    assert lab.changes.known("change-0001").status == "voided"
    assert lab.text() == BY_HAND


async def test_a_kept_change_can_be_undone_by_its_operator(lab: Laboratory) -> None:
    await lab.changes.propose(a_change())
    await lab.judged("kept")
    said = await lab.changes.revert("change-0001")
    assert said == f"{PROMPT} reads as it did before."
    assert lab.text() == PARENT
    assert lab.changes.known("change-0001").status == "reverted"
    with pytest.raises(ConflictError, match="was undone already"):
        await lab.changes.revert("change-0001")


async def test_an_undoing_never_overwrites_what_came_later(lab: Laboratory) -> None:
    await lab.changes.propose(a_change())
    await lab.judged("kept")
    lab.prompt.write_text(BY_HAND)
    with pytest.raises(ConflictError, match="was edited after this change"):
        await lab.changes.revert("change-0001")
    assert lab.text() == BY_HAND


async def test_what_is_tested_and_undone_is_undone_by_you_and_the_next_comes(
    lab: Laboratory,
) -> None:
    await lab.changes.propose(a_change())
    await lab.changes.propose(a_change(2, OTHER))
    said = await lab.changes.revert("change-0001")
    assert said.endswith("The test that was under way is stopped.")
    life = lab.changes.known("change-0001")
    assert (life.status, life.told[-1].reason) == ("reverted", "you undid it")
    assert verdict_words(change_view(life)) == "undone (by you)"
    assert (lab.text(), lab.changes.known("change-0002").status) == (OTHER, "watched")


async def test_undoing_an_earlier_one_has_the_judge_stop_what_is_tested(lab: Laboratory) -> None:
    asked: list[str] = []

    async def judge() -> None:
        asked.append(lab.text())

    lab.changes.judge = judge
    await lab.changes.propose(a_change())
    await lab.judged("kept")
    other = "executive-prompt.md"
    text = lab.changes.standing(other)
    second = replace(a_change(2, text + "More.\n"), target=other, base_sha256=text_sha256(text))
    await lab.changes.propose(second)
    assert lab.changes.known("change-0002").status == "watched"
    said = await lab.changes.revert("change-0001")
    assert said.endswith("The test that was under way is stopped.")
    assert asked == [PARENT]


async def test_an_undoing_that_a_kill_cut_off_is_told_as_one(lab: Laboratory) -> None:
    await lab.changes.propose(a_change())
    lab.prompt.write_text(PARENT)  # its deed, without its line
    voided = replace(a_judgment("voided"), reasons=("target-edited",))
    await lab.stores.append("judgment-ledger", voided)
    await lab.changes.settle()
    life = lab.changes.known("change-0001")
    assert verdict_words(change_view(life)) == "undone (by you)"


async def test_what_waits_can_be_taken_back(lab: Laboratory) -> None:
    await lab.changes.propose(a_change(1))
    await lab.changes.propose(a_change(2, OTHER))
    assert "never came into force" in await lab.changes.revert("change-0002")
    assert lab.changes.known("change-0002").status == "voided"


async def test_a_change_that_is_not_there_is_a_clear_error(lab: Laboratory) -> None:
    with pytest.raises(UsageError, match="There is no change 'change-9'"):
        await lab.changes.revert("change-9")


async def test_a_text_that_cannot_come_into_force_is_refused(lab: Laboratory) -> None:
    await lab.changes.propose(a_change(candidate=""))
    life = lab.changes.known("change-0001")
    assert life.status == "refused"
    assert life.told[-1].reason is not None
    assert lab.text() == PARENT


async def test_a_look_reads_nothing_when_nothing_is_open(lab: Laboratory) -> None:
    await lab.changes.look()
    await lab.changes.propose(a_change())
    await lab.judged("kept")
    lab.prompt.unlink()
    await lab.changes.look()
    assert not lab.prompt.exists()


async def test_after_a_restart_everything_stands_where_it_stood(lab: Laboratory) -> None:
    await lab.changes.propose(a_change())
    before = lab.changes.known("change-0001")
    await lab.close()
    again = a_laboratory(lab.root)
    await again.changes.look()
    assert again.changes.known("change-0001") == before
    await again.judged("rolled_back")
    assert again.text() == PARENT
    await again.close()


async def test_where_the_parents_text_is_gone_it_is_said_once_and_ended(lab: Laboratory) -> None:
    await lab.changes.propose(a_change())
    for kept in lab.stores.agent.scaffold_versions.iterdir():
        kept.unlink()
        kept.mkdir()  # nor does a folder of that name stand for it
    await lab.judged("rolled_back")
    life = lab.changes.known("change-0001")
    assert (life.status, lab.text()) == ("reverted", CANDIDATE)
    assert life.told[-1].reason is not None
    assert "is not there" in life.told[-1].reason


async def test_what_cannot_be_applied_yet_stands_and_is_applied_at_a_beat(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, count = lab.stores.append, 0

    async def refuses(name: LedgerName, body: Body, **more: Any) -> Ack:
        nonlocal count
        count += 1
        if count == 2:
            raise LedgerError("The disk refused.", ledger=name)
        return await append(name, body, **more)

    with monkeypatch.context() as patch:
        patch.setattr(lab.stores, "append", refuses)
        await lab.changes.propose(a_change())
    assert lab.changes.known("change-0001").status == "proposed"
    assert "waits for a later beat" in lab.stores.agent.journal.read_text()
    await lab.changes.look()
    assert lab.changes.known("change-0001").status == "watched"


async def test_unusable_replies_end_a_test_early_whatever_the_clock_says(lab: Laboratory) -> None:
    carry = CarryOn(lab.stores, lab.changes)
    await lab.changes.propose(a_change())
    life = lab.changes.known("change-0001")
    assert life.watched is not None
    version = life.watched.scaffold_version
    assert version is not None
    for _ in range(ATTEMPTS - 1):
        await lab.stores.append(
            "decision-ledger", Tick(scaffold_version=version, skip_reason="invalid-output")
        )
    assert carry.is_due()
    await carry.turn()
    assert lab.changes.known("change-0001").status == "watched"
    assert isinstance(lab.stores.clock, FakeClock)
    lab.stores.clock.step(-86_400)
    lab.stores.begin_segments()
    await lab.stores.append(
        "decision-ledger", Tick(scaffold_version=version, skip_reason="invalid-output")
    )
    await carry.turn()
    life = lab.changes.known("change-0001")
    assert (life.status, life.outcome, lab.text()) == ("reverted", "rolled_back", PARENT)
    assert not carry.is_due()
