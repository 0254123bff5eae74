"""The approvals verbs, and the cards in a conversation, against a Gnomon that answers from a
table.
"""

import io
import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gnomon.cli.chat_session import ChatSession
from gnomon.cli.output import Output
from gnomon.domain.errors import ConflictError, GnomonError, UsageError
from gnomon.domain.json_value import Fields
from gnomon.domain.views_change import ApprovalShown, ApprovalView
from tests.fake_gnomon import FakeConnection, Ran, run_cli
from tests.stages.test_cli_chat import gnomon, typed

VIEW = ApprovalView(
    id="ap-1",
    change_id=None,
    action="file.write",
    target="/data/a.md",
    payload_sha256="b" * 64,
    target_sha256="a" * 64,
    created_at="2026-03-02T08:00:00.000Z",
    expires_at="2026-03-09T08:00:00.000Z",
    status="pending",
    why="You said: tidy\x1b[2J it.",
    summary="write /data/a.md (+1 -1 lines)",
    session="s-new",
    untrusted=("codex", "files"),
)
SHOWN = ApprovalShown(
    approval=VIEW,
    payload={"content": "x\n"},
    text="x\n",
    diff="--- /data/a.md\n+++ /data/a.md\n@@ -1,1 +1,1 @@\n-y\n+x\u2028-z\x1b[31m\n",
    changed=None,
    decided_by=None,
    decided_at=None,
    result=None,
    can_always=True,
)


def as_it_is(status: str, **more: Any) -> ApprovalShown:
    always = more.pop("always", False)
    view = msgspec.structs.replace(VIEW, status=status, always=always)
    return msgspec.structs.replace(SHOWN, approval=view, can_always=False, **more)


def test_the_list_has_the_promised_fields() -> None:
    ran = run_cli(FakeConnection({"approvals.list": [VIEW]}), "approvals", "list", "--json")
    (row,) = json.loads(ran.out)
    assert set(row) >= {
        "id", "change_id", "action", "target", "payload_sha256", "target_sha256", "created_at",
        "expires_at", "status",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("pending", "waits for you until 2026-03-09 08:00 UTC"),
        ("approved", "approved, not done yet"),
        ("executed", "done"),
        ("failed", "approved, failed"),
        ("refused", "approved, not done: it changed"),
        ("rejected", "you said no"),
        ("redone", "held anew"),
        ("expired", "expired"),
        ("undone", "done and undone"),
    ],
)
def test_the_list_says_where_each_stands(status: str, said: str) -> None:
    connection = FakeConnection({"approvals.list": [as_it_is(status, always=True).approval]})
    ran = run_cli(connection, "approvals", "list", "--pending", "--limit", "3")
    assert f"{said}, and always  write /data/a.md" in ran.out
    assert connection.asked == [("approvals.list", {"pending": True, "limit": 3})]


def test_an_empty_list_says_what_would_come_there() -> None:
    ran = run_cli(FakeConnection({"approvals.list": []}), "approvals", "list")
    assert ran.out == (
        "Nothing waits. Gnomon asks here before it writes into a folder that you gave it for "
        "reading.\n"
    )
    page = json.loads(files("gnomon.gateway.dashboard").joinpath("labels.json").read_bytes())
    assert page["approval"]["empty"] == ran.out.strip()


def test_one_is_shown_with_all_that_a_decision_needs() -> None:
    ran = run_cli(FakeConnection({"approvals.show": SHOWN}), "approvals", "show", "ap-1")
    lines = ran.out.splitlines()
    assert lines[1] == "Wants to write /data/a.md (+1 -1 lines)"
    assert "Why: You said: tidy\\x1b[2J it." in lines
    assert "Based on: codex, files (not your words)" in lines
    assert "If you approve: exactly this; undo any time." in lines
    assert "If you do nothing: it expires 2026-03-09 08:00 UTC." in lines
    assert "+x\\u2028-z\\x1b[31m" in lines, "no sign of the text begins a line"
    assert [line for line in lines if line.startswith("  gnomon")] == [
        "  gnomon approvals approve ap-1",
        "  gnomon approvals approve ap-1 --always",
        "  gnomon approvals reject ap-1",
    ]


def test_a_diff_is_coloured_on_a_terminal_alone() -> None:
    connection = FakeConnection({"approvals.show": SHOWN})
    assert "\x1b" not in run_cli(connection, "approvals", "show", "ap-1").out
    coloured = run_cli(connection, "approvals", "show", "ap-1", colour=True).out
    assert "\x1b[31m-y\x1b[0m" in coloured
    assert "\x1b[32m+x" in coloured


