"""The tools themselves, in this process; the jail around them is tested in tests/redteam."""

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from gnomon.agent import file_tools, search_child, search_tool
from gnomon.agent.outcome import Outcome
from gnomon.agent.places import HostArgument, Places, places
from gnomon.agent.processes import Kept, Programs
from gnomon.agent.tool_host import run_tool
from gnomon.domain.errors import ToolNotFoundError
from gnomon.domain.views import Folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def where(tmp_path: Path, workspace: Path) -> Places:
    for name in ("shared", "readonly", "outside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "note.txt").write_text(f"in {name}\n")
    folders = (
        Folder(path=str(tmp_path / "shared"), writable=True),
        Folder(path=str(tmp_path / "readonly"), writable=False),
    )
    return places(HostArgument(workspace=str(workspace), folders=folders))


async def call(where: Places, name: str, **arguments: object) -> Outcome:
    return await asyncio.wait_for(run_tool(where, Programs(), name, arguments), 30)


async def test_a_file_is_created_with_its_folders_then_read_and_edited(
    where: Places, workspace: Path
):
    made = await call(where, "write", path="a/b/note.txt", content="one\ntwo\n")
    assert made == Outcome(text="Created a/b/note.txt (8 bytes).")
    edited = await call(where, "edit", path="a/b/note.txt", old="two", new="three")
    assert edited == Outcome(text="Edited a/b/note.txt at line 2.")
    assert await call(where, "read", path="a/b/note.txt") == Outcome(text="one\nthree")
    again = await call(where, "write", path="a/b/note.txt", content="")
    assert again.text.startswith("Replaced")
    assert await call(where, "read", path="a/b/note.txt") == Outcome(text="[a/b/note.txt is empty]")
    assert [path.name for path in (workspace / "a/b").iterdir()] == ["note.txt"]


async def test_an_edit_needs_its_passage_exactly_once(where: Places, workspace: Path):
    (workspace / "a.txt").write_text("x\ny\nx\n")
    assert (await call(where, "edit", path="a.txt", old="x", new="z")).error == "NOT_UNIQUE"
    assert (await call(where, "edit", path="a.txt", old="q", new="z")).error == "NOT_FOUND"
    assert (await call(where, "edit", path="b.txt", old="q", new="z")).error == "FILE_NOT_FOUND"
    assert (workspace / "a.txt").read_text() == "x\ny\nx\n"


async def test_an_edit_keeps_a_files_line_ends_and_all_other_bytes(where: Places, workspace: Path):
    (workspace / "dos.txt").write_bytes(b"one\r\ntwo\r\nthree \xff\r\n")
    await call(where, "edit", path="dos.txt", old="one\ntwo", new="1\n2")
    assert (workspace / "dos.txt").read_bytes() == b"1\r\n2\r\nthree \xff\r\n"


async def test_a_replaced_file_keeps_its_mode(where: Places, workspace: Path):
    script = workspace / "run.sh"
    script.write_text("old")
    script.chmod(0o755)
    await call(where, "write", path="run.sh", content="new")
    assert script.stat().st_mode & 0o777 == 0o755


async def test_a_write_that_fails_leaves_the_old_file_and_no_temporary_one(
    where: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch
):
    (workspace / "a.txt").write_text("old")

    def full(_self: Path, _target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert (await call(where, "write", path="a.txt", content="new")).error == "NO_SPACE"
    assert [(p.name, p.read_text()) for p in workspace.iterdir()] == [("a.txt", "old")]


async def test_lines_are_read_in_ranges_and_what_follows_is_said(where: Places, workspace: Path):
    (workspace / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 2001)))
    some = await call(where, "read", path="long.txt", start=10, lines=2)
    assert some.text == "line 10\nline 11\n[more follows: start=12]"
    last = await call(where, "read", path="long.txt", start=2000)
    assert last.text == "line 2000"
    beyond = await call(where, "read", path="long.txt", start=5000)
    assert beyond.text == "[long.txt has fewer than 5000 lines]"


async def test_a_read_is_bounded_however_long_the_lines(where: Places, workspace: Path):
    (workspace / "minified.js").write_text("x" * 3_000_000 + "\nend\n")
    one = await call(where, "read", path="minified.js")
    assert one.text.startswith("x" * 2_000 + "[line goes on: 2998000 more]\nend")
    (workspace / "wide.txt").write_text(("y" * 1_999 + "\n") * 100)
    many = await call(where, "read", path="wide.txt")
    assert len(many.text) < file_tools.TEXT_LIMIT + 100
    assert many.text.endswith("[more follows: start=15]")


