"""The operator's own text in the place of one that is held: done exactly and once, or not."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from gnomon.approvals.file_payload import MOST_BYTES
from gnomon.daemon.change.approving import Approving
from gnomon.domain.body import Body
from gnomon.domain.errors import ConflictError, LedgerClosedError, TrustError, UsageError
from gnomon.domain.policy import Role
from gnomon.domain.records_change import Decided, Held, Redone
from tests.approval_kit import AFTER, BEFORE, Desk, at_the_desk
from tests.world_kit import BROWSER, CLI, CLIENT

MINE = "one\r\nzwei\u200b\n\n"
DAY = 86_400


def held_lines(desk: Desk) -> list[Held]:
    return [line for line in desk.gateway.lines("approvals") if isinstance(line, Held)]


def test_the_operators_text_is_written_exactly_and_the_agents_never(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        desk.in_turn("Tidy my notes.")
        old = await desk.held()
        assert (await desk.ask("show", old)).can_edit
        mine = await desk.ask("edit", old, text=MINE)
        assert desk.notes.read_bytes() == MINE.encode()
        assert (mine.approval.status, mine.text, mine.can_edit) == ("executed", MINE, False)
        assert mine.decided_by == "you, through the CLI"
        assert mine.approval.why == (
            f"You edited what it wanted to write ({old}). You said: Tidy my notes."
        )
        theirs, ours = held_lines(desk)
        assert (ours.origin, ours.target_sha256) == (theirs.origin, theirs.target_sha256)
        assert desk.kinds() == ["held", "held", "redone", "decided", "executed"]
        shown = await desk.ask("show", old)
        assert (shown.approval.status, shown.redone_as) == ("redone", mine.approval.id)
        for verb in ("approve", "reject"):
            with pytest.raises(ConflictError, match=f"as {mine.approval.id}"):
                await desk.ask(verb, old)
        await desk.ask("undo", mine.approval.id)
        assert desk.notes.read_text() == BEFORE

    at_the_desk(tmp_path, story)


def test_an_edit_of_an_edit_is_a_text_of_its_own_by_the_same_tool(tmp_path: Path) -> None:
    """It holds no passage any more: held anew it is the operator's text again."""

    async def story(desk: Desk) -> None:
        await desk.wants("edit", path=str(desk.notes), old="two", new="2")
        (old,) = await desk.views()
        core = desk.gateway.core
        core.manifest = msgspec.structs.replace(core.manifest, tools=("edit",))
        await desk.ask("edit", old.id, text="mine\n")
        payload = held_lines(desk)[1].payload
        assert (payload["tool"], payload["passage"]) == ("edit", None)
        assert desk.notes.read_text() == "mine\n"

    at_the_desk(tmp_path, story)