def test_a_stale_one_says_what_changed_and_offers_to_hold_it_anew() -> None:
    stale = msgspec.structs.replace(
        SHOWN, changed="/data/a.md is gone.", can_redo=True, can_always=False
    )
    ran = run_cli(FakeConnection({"approvals.show": stale}), "approvals", "show", "ap-1")
    assert "/data/a.md is gone. Nothing was written." in ran.out
    assert "gnomon approvals redo ap-1" in ran.out
    assert "approvals approve" not in ran.out


def test_one_that_is_settled_says_by_whom_and_what_came_of_it() -> None:
    done = as_it_is(
        "executed",
        decided_by="you, through the CLI",
        decided_at="2026-03-02T09:00:00.000Z",
        result="Replaced /data/a.md (2 bytes).",
        can_undo=True,
        always=True,
    )
    out = run_cli(FakeConnection({"approvals.show": done}), "approvals", "show", "ap-1").out
    assert "Decided by you, through the CLI, 2026-03-02 09:00 UTC." in out
    assert "Replaced /data/a.md (2 bytes)." in out
    assert "gnomon approvals undo ap-1\n  gnomon approvals forget ap-1" in out
    redone = as_it_is("redone", redone_as="ap-2", diff="")
    redone = msgspec.structs.replace(
        redone, approval=msgspec.structs.replace(redone.approval, untrusted=(), action="rule.add")
    )
    out = run_cli(FakeConnection({"approvals.show": redone}), "approvals", "show", "ap-1").out
    assert "It was held anew as ap-2." in out
    assert "Based on" not in out


DONE = as_it_is("executed", result="Replaced /data/a.md (2 bytes).", can_undo=True)


@pytest.mark.parametrize(
    ("verb", "answer", "said"),
    [
        ("approve", DONE, "Replaced /data/a.md (2 bytes).\ngnomon approvals undo ap-1"),
        ("approve", as_it_is("executed", always=True), "done without asking, until `approvals f"),
        ("approve", as_it_is("executed", result=None), "Done."),
        ("reject", as_it_is("rejected"), "Nothing was done, and nothing will be."),
        ("undo", as_it_is("undone"), "/data/a.md holds again what it held before."),
        ("forget", as_it_is("refused"), "ap-1: approved, not done: it changed."),
        ("redo", SHOWN, "Wants to write /data/a.md"),
    ],
)
def test_an_act_names_the_action_and_says_what_came_of_it(
    verb: str, answer: ApprovalShown, said: str
) -> None:
    connection = FakeConnection({f"approvals.{verb}": answer})
    ran = run_cli(connection, "approvals", verb, "ap-1")
    assert (ran.code, said in ran.out) == (0, True), ran.out
    ((name, given),) = connection.asked
    assert (name, given["id"]) == (f"approvals.{verb}", "ap-1")
    ran = run_cli(connection, "approvals", verb, "ap-1", "--json")
    assert json.loads(ran.out)["approval"]["id"] == "ap-1"


def test_always_is_said_and_never_meant() -> None:
    connection = FakeConnection({"approvals.approve": DONE})
    run_cli(connection, "approvals", "approve", "ap-1")
    run_cli(connection, "approvals", "approve", "ap-1", "--always")
    assert [given["always"] for _, given in connection.asked] == [False, True]


def test_what_is_settled_or_unknown_ends_with_its_own_code() -> None:
    settled = FakeConnection({"approvals.approve": ConflictError("It was approved already.")})
    ran = run_cli(settled, "approvals", "approve", "ap-1")
    assert (ran.code, "approved already" in ran.err) == (1, True)
    unknown = FakeConnection({"approvals.show": UsageError("There is no held action 'ap-9'.")})
    assert run_cli(unknown, "approvals", "show", "ap-9").code == 2


# --- a text of one's own -------------------------------------------------------------------------

MINE = as_it_is("executed", result="Replaced /data/a.md (5 bytes).", can_undo=True)
CAN_EDIT = msgspec.structs.replace(SHOWN, can_edit=True, text="theirs\r\n")


def edits(connection: FakeConnection) -> list[Fields]:
    return [given for name, given in connection.asked if name == "approvals.edit"]


def an_editor(folder: Path, script: str) -> dict[str, str]:
    """A program that is called with the file, as editors are."""
    program = folder / "an editor"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    return {"EDITOR": f"'{program}' --wait"}