async def test_binary_files_are_refused_and_odd_bytes_replaced(where: Places, workspace: Path):
    (workspace / "a.bin").write_bytes(b"\x7fELF\0\0")
    assert (await call(where, "read", path="a.bin")).error == "BINARY"
    (workspace / "latin.txt").write_bytes(b"caf\xe9\n")
    assert (await call(where, "read", path="latin.txt")).text == "caf\ufffd"


async def test_pipes_devices_and_folders_are_no_files(where: Places, workspace: Path):
    os.mkfifo(workspace / "pipe")
    assert (await call(where, "read", path="pipe")).error == "NOT_A_FILE"
    assert (await call(where, "write", path="pipe", content="x")).error == "NOT_A_FILE"
    (workspace / "folder").mkdir()
    assert (await call(where, "read", path="folder")).error == "NOT_A_FILE"
    assert (await call(where, "write", path="folder", content="x")).error == "NOT_A_FILE"
    (workspace / "file").write_text("x")
    assert (await call(where, "list", path="file")).error == "NOT_A_FOLDER"
    assert (await call(where, "write", path="file/below", content="x")).error == "NOT_A_FOLDER"


async def test_a_folder_is_listed_with_kinds_and_sizes(where: Places, workspace: Path):
    assert (await call(where, "list")).text == "[. is empty]"
    (workspace / "b").mkdir()
    (workspace / "a.txt").write_text("12345")
    (workspace / "c").symlink_to("/etc/passwd")
    assert (await call(where, "list")).text == "a.txt (5 bytes)\nb/\nc (link)"


async def test_a_huge_folder_is_listed_in_part_and_counted(where: Places, workspace: Path):
    for number in range(file_tools.LIST_LIMIT + 7):
        (workspace / f"{number:04}").touch()
    rows = (await call(where, "list")).text.splitlines()
    assert len(rows) == file_tools.LIST_LIMIT + 1
    assert rows[-1] == "[500 of 507 entries]"


async def test_what_is_granted_for_reading_is_not_written(where: Places, tmp_path: Path):
    note = str(tmp_path / "readonly/note.txt")
    assert (await call(where, "read", path=note)).text == "in readonly"
    for refused in (
        await call(where, "write", path=note, content="x"),
        await call(where, "edit", path=note, old="in", new="x"),
    ):
        assert refused.error == "DENIED"
        assert "granted for reading" in refused.text
    shared = str(tmp_path / "shared/new.txt")
    assert (await call(where, "write", path=shared, content="x")).error is None


@pytest.mark.parametrize(
    "path", ["../outside/note.txt", "/etc/passwd", "/", "a/../../outside/note.txt"]
)
async def test_what_is_not_granted_is_denied_with_its_reason(where: Places, path: str):
    for refused in (
        await call(where, "read", path=path),
        await call(where, "write", path=path, content="x"),
        await call(where, "list", path=path),
        await call(where, "search", path=path, pattern="x"),
    ):
        assert refused.error == "DENIED"
        assert "outside the workspace" in refused.text


async def test_a_link_in_the_workspace_grants_nothing(
    where: Places, workspace: Path, tmp_path: Path
):
    (workspace / "link").symlink_to(tmp_path / "outside")
    (workspace / "file").symlink_to(tmp_path / "outside/note.txt")
    (workspace / "loop").symlink_to(workspace / "loop")
    assert (await call(where, "read", path="link/note.txt")).error == "DENIED"
    assert (await call(where, "read", path="file")).error == "DENIED"
    assert (await call(where, "write", path="file", content="x")).error == "DENIED"
    assert (await call(where, "read", path="loop")).error == "DENIED"
    found = await call(where, "search", pattern="in outside")
    assert found.text == "[no line matches]"
    assert (tmp_path / "outside/note.txt").read_text() == "in outside\n"


async def test_a_link_between_granted_places_is_followed(where: Places, workspace: Path):
    (workspace / "real.txt").write_text("here\n")
    (workspace / "link.txt").symlink_to("real.txt")
    assert (await call(where, "read", path="link.txt")).text == "here"
    await call(where, "write", path="link.txt", content="there\n")
    assert (workspace / "link.txt").is_symlink()
    assert (workspace / "real.txt").read_text() == "there\n"


