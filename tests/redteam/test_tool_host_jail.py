"""What an agent can do with its tools, and what it cannot, in a real jail: as root and as an
ordinary user. Each refusal is tried once more without the jail, and must then succeed, so
that it is the jail that refuses and not an accident of the machine.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gnomon.agent.places import HostArgument, places
from gnomon.agent.processes import Programs
from gnomon.agent.tool_host import run_tool
from gnomon.domain.views import Folder, JailLevel
from tests.capabilities import has
from tests.tool_host_kit import MARKER, Asked, Plan, Report

pytestmark = [pytest.mark.needs("jail-full", "git"), pytest.mark.redteam]

NOBODY = 65_534
INOTIFY = (
    'python3 -c "import ctypes; l = ctypes.CDLL(None, use_errno=True); f = l.inotify_init1(0); '
    "w = l.inotify_add_watch(f, b'{outside}', 0x2); "
    "print('watching' if f >= 0 and w >= 0 else 'refused')\""
)
CONNECT = (
    'python3 -c "import socket; s = socket.socket(); s.settimeout(5); '
    "s.connect(('127.0.0.1', {port})); print('connected')\""
)
ATTACKS = {
    "read": "cat {outside}/secret.txt",
    "list": "ls {outside}",
    "stat": "stat -c %s {outside}/secret.txt && echo seen",
    "write": "echo changed > {outside}/secret.txt && echo written",
    "link": "cat link/secret.txt",
    "link-file": "cat link-file",
    "hard-link": "ln {outside}/secret.txt stolen && cat stolen",
    "watch": INOTIFY,
    "environ": "tr '\\0' ' ' < /proc/{gateway}/environ && echo seen",
    "signal": "kill -0 {gateway} && echo reached",
    "connect": CONNECT,
}
"""Shell commands that try to reach outside."""
SUCCEEDS = {
    "read": "the secret",
    "list": "secret.txt",
    "stat": "seen",
    "write": "written",
    "link": "the secret",
    "link-file": "the secret",
    "hard-link": "the secret",
    "watch": "watching",
    "environ": "seen",
    "signal": "reached",
    "connect": "connected",
}
"""What the output of each holds if it did."""


class Ground:
    """Folders on a disk that both users reach, and the calls made there."""

    def __init__(self, root: Path, port: int) -> None:
        self.root = root
        self.port = port
        for name in ("workspace", "outside", "readable", "writable"):
            (root / name).mkdir()
        (root / "outside/secret.txt").write_text("the secret\n")
        (root / "readable/note.txt").write_text("readable\n")
        (root / "workspace/link").symlink_to(root / "outside")
        (root / "workspace/link-file").symlink_to(root / "outside/secret.txt")

    def give_to(self, user: int) -> None:
        for path in (self.root, *self.root.rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)

    def command(self, text: str) -> str:
        return text.replace("{outside}", f"{self.root}/outside").replace("{port}", str(self.port))

    @property
    def folders(self) -> tuple[Folder, ...]:
        return (
            Folder(path=f"{self.root}/readable", writable=False),
            Folder(path=f"{self.root}/writable", writable=True),
        )

    def plan(self, level: JailLevel, calls: list[Asked]) -> Plan:
        return Plan(f"{self.root}/workspace", self.folders, level, tuple(calls))


def shell(key: str, command: str, seconds: float = 20) -> Asked:
    return Asked(key, "shell", {"command": command, "timeout_seconds": seconds})


def play(plan: Plan, user: int) -> Report:
    command = [sys.executable, "-m", "tests.tool_host_kit"]
    if user != os.getuid():
        command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]
    done = subprocess.run(
        command, input=msgspec.json.encode(plan), capture_output=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return msgspec.json.decode(done.stdout, type=Report)


@pytest.fixture(scope="module")
def listener() -> Iterator[int]:
    """A port on loopback that answers."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture(scope="module", params=["this user", "an ordinary user"])
def user(request: pytest.FixtureRequest) -> int:
    if request.param == "this user":
        return os.getuid()
    if not has("root") or shutil.which("setpriv") is None:
        pytest.skip("this machine lacks: root")
    return NOBODY


@pytest.fixture(scope="module")
def ground(listener: int, user: int) -> Iterator[Ground]:
    root = Path(tempfile.mkdtemp(prefix="gnomon-tool-host-", dir="/var/tmp"))
    try:
        ground = Ground(root, listener)
        ground.give_to(user)
        yield ground
    finally:
        shutil.rmtree(root)


@pytest.fixture(scope="module")
def report(ground: Ground, user: int) -> Report:
    """One host through all calls at level `full`; the tests below look at what it said."""
    outside, root = f"{ground.root}/outside", ground.root
    calls = [
        Asked("create", "write", {"path": "sub/a.txt", "content": "hello\n"}),
        Asked("edit", "edit", {"path": "sub/a.txt", "old": "hello", "new": "bye"}),
        Asked("look", "read", {"path": "sub/a.txt"}),
        Asked("find", "search", {"pattern": "b.e"}),
        shell("git", "git init -q . && git add sub && git commit -qm first && git log --format=%s"),
        shell("chmod", "chmod 755 sub/a.txt && ls -l sub/a.txt"),
        Asked("tool-read", "read", {"path": f"{outside}/secret.txt"}),
        Asked("tool-link", "read", {"path": "link-file"}),
        Asked("tool-write", "write", {"path": f"{outside}/new.txt", "content": "x"}),
        Asked("tool-search", "search", {"pattern": "secret", "path": "."}),
        shell("granted-read", f"cat {root}/readable/note.txt"),
        shell("granted-read-write", f"echo x > {root}/readable/new.txt"),
        shell("granted-write", f"echo x > {root}/writable/new.txt && cat {root}/writable/new.txt"),
        *(shell(f"attack-{name}", ground.command(text)) for name, text in ATTACKS.items()),
        shell("stray", f"(setsid sleep {MARKER} &); sleep {MARKER} & echo started"),
        shell("hung", f"setsid sleep {MARKER} & sleep {MARKER}", 1),
        shell("bomb", ":(){ :|:& };:", 3),
        shell("bomb-waiting", ":(){ :|:; };: >/dev/null 2>&1", 3),
        shell("after", "echo alive; ls /proc | grep -c '^[0-9]'"),
        shell("flood", "head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo end", 60),
        shell("last", "echo still here"),
    ]
    return play(ground.plan("full", calls), user)