def edit_on_a_terminal(
    environ: dict[str, str], *options: str, **answers: object
) -> tuple[FakeConnection, Ran]:
    connection = FakeConnection(
        {"approvals.show": CAN_EDIT, "approvals.edit": MINE}
        | {f"approvals.{verb}": answer for verb, answer in answers.items()}
    )
    words = ("approvals", "edit", "ap-1", *options)
    return connection, run_cli(connection, *words, environ=environ, interactive=True)


def test_a_file_or_a_pipe_gives_the_text_to_the_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\ufeffmein\r\n\u200b\n"
    mine = tmp_path / "mine.md"
    mine.write_bytes(text.encode())
    connection = FakeConnection({"approvals.edit": MINE})
    ran = run_cli(connection, "approvals", "edit", "ap-1", "--file", str(mine))
    assert "Replaced /data/a.md (5 bytes).\ngnomon approvals undo ap-1" in ran.out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    ran = run_cli(connection, "approvals", "edit", "ap-1", "--file", "-", "--json")
    assert json.loads(ran.out)["approval"]["status"] == "executed"
    assert edits(connection) == [{"id": "ap-1", "text": text}] * 2


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"", "is empty. Nothing was"), (b"\xff", "not text in UTF-8"), (None, "no s")],
)
def test_what_is_no_text_is_wrong_usage(tmp_path: Path, data: bytes | None, said: str) -> None:
    connection, mine = FakeConnection({}), tmp_path / "mine.md"
    if data is not None:
        mine.write_bytes(data)
    ran = run_cli(connection, "approvals", "edit", "ap-1", "--file", str(mine))
    assert (ran.code, said in ran.err, connection.asked) == (2, True, [])


def test_without_a_terminal_the_text_is_given(tmp_path: Path) -> None:
    connection = FakeConnection({})
    assert run_cli(connection, "approvals", "edit", "ap-1").code == 2
    ran = run_cli(connection, "approvals", "edit", "ap-1", "--json", interactive=True)
    assert (ran.code, "--file PATH" in ran.err) == (2, True)


def test_what_is_saved_in_the_editor_is_approved_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    seen = tmp_path / "seen"
    script = f'cp "$2" {seen}; echo "$2" > {seen}.path; touch "$2~"; printf "mine\\r\\n" > "$2"'
    connection, ran = edit_on_a_terminal(an_editor(tmp_path, script))
    assert ran.code == 0, ran.err
    assert edits(connection) == [{"id": "ap-1", "text": "mine\r\n"}]
    assert seen.read_bytes() == b"theirs\r\n", "to the byte"
    assert seen.with_suffix(".path").read_text().endswith("/text.md\n")
    assert list((tmp_path / "tmp").iterdir()) == []


def test_the_name_of_the_target_reaches_no_editor(tmp_path: Path) -> None:
    strange = msgspec.structs.replace(CAN_EDIT.approval, target="/d/a.`touch x`")
    seen = tmp_path / "seen"
    script = f'echo "$2" > {seen}; echo mine > "$2"'
    shown = msgspec.structs.replace(CAN_EDIT, approval=strange)
    _, ran = edit_on_a_terminal(an_editor(tmp_path, script), show=shown)
    assert ran.code == 0
    assert seen.read_text().endswith("/text.txt\n")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("true", "You left the text as it was. Nothing was approved."),
        ("exit 3", "Your editor ended with 3. Nothing was approved."),
        (': > "$2"', "What you saved is empty. Nothing was approved."),
    ],
)
def test_an_editor_that_is_left_approves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    connection, ran = edit_on_a_terminal(an_editor(tmp_path, script))
    assert (said in ran.err, edits(connection)) == (True, [])
    assert ran.code in (1, 2)
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("editor", ["/nowhere/an-editor", "'unclosed"])
def test_an_editor_that_is_not_there_is_named(editor: str) -> None:
    connection, ran = edit_on_a_terminal({"VISUAL": editor, "EDITOR": "true"})
    assert (ran.code, f"could not be started: {editor}" in ran.err) == (1, True)
    assert edits(connection) == []