async def test_bad_paths_are_answers_not_crashes(where: Places):
    assert (await call(where, "read", path="a\0b")).error == "FILE_NOT_FOUND"
    assert (await call(where, "read", path="x" * 4_000)).error == "IO_ERROR"
    assert (await call(where, "read", path="")).error == "INVALID_ARGUMENTS"
    assert (await call(where, "read", unknown=1)).error == "INVALID_ARGUMENTS"
    with pytest.raises(ToolNotFoundError):
        await call(where, "recall", query="x")
    with pytest.raises(ToolNotFoundError):
        await call(where, "format_disk")


# --- search ------------------------------------------------------------------------------


async def test_a_search_finds_lines_by_pattern_and_file_name(where: Places, workspace: Path):
    (workspace / "a.py").write_text("def one():\n    return 1\n")
    (workspace / "sub").mkdir()
    (workspace / "sub/b.txt").write_bytes(b"return 2 \xff\n")
    (workspace / ".git").mkdir()
    (workspace / ".git/c").write_text("return 3")
    (workspace / "d.bin").write_bytes(b"return\0 4")
    os.mkfifo(workspace / "pipe")
    found = await call(where, "search", pattern=r"return \d")
    assert found.text == "a.py:2: return 1\nsub/b.txt:1: return 2 \ufffd"
    assert (await call(where, "search", pattern="return", files="*.py")).text == "a.py:2: return 1"
    assert (await call(where, "search", pattern="return", path="a.py")).text == "a.py:2: return 1"
    assert (await call(where, "search", pattern="nowhere")).text == "[no line matches]"


def test_what_the_searching_program_finds(workspace: Path):
    """The same as above, without the process around it."""
    (workspace / "b").mkdir()
    (workspace / "b/two.txt").write_text("x\nneedle 2\r\n")
    (workspace / "one.txt").write_text("needle 1\n")
    (workspace / "binary").write_bytes(b"needle\0")
    (workspace / "gone").symlink_to("nowhere")
    (workspace / "node_modules").mkdir()
    (workspace / "node_modules/x").write_text("needle 3")
    os.mkfifo(workspace / "pipe")

    def ask(limit: int = 10, **other: str) -> search_child.Answer:
        given = {"pattern": "needle", "root": str(workspace), "files": "*", **other}
        return search_child.search(
            {
                "pattern": given["pattern"],
                "root": given["root"],
                "files": given["files"],
                "limit": limit,
            }
        )

    both = [f"{workspace}/one.txt:1: needle 1", f"{workspace}/b/two.txt:2: needle 2"]
    assert ask() == {"matches": both, "more": False, "error": None}
    assert ask(limit=1) == {"matches": both[:1], "more": True, "error": None}
    assert ask(files="two*")["matches"] == both[1:]
    assert ask(root=f"{workspace}/one.txt")["matches"] == both[:1]
    assert "unterminated" in str(ask(pattern="(")["error"])


