"""Held actions on the real core: what waits, who decides, what is done, and what is not."""

import asyncio
import json
import os
import shutil
from pathlib import Path

import msgspec
import pytest

from gnomon.approvals.approval import Approval
from gnomon.approvals.file_writes import FileWrites
from gnomon.approvals.queue import MOST_PENDING, Proposal
from gnomon.daemon.change.approving import Approving
from gnomon.domain.body import Body
from gnomon.domain.errors import (
    ConflictError,
    GnomonError,
    LedgerClosedError,
    TrustError,
    UsageError,
)
from gnomon.domain.policy import Role
from gnomon.domain.records_change import Decided, Executed, Held, HeldOrigin
from gnomon.referee.config import default_text
from tests.approval_kit import AFTER, BEFORE, Desk, at_the_desk, grant
from tests.world_kit import BROWSER, CLI, CLIENT, World, in_virtual_time

DAY = 86_400
TEN_MINUTES = json.dumps(json.loads(default_text()) | {"horizon_seconds": 600})
ORIGIN = HeldOrigin(role="resident")


# --- what waits ----------------------------------------------------------------------------------


def test_a_write_where_it_may_only_read_waits_and_nothing_is_written(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        desk.in_turn("Tidy my notes, please.")
        name = await desk.held()
        assert desk.notes.read_text() == BEFORE
        (view,) = await desk.views()
        assert (view.id, view.action, view.target) == (name, "file.write", str(desk.notes))
        assert (view.status, view.session, view.change_id) == ("pending", "s-1", None)
        assert view.why == "You said: Tidy my notes, please."
        assert view.summary == f"write {desk.notes} (+1 -1 lines)"
        assert view.expires_at[:10] == "2026-03-09"
        shown = await desk.ask("show", name)
        assert (shown.text, shown.changed, shown.result) == (AFTER, None, None)
        assert shown.diff.endswith("@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n")
        assert (shown.can_always, shown.can_undo, shown.can_redo) == (True, False, False)

    at_the_desk(tmp_path, story)


def test_an_edit_is_held_as_all_that_the_file_would_hold(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        outcome = await desk.wants("edit", path=str(desk.notes), old="two", new="2")
        assert outcome.error == "HELD"
        (view,) = await desk.views()
        assert (await desk.ask("show", view.id)).text == AFTER
        await desk.ask("approve", view.id)
        assert desk.notes.read_text() == AFTER

    at_the_desk(tmp_path, story)


def test_what_cannot_be_shown_or_done_is_refused_at_the_door(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        picture, pipe, link = desk.folder / "a.png", desk.folder / "pipe", desk.folder / "link"
        picture.write_bytes(b"\x89PNG\0\xff")
        os.mkfifo(pipe)
        link.symlink_to("/etc/passwd")
        big = desk.folder / "big.txt"
        big.write_text("x" * 300_000)
        path = str(desk.notes)
        assert (await desk.wants(path=path, content="x" * 300_000)).error == "TOO_LARGE"
        assert (await desk.wants(path=path, content="a\0b")).error == "BINARY"
        assert (await desk.wants(path=str(picture), content="x")).error == "BINARY"
        assert (await desk.wants(path=str(pipe), content="x")).error == "NOT_A_FILE"
        assert (await desk.wants(path=str(big), content="x")).error == "NOT_A_FILE"
        assert (await desk.wants("edit", path=path, old="zwei", new="2")).error == "NOT_FOUND"
        assert (await desk.wants("edit", path=path, old="e", new="E")).error == "NOT_UNIQUE"
        gone = str(desk.folder / "gone.md")
        assert (await desk.wants("edit", path=gone, old="a", new="b")).error == "FILE_NOT_FOUND"
        same = await desk.wants(path=path, content=BEFORE)
        assert (same.error, same.text) == (None, f"{path} holds exactly this already.")
        assert desk.kinds() == []

    at_the_desk(tmp_path, story)


def test_the_same_write_twice_waits_once(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        assert await desk.held() == await desk.held()
        assert await desk.held("other\n") != await desk.held()
        assert desk.kinds() == ["held", "held"]

    at_the_desk(tmp_path, story)


def test_more_than_anybody_could_look_at_are_not_held(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        for number in range(MOST_PENDING):
            await desk.held(f"{number}\n")
        refused = await desk.wants(path=str(desk.notes), content="one more\n")
        assert refused.error == "DENIED"
        assert "wait for the operator already" in refused.text

    at_the_desk(tmp_path, story)


def test_a_kind_that_nothing_can_do_is_refused_at_the_door(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        for action in ("skill.create", "skill.patch", "rule.add", "tool.call", "memory.add",
                       "run.ship"):  # fmt: skip
            with pytest.raises(TrustError, match="Nothing here can do"):
                await desk.gateway.core.approving.hold(
                    Proposal(action, "t", {}, None, ORIGIN, "why", "")
                )
        assert desk.kinds() == []

    at_the_desk(tmp_path, story)


# --- the operator's word -------------------------------------------------------------------------


def test_an_approved_write_is_done_exactly_and_once(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        desk.notes.chmod(0o640)
        name = await desk.held()
        done = await desk.ask("approve", name)
        assert done.approval.status == "executed"
        assert done.result == f"Replaced {desk.notes} ({len(AFTER)} bytes)."
        assert (done.decided_by, done.can_undo) == ("you, through the CLI", True)
        assert desk.notes.read_text() == AFTER
        assert desk.notes.stat().st_mode & 0o777 == 0o640
        assert [path.name for path in desk.folder.iterdir()] == ["notes.md"]
        assert desk.kinds() == ["held", "decided", "executed"]

    at_the_desk(tmp_path, story)


def test_a_new_file_is_made_with_its_folders(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        fresh = desk.folder / "a" / "b" / "new.md"
        name = await desk.held("new\n", fresh)
        assert (await desk.views())[0].summary == f"write {fresh} (a new file, 1 line)"
        assert not fresh.parent.exists()
        await desk.ask("approve", name)
        assert fresh.read_text() == "new\n"

    at_the_desk(tmp_path, story)


def test_a_rejected_one_is_never_done(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        done = await desk.gateway.ask("approvals.reject", BROWSER, id=name)
        assert (done.approval.status, done.decided_by) == ("rejected", "you, on the dashboard")
        with pytest.raises(ConflictError):
            await desk.ask("approve", name)
        with pytest.raises(ConflictError):
            await desk.ask("redo", name)
        assert desk.notes.read_text() == BEFORE
        assert desk.kinds() == ["held", "decided"]

    at_the_desk(tmp_path, story)


def test_a_second_decision_says_who_decided_and_when(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        await desk.gateway.ask("approvals.approve", BROWSER, id=name)
        await asyncio.sleep(3600)
        for verb in ("approve", "reject"):
            with pytest.raises(ConflictError, match="approved already, by you, on the") as caught:
                await desk.ask(verb, name)
            assert caught.value.facts["decided_by"] == "you, on the dashboard"
            assert caught.value.facts["decided_at"] == "2026-03-02T06:00:00.000Z"
            assert caught.value.facts["status"] == "executed"
        assert desk.kinds() == ["held", "decided", "executed"]

    at_the_desk(tmp_path, story)


def test_of_two_clicks_at_once_one_decides(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        came = await asyncio.gather(
            *(desk.ask(verb, name) for verb in ("approve", "reject", "approve", "reject")),
            return_exceptions=True,
        )
        assert [isinstance(each, ConflictError) for each in came] == [False, True, True, True]
        assert desk.kinds() == ["held", "decided", "executed"]

    at_the_desk(tmp_path, story)


def test_an_unknown_one_is_wrong_usage(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        for verb in ("show", "approve", "reject", "redo", "undo", "forget"):
            with pytest.raises(UsageError, match="no held action 'ap-0'"):
                await desk.ask(verb, "ap-0")

    at_the_desk(tmp_path, story)


# --- everything is looked at again ---------------------------------------------------------------


def test_a_target_that_changed_since_is_left_alone_and_what_changed_is_said(
    tmp_path: Path,
) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        desk.notes.write_text("mine\n")
        shown = await desk.ask("show", name)
        assert shown.changed is not None
        assert "changed since" in shown.changed
        with pytest.raises(ConflictError, match=r"changed since: it held .* Nothing was done"):
            await desk.ask("approve", name)
        assert desk.notes.read_text() == "mine\n"
        assert desk.kinds() == ["held", "decided", "refused"]
        assert (await desk.ask("show", name)).approval.status == "refused"

    at_the_desk(tmp_path, story)


def test_a_target_that_is_gone_or_was_made_since_is_left_alone(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        fresh = desk.folder / "new.md"
        one, other = await desk.held(), await desk.held("new\n", fresh)
        desk.notes.unlink()
        fresh.write_text("mine\n")
        with pytest.raises(ConflictError, match="is gone"):
            await desk.ask("approve", one)
        with pytest.raises(ConflictError, match="was made since"):
            await desk.ask("approve", other)
        assert fresh.read_text() == "mine\n"
        assert not desk.notes.exists()

    at_the_desk(tmp_path, story)


def test_a_target_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        outside = tmp_path / "outside.txt"
        outside.write_text(BEFORE)
        name = await desk.held()
        desk.notes.unlink()
        desk.notes.symlink_to(outside)
        with pytest.raises(ConflictError, match="no regular file"):
            await desk.ask("approve", name)
        assert outside.read_text() == BEFORE

    at_the_desk(tmp_path, story)


def test_a_folder_on_the_way_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        inner, outside = desk.folder / "inner", tmp_path / "outside"
        inner.mkdir()
        outside.mkdir()
        name = await desk.held("x\n", inner / "a.md")
        inner.rmdir()
        inner.symlink_to(outside)
        with pytest.raises(ConflictError, match="behind a link"):
            await desk.ask("approve", name)
        assert list(outside.iterdir()) == []

    at_the_desk(tmp_path, story)


def test_a_grant_that_was_taken_back_keeps_it_from_being_done(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        await desk.gateway.ask("folders.remove", path=str(desk.folder))
        with pytest.raises(ConflictError, match="no granted folder holds"):
            await desk.ask("approve", name)
        assert desk.notes.read_text() == BEFORE

    at_the_desk(tmp_path, story)


def test_a_tool_that_was_taken_back_keeps_it_from_being_done(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        core = desk.gateway.core
        core.manifest = msgspec.structs.replace(core.manifest, tools=("read",))
        with pytest.raises(ConflictError, match="the tool write was taken back"):
            await desk.ask("approve", name)
        assert desk.notes.read_text() == BEFORE

    at_the_desk(tmp_path, story)


def test_what_the_operator_did_by_hand_meanwhile_counts_as_done(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        desk.notes.write_text(AFTER)
        done = await desk.ask("approve", name)
        assert (done.approval.status, done.can_undo) == ("executed", False)
        with pytest.raises(ConflictError, match="no longer kept"):
            await desk.ask("undo", name)

    at_the_desk(tmp_path, story)


def test_a_stale_one_is_held_anew_on_what_stands_there(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        outcome = await desk.wants("edit", path=str(desk.notes), old="two", new="2")
        assert outcome.error == "HELD"
        (old,) = await desk.views()
        with pytest.raises(ConflictError, match="as it was held"):
            await desk.ask("redo", old.id)
        desk.notes.write_text("zero\ntwo\n")
        fresh = await desk.ask("redo", old.id)
        assert (fresh.text, fresh.approval.status) == ("zero\n2\n", "pending")
        assert desk.notes.read_text() == "zero\ntwo\n", "it waits again"
        shown = await desk.ask("show", old.id)
        assert (shown.approval.status, shown.redone_as) == ("redone", fresh.approval.id)
        with pytest.raises(ConflictError, match=f"as {fresh.approval.id}"):
            await desk.ask("approve", old.id)
        await desk.ask("approve", fresh.approval.id)
        assert desk.notes.read_text() == "zero\n2\n"
        assert desk.kinds() == ["held", "held", "redone", "decided", "executed"]

    at_the_desk(tmp_path, story)


def test_a_stale_whole_file_is_held_anew_as_another(tmp_path: Path) -> None:
    """Its text is the same on each version of the file; what it would replace is not."""

    async def story(desk: Desk) -> None:
        old = await desk.held()
        desk.notes.write_text("zero\n")
        fresh = (await desk.ask("redo", old)).approval
        assert (fresh.id != old, fresh.status) == (True, "pending")
        assert [each.id for each in await desk.views(pending=True)] == [fresh.id]
        await desk.ask("approve", fresh.id)
        assert desk.notes.read_text() == AFTER

    at_the_desk(tmp_path, story)


def test_what_is_asked_again_after_the_file_changed_is_held_on_the_file_as_it_is(
    tmp_path: Path,
) -> None:
    async def story(desk: Desk) -> None:
        stale = await desk.held()
        desk.notes.write_text("zero\n")
        fresh = await desk.held()
        assert fresh != stale
        assert (await desk.ask("redo", stale)).approval.id == fresh, "it waits already"
        await desk.ask("approve", fresh)
        assert desk.notes.read_text() == AFTER

    at_the_desk(tmp_path, story)


def test_what_is_put_back_in_the_middle_of_a_redo_takes_not_its_own_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(desk: Desk) -> None:
        old = await desk.held()
        desk.notes.write_text("zero\n")
        again = FileWrites.proposed_again

        async def late(self: FileWrites, held: Held) -> Proposal:
            desk.notes.write_text(BEFORE)
            return await again(self, held)

        monkeypatch.setattr(FileWrites, "proposed_again", late)
        fresh = (await desk.ask("redo", old)).approval
        assert (fresh.id != old, fresh.status) == (True, "pending")

    at_the_desk(tmp_path, story)


def test_what_cannot_be_made_anew_says_why(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        await desk.wants("edit", path=str(desk.notes), old="two", new="2")
        (old,) = await desk.views()
        desk.notes.write_text("nothing of it\n")
        with pytest.raises(ConflictError, match="does not stand in"):
            await desk.ask("redo", old.id)
        desk.notes.unlink()
        desk.notes.symlink_to("/etc/passwd")
        with pytest.raises(ConflictError, match="no regular file"):
            await desk.ask("redo", old.id)
        name = await desk.held("x\n", desk.folder / "new.md")
        (desk.folder / "new.md").write_text("x\n")
        with pytest.raises(ConflictError, match="exactly this already"):
            await desk.ask("redo", name)

    at_the_desk(tmp_path, story)


# --- always --------------------------------------------------------------------------------------


def test_always_lets_later_writes_of_this_file_through_and_logs_each(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        shown = await desk.ask("approve", name, always=True)
        assert shown.approval.always
        outcome = await desk.wants(path=str(desk.notes), content="later\n")
        assert (outcome.error, outcome.text) == (None, f"Replaced {desk.notes} (6 bytes).")
        assert desk.notes.read_text() == "later\n"
        assert desk.kinds() == ["held", "decided", "executed"] * 2
        said = [line for line in desk.gateway.lines("approvals") if isinstance(line, Decided)]
        assert (said[1].through, said[1].always) == (f"always:{name}", False)
        latest = (await desk.views())[0]
        assert (await desk.ask("show", latest.id)).decided_by == (
            f"your word on {name}, which stands for each"
        )
        await desk.held("x\n", desk.folder / "other.md")

    at_the_desk(tmp_path, story)


def test_a_word_ends_when_it_is_taken_back(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        await desk.ask("approve", name, always=True)
        assert not (await desk.ask("forget", name)).approval.always
        with pytest.raises(ConflictError, match="No `always` stands"):
            await desk.ask("forget", name)
        await desk.held("later\n")

    at_the_desk(tmp_path, story)


@pytest.mark.parametrize("which", [0, 1])
def test_of_two_words_on_one_file_one_stands_and_forgetting_either_ends_it(
    tmp_path: Path, which: int
) -> None:
    async def story(desk: Desk) -> None:
        names = [await desk.held("first\n"), ""]
        desk.notes.write_text("first\n")
        names[1] = await desk.held("second\n")
        for name in names:
            await desk.ask("approve", name, always=True)
        assert [each.id for each in await desk.views() if each.always] == [names[1]]
        assert (await desk.wants(path=str(desk.notes), content="through\n")).error is None
        await desk.ask("forget", names[which])
        assert [each.id for each in await desk.views() if each.always] == []
        await desk.held("later\n")
        for name in names:
            with pytest.raises(ConflictError, match="No `always` stands"):
                await desk.ask("forget", name)

    at_the_desk(tmp_path, story)


def test_a_word_ends_when_what_it_let_through_is_undone(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        await desk.ask("approve", name, always=True)
        assert (await desk.wants(path=str(desk.notes), content="later\n")).error is None
        await desk.ask("undo", (await desk.views())[0].id)
        assert desk.notes.read_text() == AFTER
        await desk.held("later still\n")

    at_the_desk(tmp_path, story)


def test_a_word_does_not_outlive_the_grant_of_its_folder(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        await desk.ask("approve", await desk.held(), always=True)
        await desk.gateway.ask("folders.remove", path=str(desk.folder))
        await grant(desk.gateway, desk.folder)
        await desk.held("later\n")

    at_the_desk(tmp_path, story)


def test_what_goes_wrong_under_a_word_is_told_to_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(desk: Desk) -> None:
        await desk.ask("approve", await desk.held(), always=True)
        monkeypatch.setattr("os.rename", _full)
        failed = await desk.wants(path=str(desk.notes), content="later\n")
        assert (failed.error, "No space left" in failed.text) == ("IO_ERROR", True)
        assert desk.notes.read_text() == AFTER
        await desk.gateway.ask("folders.add", path=str(desk.folder))

    at_the_desk(tmp_path, story)


def _full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


# --- undo ----------------------------------------------------------------------------------------


def test_undo_puts_exact_bytes_back(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        before = b"eins\r\nzwei"
        desk.notes.write_bytes(before)
        name = await desk.held()
        await desk.ask("approve", name)
        done = await desk.ask("undo", name)
        assert (done.approval.status, done.can_undo) == ("undone", False)
        assert desk.notes.read_bytes() == before
        with pytest.raises(ConflictError, match="undone already"):
            await desk.ask("undo", name)

    at_the_desk(tmp_path, story)


def test_undo_takes_away_a_file_that_was_not_there(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        fresh = desk.folder / "new.md"
        name = await desk.held("new\n", fresh)
        await desk.ask("approve", name)
        await desk.ask("undo", name)
        assert not fresh.exists()

    at_the_desk(tmp_path, story)


@pytest.mark.parametrize("edited", ["mine\n", None, "link"])
def test_undo_leaves_what_was_changed_since(tmp_path: Path, edited: str | None) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        await desk.ask("approve", name)
        desk.notes.unlink()
        if edited == "link":
            desk.notes.symlink_to("/etc/passwd")
        elif edited is not None:
            desk.notes.write_text(edited)
        with pytest.raises(ConflictError, match="changed after it was written"):
            await desk.ask("undo", name)
        assert desk.kinds()[-1] == "executed"

    at_the_desk(tmp_path, story)


def test_what_was_put_back_by_hand_counts_as_undone(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        await desk.ask("approve", name)
        desk.notes.write_text(BEFORE)
        assert (await desk.ask("undo", name)).approval.status == "undone"

    at_the_desk(tmp_path, story)


def test_what_was_not_done_cannot_be_undone(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        with pytest.raises(ConflictError, match="was not done"):
            await desk.ask("undo", name)

    at_the_desk(tmp_path, story)


def test_the_backup_that_is_not_what_was_kept_restores_nothing(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        await desk.ask("approve", name)
        kept = desk.gateway.core.agent.approvals_begun / f"{name}.before"
        kept.write_text("forged\n")
        with pytest.raises(GnomonError, match="not what was kept"):
            await desk.ask("undo", name)
        kept.unlink()
        with pytest.raises(GnomonError, match="cannot be used"):
            await desk.ask("undo", name)
        kept.with_suffix(".json").write_text("{")
        assert not (await desk.ask("show", name)).can_undo
        assert desk.notes.read_text() == AFTER

    at_the_desk(tmp_path, story)


# --- time ----------------------------------------------------------------------------------------


def test_the_operator_is_reminded_once_and_after_seven_days_it_is_over(tmp_path: Path) -> None:
    """Lives of some beats each; the days go by between them."""

    async def run() -> None:
        world, name = World(tmp_path / "home"), ""

        async def live(after: float, told: list[str]) -> None:
            nonlocal name
            await asyncio.sleep(after)
            async with world.up() as gateway:
                desk = Desk(world, gateway, tmp_path / "data")
                await grant(gateway, desk.folder)
                name = name or await desk.held()
                await asyncio.sleep(180)
                assert desk.kinds() == told

        await live(0, ["held"])
        await live(3 * DAY - 600, ["held"])
        await live(600, ["held", "reminded"])
        await live(4 * DAY - 1200, ["held", "reminded"])
        await live(600, ["held", "reminded", "expired"])
        async with world.up() as gateway:
            desk = Desk(world, gateway, tmp_path / "data")
            with pytest.raises(ConflictError, match="Its time was over at 2026-03-09"):
                await desk.ask("approve", name)
            assert list(desk.folder.iterdir()) == []
            wants = f"Wants to write {desk.notes} (a new file, 3 lines)"
            titles = [each.title for each in gateway.surfaces()]
            assert titles == [wants, "1 action waits for you"]
            assert (await desk.ask("redo", name)).approval.status == "pending"

    in_virtual_time(run)


def test_it_is_over_at_its_time_whether_or_not_a_beat_came(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path / "home")
        async with world.up() as gateway:
            desk = Desk(world, gateway, tmp_path / "data")
            await grant(gateway, desk.folder)
            name = await desk.held()
        await asyncio.sleep(7 * DAY)
        async with world.up() as gateway:
            desk = Desk(world, gateway, tmp_path / "data")
            with pytest.raises(ConflictError, match="time was over"):
                await desk.ask("approve", name)
            assert (await desk.views())[0].status == "expired"

    in_virtual_time(run)


def test_after_a_restart_it_still_waits(tmp_path: Path) -> None:
    async def run() -> None:
        world = World(tmp_path / "home")
        async with world.up() as gateway:
            desk = Desk(world, gateway, tmp_path / "data")
            await grant(gateway, desk.folder)
            desk.notes.write_text(BEFORE)
            name = await desk.held()
            word = await desk.held("w\n", desk.folder / "word.md")
            await desk.ask("approve", word, always=True)
        async with world.up() as gateway:
            desk = Desk(world, gateway, tmp_path / "data")
            (view, _) = await desk.views()
            assert (view.id, view.status) == (name, "pending")
            assert [each.id for each in await desk.views(pending=True)] == [name]
            await desk.ask("approve", name)
            assert desk.notes.read_text() == AFTER
            later = await desk.wants(path=str(desk.folder / "word.md"), content="x\n")
            assert later.error is None, "so does the operator's word"
            await desk.ask("undo", name)
            assert desk.notes.read_text() == BEFORE

    in_virtual_time(run)


def test_what_a_refusing_disk_left_is_finished_at_a_later_beat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deed was done, its line was not taken; then a mark cannot be read. Each is told once."""

    async def story(desk: Desk) -> None:
        approving = desk.gateway.core.approving
        name, write = await desk.held(), Approving._write

        async def refusing(self: Approving, role: Role, line: Body) -> None:
            if isinstance(line, Executed):
                raise LedgerClosedError("approvals is closed: a sync failed.")
            await write(self, role, line)

        monkeypatch.setattr(Approving, "_write", refusing)
        with pytest.raises(LedgerClosedError):
            await desk.ask("approve", name)
        assert desk.notes.read_text() == AFTER
        assert (await desk.ask("show", name)).approval.status == "approved"
        for _ in range(3):
            await approving.beat()
        journal = desk.gateway.core.agent.journal.read_text()
        assert journal.count("is not finished yet") == 1
        monkeypatch.setattr(Approving, "_write", write)
        mark = desk.gateway.core.agent.approvals_begun / f"{name}.json"
        kept = mark.read_text()
        mark.write_text("{")
        await approving.beat()
        assert "is not what Gnomon wrote" in desk.gateway.core.agent.journal.read_text()
        assert desk.kinds() == ["held", "decided"]
        mark.write_text(kept)
        await approving.beat()
        assert desk.kinds() == ["held", "decided", "executed"]
        await desk.ask("undo", name)
        assert desk.notes.read_text() == BEFORE

    at_the_desk(tmp_path, story)


def test_a_kind_that_nothing_can_do_any_more_is_not_decided(tmp_path: Path) -> None:
    """As after an update that took its executor away."""

    async def story(desk: Desk) -> None:
        core = desk.gateway.core
        name = await desk.held()
        held = core.approving.held(core.approving.state().known(name))
        other = msgspec.structs.replace(held, approval_id="ap-x", action="tool.call")
        await core.stores.append("approvals", other)
        with pytest.raises(TrustError, match="Nothing here can do"):
            await desk.ask("approve", "ap-x")
        assert desk.kinds() == ["held", "held"]
        shown = await desk.ask("show", "ap-x")
        assert (shown.approval.status, shown.text, shown.changed) == ("pending", "", None)
        await desk.ask("reject", "ap-x")

    at_the_desk(tmp_path, story)


def test_whoever_decides_is_here(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        await asyncio.sleep(3600)
        assert not desk.gateway.core.is_near(5)
        with pytest.raises(TrustError):
            await desk.gateway.ask("approvals.reject", None, id=name)
        assert not desk.gateway.core.is_near(5)
        await desk.ask("reject", name)
        assert desk.gateway.core.is_near(5)

    at_the_desk(tmp_path, story)


# --- told ----------------------------------------------------------------------------------------


def test_that_it_waits_is_told_by_a_rule_and_seen_to_by_the_decision(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        (surface,) = desk.gateway.surfaces()
        assert (surface.surface_kind, surface.origin) == ("pending", "rule")
        shown = await desk.gateway.ask("inbox.show", surface_id=surface.surface_id)
        assert f"gnomon approvals show {name}" in shown.item.body
        await desk.ask("reject", name)
        (outcome,) = desk.gateway.outcomes(surface.surface_id)
        assert (outcome.outcome, outcome.source) == ("acted", "agenda_resolved")

    at_the_desk(tmp_path, story)


def test_a_decision_long_after_leaves_the_item_as_it_was(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        await asyncio.sleep(900)
        await desk.ask("approve", name)
        (surface,) = desk.gateway.surfaces()
        assert [o.outcome for o in desk.gateway.outcomes(surface.surface_id)] == ["ignored"]
        assert "stays open" not in desk.gateway.core.agent.journal.read_text()

    at_the_desk(tmp_path, story, fitness=TEN_MINUTES)


def test_while_it_is_paused_nothing_is_told_and_all_the_same_it_waits(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        await desk.gateway.ask("kernel.pause")
        await desk.held()
        assert desk.gateway.surfaces() == []
        assert len(await desk.views(pending=True)) == 1

    at_the_desk(tmp_path, story)


def test_what_cannot_be_told_is_told_to_the_journal(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        core = desk.gateway.core
        memo = core.agent.state / "approval-surfaces.json"
        memo.write_text("{")
        name = await desk.held()
        memo.write_text("{")
        await desk.ask("reject", name)
        journal = core.agent.journal.read_text()
        assert f"The item about {name} stays open" in journal
        shutil.rmtree(core.agent.surfaces)
        core.agent.surfaces.write_text("no folder")
        other = await desk.held("x\n")
        assert "It could not be told that something waits" in core.agent.journal.read_text()
        assert (await desk.ask("reject", other)).approval.status == "rejected"

    at_the_desk(tmp_path, story)


def test_the_list_shows_what_waits_first_and_one_conversation_alone(tmp_path: Path) -> None:
    async def story(desk: Desk) -> None:
        desk.in_turn("one", "s-1")
        first = await desk.held("1\n")
        desk.in_turn("two", "s-2")
        second = await desk.held("2\n")
        third = await desk.held("3\n")
        await desk.ask("reject", first)
        assert [each.id for each in await desk.views()] == [second, third, first]
        assert [each.id for each in await desk.views(session="s-1")] == [first]
        assert [each.id for each in await desk.views(limit=1)] == [second]

    at_the_desk(tmp_path, story)


def test_the_list_and_a_reminder_read_no_payload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may be large, and a list is asked for wherever something only counts."""

    async def story(desk: Desk) -> None:
        names = [await desk.held("1\n"), await desk.held("2\n")]
        rows = await desk.views()

        def read(_: Approving, approval: Approval) -> Held:
            raise AssertionError(f"the line of {approval.approval_id} was read")

        monkeypatch.setattr(Approving, "held", read)
        assert await desk.views() == rows
        assert sorted(each.id for each in rows) == sorted(names)
        await asyncio.sleep(3 * DAY + 1)
        await desk.gateway.core.approving.beat()
        assert "reminded" in desk.kinds()

    at_the_desk(tmp_path, story)


# --- only the operator ---------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["approve", "reject", "redo", "undo", "forget"])
@pytest.mark.parametrize("door", [None, CLIENT])
def test_nobody_but_the_operator_decides(tmp_path: Path, verb: str, door: object) -> None:
    async def story(desk: Desk) -> None:
        name = await desk.held()
        if verb in ("undo", "forget"):
            await desk.ask("approve", name, always=True)
        before = desk.kinds()
        with pytest.raises(TrustError, match="Only the operator"):
            await desk.gateway.ask(f"approvals.{verb}", door, id=name)  # pyright: ignore[reportArgumentType]
        assert desk.kinds() == before
        operation = desk.gateway.operations[f"approvals.{verb}"]
        assert (operation.reads, operation.authority) == (False, "operator")
        assert (await desk.gateway.ask("approvals.show", CLI, id=name)).approval.id == name

    at_the_desk(tmp_path, story)