def test_a_new_file_gets_the_operators_text(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        fresh = desk.folder / "inner" / "new.md"
        await desk.ask("edit", await desk.held("theirs\n", fresh), text="mine\n")
        assert fresh.read_text() == "mine\n"

    at_the_desk(tmp_path, story)


def test_the_agents_text_unchanged_is_approved_as_it_is(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        await desk.wants("edit", path=str(desk.notes), old="two", new="2")
        (old,) = await desk.views()
        done = await desk.ask("edit", old.id, text=AFTER)
        assert (done.approval.id, done.approval.status) == (old.id, "executed")
        assert desk.kinds() == ["held", "decided", "executed"]

    at_the_desk(tmp_path, story)


def test_a_target_that_changed_since_is_left_alone_and_nothing_is_decided(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        fresh = desk.folder / "new.md"
        one, other = await desk.held(), await desk.held("new\n", fresh)
        desk.notes.write_text("somebody's\n")
        fresh.write_text("somebody's\n")
        assert not (await desk.ask("show", one)).can_edit
        with pytest.raises(ConflictError, match=r"changed since: .* Nothing was") as caught:
            await desk.ask("edit", one, text="mine\n")
        assert caught.value.facts["found_sha256"]
        for text in ("mine\n", "new\n"):
            with pytest.raises(ConflictError, match="was made since"):
                await desk.ask("edit", other, text=text)
        desk.notes.unlink()
        with pytest.raises(ConflictError, match="is gone"):
            await desk.ask("edit", one, text="mine\n")
        desk.notes.symlink_to("/etc/passwd")
        with pytest.raises(ConflictError, match="no regular file"):
            await desk.ask("edit", one, text="mine\n")
        assert fresh.read_text() == "somebody's\n"
        assert desk.kinds() == ["held", "held"]
        assert (await desk.ask("show", one)).approval.status == "pending"

    at_the_desk(tmp_path, story)


@pytest.mark.parametrize(
    ("text", "said"),
    [(BEFORE, "exactly this already"), ("a\0b", "not text"), ("ä" * MOST_BYTES, "more than any")],
)
def test_what_changes_nothing_or_cannot_be_shown_is_not_held(
    tmp_path: Path, text: str, said: str
) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        with pytest.raises(ConflictError, match=said):
            await desk.ask("edit", name, text=text)
        assert desk.kinds() == ["held"]

    at_the_desk(tmp_path, story)


def test_what_is_settled_or_unknown_is_not_edited(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        one, other = await desk.held(), await desk.held("x\n")
        await desk.gateway.ask("approvals.reject", BROWSER, id=one)
        with pytest.raises(ConflictError, match="rejected already, by you, on the dashboard"):
            await desk.ask("edit", one, text="mine\n")
        with pytest.raises(UsageError, match="no held action 'ap-0'"):
            await desk.ask("edit", "ap-0", text="mine\n")
        await asyncio.sleep(7 * DAY)
        with pytest.raises(ConflictError, match="time was over"):
            await desk.ask("edit", other, text="mine\n")
        assert desk.notes.read_text() == BEFORE

    at_the_desk(tmp_path, story)


def test_a_grant_that_was_taken_back_keeps_the_operators_text_waiting_to_be_redone(
    tmp_path: Path,
) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        await desk.gateway.ask("folders.remove", path=str(desk.folder))
        with pytest.raises(ConflictError, match="no granted folder holds"):
            await desk.ask("edit", name, text="mine\n")
        assert desk.notes.read_text() == BEFORE
        assert desk.kinds() == ["held", "held", "redone", "decided", "refused"]
        await desk.gateway.ask("folders.add", path=str(desk.folder))
        mine = (await desk.views())[0]
        fresh = await desk.ask("redo", mine.id)
        assert (fresh.text, fresh.approval.status) == ("mine\n", "pending")

    at_the_desk(tmp_path, story)


@pytest.mark.parametrize("cut_off", [Redone, Decided])
def test_an_edit_that_was_cut_off_is_asked_again_and_held_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut_off: type[Body]
) -> None:
    """Until the decision is on the disk both, or the operator's alone, wait as others do."""

    async def story(desk: Desk) -> None:
        name, write = await desk.held(), Approving._write

        async def refusing(self: Approving, role: Role, line: Body) -> None:
            if isinstance(line, cut_off):
                raise LedgerClosedError("approvals is closed: a sync failed.")
            await write(self, role, line)

        monkeypatch.setattr(Approving, "_write", refusing)
        with pytest.raises(LedgerClosedError):
            await desk.ask("edit", name, text="mine\n")
        monkeypatch.setattr(Approving, "_write", write)
        waiting = [each.id for each in await desk.views(pending=True)]
        assert (name in waiting) == (cut_off is Redone)
        assert desk.notes.read_text() == BEFORE
        if cut_off is Redone:
            done = await desk.ask("edit", name, text="mine\n")
            assert done.approval.id in waiting
        else:
            await desk.ask("approve", waiting[0])
        assert desk.kinds() == ["held", "held", "redone", "decided", "executed"]
        assert desk.notes.read_text() == "mine\n"

    at_the_desk(tmp_path, story)


def test_one_that_waits_for_another_version_of_the_file_is_not_taken_for_it(
    tmp_path: Path,
) -> None:
    async def story(desk: Desk) -> None:
        stale = await desk.held("mine\n")
        desk.notes.write_text("another\n")
        name = await desk.held("theirs\n")
        done = await desk.ask("edit", name, text="mine\n")
        assert done.approval.id not in (stale, name)
        assert desk.notes.read_text() == "mine\n"

    at_the_desk(tmp_path, story)


def test_of_an_edit_and_an_approval_at_once_one_decides(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        came = await asyncio.gather(
            desk.ask("edit", name, text="mine\n"),
            desk.ask("approve", name),
            desk.ask("edit", name, text="mine too\n"),
            return_exceptions=True,
        )
        assert [isinstance(each, ConflictError) for each in came] == [False, True, True]
        assert desk.notes.read_text() == "mine\n"

    at_the_desk(tmp_path, story)


def test_the_item_about_it_is_seen_to(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        await desk.ask("edit", await desk.held(), text="mine\n")
        (surface,) = desk.gateway.surfaces()
        (outcome,) = desk.gateway.outcomes(surface.surface_id)
        assert (outcome.outcome, outcome.source) == ("acted", "agenda_resolved")
        assert "You approved your own text for" in desk.gateway.core.agent.journal.read_text()

    at_the_desk(tmp_path, story)


@pytest.mark.parametrize("door", [None, CLIENT])
def test_nobody_but_the_operator_edits(tmp_path: Path, door: object) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        with pytest.raises(TrustError, match="Only the operator"):
            await desk.gateway.ask("approvals.edit", door, id=name, text="mine\n")  # pyright: ignore[reportArgumentType]
        assert desk.kinds() == ["held"]
        operation = desk.gateway.operations["approvals.edit"]
        assert (operation.reads, operation.authority) == (False, "operator")
        assert operation.cancellable is False
        assert (await desk.gateway.ask("approvals.show", CLI, id=name)).approval.id == name

    at_the_desk(tmp_path, story)