def test_a_text_that_could_not_be_done_is_kept_and_said_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    environ = an_editor(tmp_path, 'echo mine > "$2"')
    _, ran = edit_on_a_terminal(environ, edit=ConflictError("/data/a.md is gone."))
    (kept,) = tmp_path.glob("gnomon-edit-*/text.md")
    assert (ran.code, kept.read_text()) == (1, "mine\n")
    assert f"Your text is kept in {kept}.\n/data/a.md is gone." in ran.err


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (msgspec.structs.replace(SHOWN, changed="/data/a.md is gone."), "edited: /data/a.md is go"),
        (as_it_is("rejected"), "ap-1 cannot be edited: you said no."),
    ],
)
def test_what_cannot_be_done_any_more_opens_no_editor(shown: ApprovalShown, said: str) -> None:
    connection, ran = edit_on_a_terminal({"EDITOR": "/nowhere"}, show=shown)
    assert (ran.code, said in ran.err) == (1, True), ran.err
    assert edits(connection) == []


def test_editing_is_offered_where_it_can_be(tmp_path: Path) -> None:
    out = run_cli(FakeConnection({"approvals.show": CAN_EDIT}), "approvals", "show", "ap-1").out
    assert "  gnomon approvals edit ap-1\n  gnomon approvals reject ap-1" in out


# --- cards in a conversation ---------------------------------------------------------------------


def talking(*lines: str | type[BaseException], **answers: object) -> tuple[FakeConnection, str]:
    connection = gnomon(
        **{
            "approvals_list": [VIEW],
            "approvals_show": SHOWN,
            "approvals_approve": DONE,
            "approvals_reject": as_it_is("rejected"),
            **answers,
        }
    )
    out = io.StringIO()
    ChatSession(connection, Output(out=out, err=out, interactive=True)).run(typed(*lines))
    return connection, out.getvalue()


def acts(connection: FakeConnection) -> list[tuple[str, Fields]]:
    verbs = ("approvals.approve", "approvals.reject")
    return [(name, given) for name, given in connection.asked if name in verbs]


@pytest.mark.parametrize(
    ("typed_in", "asked"),
    [
        ("o", [("approvals.approve", {"id": "ap-1", "always": False})]),
        (" Always ", [("approvals.approve", {"id": "ap-1", "always": True})]),
        ("no", [("approvals.reject", {"id": "ap-1"})]),
        ("", []),
        ("what?", []),
    ],
)
def test_a_card_takes_the_operators_word(typed_in: str, asked: list[tuple[str, Fields]]) -> None:
    connection, said = talking("tidy", typed_in)
    assert acts(connection) == asked
    assert "Wants to write /data/a.md" in said
    assert ("It waits. Decide with" in said) == (not asked)
    listed = [given for name, given in connection.asked if name == "approvals.list"]
    assert listed[0] == {"session": "s-new", "pending": True}


def test_each_is_asked_about_once_in_a_conversation() -> None:
    connection, said = talking("tidy", "", "go on", "/cost")
    assert said.count("Wants to") == 1
    assert [name for name, _ in connection.asked].count("approvals.list") == 2


def test_always_is_not_offered_where_it_cannot_stand() -> None:
    only = msgspec.structs.replace(SHOWN, can_always=False)
    asked: Iterator[str] = iter(["tidy", "a"])
    prompts: list[str] = []

    def read(prompt: str) -> str:
        prompts.append(prompt)
        try:
            return next(asked)
        except StopIteration:
            raise EOFError from None

    connection = gnomon(approvals_list=[VIEW], approvals_show=only)
    out = io.StringIO()
    ChatSession(connection, Output(out=out, err=out, interactive=True)).run(read)
    assert "[a]lways" not in "".join(prompts)
    assert acts(connection) == []


@pytest.mark.parametrize("key", [KeyboardInterrupt, EOFError])
def test_to_leave_a_card_leaves_it_waiting(key: type[BaseException]) -> None:
    connection, said = talking("tidy", key, "go on")
    assert acts(connection) == []
    assert "It waits; `gnomon approvals list` shows it." in said


def test_what_goes_wrong_with_a_card_is_told_and_the_conversation_goes_on() -> None:
    connection, said = talking(
        "tidy", "o", "go on", approvals_approve=ConflictError("It changed since.")
    )
    assert "It changed since." in said
    assert [name for name, _ in connection.asked].count("chat.turn") == 2
    _, said = talking("tidy", approvals_list=GnomonError("It cannot be read."))
    assert "It cannot be read." in said


def test_one_message_asks_on_a_terminal_and_only_there(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = gnomon(approvals_list=[VIEW], approvals_show=SHOWN, approvals_approve=DONE)
    run_cli(connection, "chat", "tidy")
    assert acts(connection) == []
    monkeypatch.setattr("sys.stdin", io.StringIO("o\n"))
    run_cli(connection, "chat", "tidy", interactive=True)
    assert len(acts(connection)) == 1