def test_it_creates_edits_and_finds_in_its_workspace(report: Report, ground: Ground):
    said = {key: result.text for key, result in report.results.items()}
    assert said["create"] == "Created sub/a.txt (6 bytes)."
    assert said["edit"] == "Edited sub/a.txt at line 1."
    assert said["look"] == "bye"
    assert said["find"] == "sub/a.txt:1: bye"
    assert (ground.root / "workspace/sub/a.txt").read_text() == "bye\n"


def test_it_runs_git_and_shell_commands(report: Report):
    assert report.results["git"].text == "first"
    assert report.results["chmod"].text.startswith("-rwxr-xr-x")


def test_its_files_belong_to_the_owner_outside(report: Report, ground: Ground, user: int):
    assert (ground.root / "workspace/sub/a.txt").stat().st_uid == user
    assert (ground.root / "workspace/.git/HEAD").stat().st_uid == user


@pytest.mark.parametrize("key", ["tool-read", "tool-link", "tool-write"])
def test_the_file_tools_say_that_outside_is_denied(report: Report, key: str):
    assert report.results[key].error == "DENIED"


def test_a_search_does_not_follow_a_link_outside(report: Report):
    assert "the secret" not in report.results["tool-search"].text


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_outside_is_reached_by_a_command(report: Report, ground: Ground, name: str):
    assert SUCCEEDS[name] not in report.results[f"attack-{name}"].text
    assert (ground.root / "outside/secret.txt").read_text() == "the secret\n"


@pytest.mark.parametrize("name", ATTACKS)
async def test_without_the_jail_the_same_command_reaches_it(
    tmp_path: Path, listener: int, name: str
):
    ground = Ground(tmp_path, listener)
    where = places(HostArgument(workspace=f"{tmp_path}/workspace"))
    command = ground.command(ATTACKS[name]).replace("{gateway}", str(os.getpid()))
    done = await asyncio.wait_for(run_tool(where, Programs(), "shell", {"command": command}), 20)
    assert SUCCEEDS[name] in done.text


def test_a_granted_folder_is_read_and_written_as_granted(report: Report, ground: Ground):
    assert report.results["granted-read"].text == "readable"
    assert report.results["granted-read-write"].error == "EXIT_NONZERO"
    assert report.results["granted-write"].text == "x"
    assert [path.name for path in (ground.root / "readable").iterdir()] == ["note.txt"]


def test_a_fork_bomb_is_bounded_and_gone_with_its_call(report: Report):
    assert report.results["bomb"].seconds < 10
    assert report.results["bomb-waiting"].seconds < 10
    alive, processes = report.results["after"].text.splitlines()
    assert alive == "alive"
    assert int(processes) <= 6, "the host, the command, and its own pipe"


def test_a_hung_command_is_ended_with_its_children_wherever_they_went(report: Report):
    assert report.results["stray"].text == "started"
    assert report.results["stray"].seconds < 10
    assert report.results["hung"].error == "TIMEOUT"
    assert report.results["hung"].seconds < 10
    assert report.strays == 0


def test_a_gigabyte_of_output_is_bounded_in_memory(report: Report):
    flood = report.results["flood"]
    assert flood.error is None
    assert flood.text.endswith("x\nend")
    assert len(flood.text) < 30_000
    assert report.most_kilobytes < 100_000
    assert report.results["last"].text == "still here"


# --- level `partial`: Landlock and seccomp alone ---------------------------------------------


@pytest.fixture(scope="module")
def partial(ground: Ground, user: int) -> Report:
    calls = [
        Asked("create", "write", {"path": "p/a.txt", "content": "hello\n"}),
        Asked("find", "search", {"pattern": "hel+o", "path": "p"}),
        shell("run", "cat p/a.txt"),
        *(
            shell(f"attack-{name}", ground.command(ATTACKS[name]))
            for name in ("read", "list", "write", "link", "link-file", "signal", "connect")
        ),
        shell("stat", ground.command(ATTACKS["stat"])),
        shell("stray", f"(setsid sleep {MARKER} &); echo started"),
        shell("last", "echo still here"),
    ]
    return play(ground.plan("partial", calls), user)


def test_at_partial_the_tools_work_and_outside_stays_closed(partial: Report, ground: Ground):
    assert partial.results["create"].error is None
    assert partial.results["find"].text == "p/a.txt:1: hello"
    assert partial.results["run"].text == "hello"
    for key, result in partial.results.items():
        if key.startswith("attack-"):
            assert SUCCEEDS[key.removeprefix("attack-")] not in result.text, key
    assert (ground.root / "outside/secret.txt").read_text() == "the secret\n"


def test_at_partial_names_and_sizes_outside_stay_visible(partial: Report):
    """Documented: Landlock does not govern stat. Level `full` does."""
    assert "seen" in partial.results["stat"].text


def test_at_partial_what_left_its_group_is_ended_too(partial: Report):
    assert partial.results["stray"].text == "started"
    assert partial.results["last"].text == "still here"
    assert partial.strays == 0