async def test_a_search_that_breaks_is_said(where: Places, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(search_child, "__file__", "/nowhere.py")
    broken = await call(where, "search", pattern="x")
    assert broken.error == "IO_ERROR"
    assert "nowhere" in broken.text


async def test_a_pattern_that_is_none_and_a_path_that_is_missing_are_said(where: Places):
    assert (await call(where, "search", pattern="(")).error == "INVALID_PATTERN"
    assert (await call(where, "search", pattern="x", path="gone")).error == "FILE_NOT_FOUND"


async def test_an_endless_pattern_is_ended(
    where: Places, workspace: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(search_tool, "SECONDS", 0.5)
    (workspace / "a.txt").write_text("a" * 50 + "!\n")
    began = time.monotonic()
    assert (await call(where, "search", pattern="(a+)+$")).error == "TIMEOUT"
    assert time.monotonic() - began < 5


async def test_a_search_that_finds_too_much_is_cut_and_says_so(where: Places, workspace: Path):
    (workspace / "a.txt").write_text(("needle " + "x" * 500 + "\n") * 5_000)
    found = await call(where, "search", pattern="needle")
    assert len(found.text) < 30_000
    assert found.text.endswith("[there are more; narrow the pattern, the path or the files]")


# --- shell -------------------------------------------------------------------------------


async def test_a_command_runs_in_the_workspace_and_its_output_comes_back(
    where: Places, workspace: Path
):
    done = await call(where, "shell", command="pwd; echo wrong >&2; printf made > made.txt")
    assert done == Outcome(text=f"{workspace}\nwrong")
    assert (workspace / "made.txt").read_text() == "made"
    assert (await call(where, "shell", command="true")).text == "[no output]"


async def test_an_exit_code_is_an_error_with_its_output(where: Places):
    failed = await call(where, "shell", command="echo before; exit 3")
    assert failed == Outcome(text="before\n[exit 3]", error="EXIT_NONZERO")
    killed = await call(where, "shell", command="kill -KILL $$")
    assert killed == Outcome(text="[exit 137, SIGKILL]", error="EXIT_NONZERO")


async def test_a_command_sees_none_of_the_hosts_environment(
    where: Places, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GNOMON_MODEL_KEY", "secret")
    seen = await call(where, "shell", command="env")
    assert "secret" not in seen.text
    assert "PATH=" in seen.text


async def test_a_command_has_no_input_to_wait_for(where: Places):
    assert (await call(where, "shell", command="cat; echo over")).text == "over"


async def test_git_works_without_any_settings_of_its_owner(where: Places):
    done = await call(
        where,
        "shell",
        command="git init -q . && echo a > a && git add a && git commit -qm first "
        "&& git log --format='%an %s'",
    )
    assert done == Outcome(text="Gnomon first")


async def test_a_hung_command_is_ended_with_its_children(where: Places, workspace: Path):
    began = time.monotonic()
    hung = await call(
        where,
        "shell",
        command="sleep 60 & echo $! > child; sleep 60",
        timeout_seconds=0.5,
    )
    assert hung.error == "TIMEOUT"
    assert hung.text == "[ended: it took longer than 0.5 s]"
    assert time.monotonic() - began < 10
    await gone(int((workspace / "child").read_text()))


async def test_a_child_in_the_background_does_not_hold_up_the_call_and_is_ended(
    where: Places, workspace: Path
):
    began = time.monotonic()
    done = await call(where, "shell", command="sleep 60 & echo $! > child; echo done")
    assert done == Outcome(text="done")
    assert time.monotonic() - began < 10
    await gone(int((workspace / "child").read_text()))


async def test_cancelling_a_call_ends_its_command(where: Places, workspace: Path):
    task = asyncio.create_task(call(where, "shell", command="echo $$ > own; sleep 60"))
    own = workspace / "own"
    async with asyncio.timeout(10):
        while not (own.exists() and own.read_text()):
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await gone(int(own.read_text()))


async def test_output_without_end_is_kept_at_both_ends_in_bounded_memory(where: Places):
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = await call(
        where, "shell", command="echo first; head -c 1000000000 /dev/zero | tr '\\0' x; echo last"
    )
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert done.text.startswith("first\nx")
    assert done.text.endswith("xlast")
    assert "bytes left out]" in done.text
    assert len(done.text) < 30_000
    assert grown < 20_000, "kilobytes"


async def test_two_commands_run_at_the_same_time(where: Places):
    os.mkfifo(where.workspace / "meet")
    one, two = await asyncio.gather(
        call(where, "shell", command="echo hello > meet; echo sent"),
        call(where, "shell", command="cat meet"),
    )
    assert (one.text, two.text) == ("sent", "hello")


async def test_a_command_that_cannot_be_one_is_refused(where: Places):
    assert (await call(where, "shell", command="echo a\0b")).error == "INVALID_ARGUMENTS"
    assert (await call(where, "shell", command="")).error == "INVALID_ARGUMENTS"
    assert (await call(where, "shell", command="echo " + "é" * 90_000)).error == "TOO_LARGE"
    assert (await call(where, "shell", command="x", timeout_seconds=9999)).error == (
        "INVALID_ARGUMENTS"
    )


async def gone(pid: int) -> None:
    """Wait until a process has ended (a zombie has)."""
    async with asyncio.timeout(10):
        while running(pid):
            await asyncio.sleep(0.01)


def running(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}


@pytest.mark.parametrize("chunk", [1, 3, 1_000])
def test_kept_output_is_whole_up_to_its_limit_and_counted_beyond(chunk: int):
    def kept(data: bytes, limit: int) -> Kept:
        both = Kept(limit)
        for at in range(0, len(data), chunk):
            both.add(data[at : at + chunk])
        return both

    text = "aé" * 10
    assert kept(text.encode(), 30).text() == text
    assert kept(b"0123456789", 4).text() == "01\n[6 bytes left out]\n89"
    assert kept(b"", 4).text() == ""


def test_arguments_of_a_host_are_closed():
    import msgspec

    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"workspace": "/w", "home": "/h"}, HostArgument)
    given: Mapping[str, object] = {
        "workspace": "/w",
        "folders": [{"path": "/x", "writable": False}],
    }
    assert msgspec.convert(given, HostArgument).folders[0].path == "/x"
