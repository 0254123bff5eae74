"""Plays the gateway in a process of its own: lays out secrets, starts a hostile child in a
jail, lets it attack, and then looks at what changed. Reads a request from stdin, prints JSON.

A process of its own, since it runs as root and as an ordinary user, protects its memory, and
is what the child tries to signal, trace and rewrite.
"""

import asyncio
import contextlib
import ctypes
import dataclasses
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from gnomon.domain.errors import GnomonError
from gnomon.domain.policy import Role
from gnomon.domain.views import JailLevel
from gnomon.testing.hostile_files import Targets
from gnomon.trust import jail
from gnomon.trust.plan import Builder
from gnomon.trust.planning import Grants, make_plan

HOSTILE = "gnomon.testing.hostile_child"


class Request(msgspec.Struct, kw_only=True):
    role: Role = "resident"
    level: JailLevel = "full"
    builder: Builder = "unshare"
    jailed: bool = True
    without: list[str] = []
    """Defences to leave out: `landlock`, `seccomp`, `namespaces`."""
    connect: list[int] = []
    connect_tcp: bool = False
    does: list[dict] = []
    attack: bool = False
    skip: list[str] = []
    rounds: int = 2000
    roles: list[Role] = []
    """Only start each of these, and tell what its self-test found."""


class World:
    """What a gateway has that a child must not reach."""

    def __init__(self, rounds: int) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="redteam-"))
        self.outside = self.base / "outside"
        self.read_only = self.base / "read-only"
        self.workspace = self.base / "workspace"
        for folder in (self.outside, self.read_only, self.workspace):
            folder.mkdir()
        for name in ("victim", "victim2", "victim3"):
            (self.outside / name).write_text("untouched")
        self.secret = self.outside / "secret"
        self.secret.write_text("the secret")
        os.utime(self.secret, (1_000_000, 1_000_000))
        self.before = self.secret.stat()
        self.foreign = None
        if os.geteuid() == 0:
            self.foreign = self.workspace / "foreign"
            self.foreign.write_text("of another user")
            os.chown(self.foreign, 4242, 4242)
            self.foreign.chmod(0o600)
        self.descriptor = os.open(self.secret, os.O_RDWR)
        os.set_inheritable(self.descriptor, True)
        self.tcp, self.other = socket.socket(), socket.socket()
        self.udp = socket.socket(type=socket.SOCK_DGRAM)
        self.path, self.abstract = (socket.socket(socket.AF_UNIX) for _ in range(2))
        self.tcp.bind(("127.0.0.1", 0))
        self.other.bind(("127.0.0.1", 0))
        self.udp.bind(("127.0.0.1", 0))
        self.path.bind(str(self.outside / "socket"))
        self.abstract_name = f"gnomon-redteam-{os.getpid()}"
        self.abstract.bind("\0" + self.abstract_name)
        for server in (self.tcp, self.other, self.path, self.abstract):
            server.listen()
        for server in (self.tcp, self.other, self.udp, self.path, self.abstract):
            server.setblocking(False)
        self.memory = ctypes.create_string_buffer(b"pristine", 8)
        self.signals = 0
        signal.signal(signal.SIGUSR1, self._signalled)
        self.limits = os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0)
        self.rounds = rounds

    def _signalled(self, *_: object) -> None:
        self.signals += 1

    def targets(self, *, workspace: bool) -> Targets:
        return Targets(
            outside=str(self.outside),
            secret=str(self.secret),
            secret_inode=self.before.st_ino,
            read_only=str(self.read_only),
            gateway=os.getpid(),
            address=ctypes.addressof(self.memory),
            tcp=self.tcp.getsockname()[1],
            tcp_other=self.other.getsockname()[1],
            udp=self.udp.getsockname()[1],
            unix_path=str(self.outside / "socket"),
            unix_abstract=self.abstract_name,
            workspace=str(self.workspace) if workspace else None,
            foreign=str(self.foreign) if self.foreign and workspace else None,
            rounds=self.rounds,
        )

    def effects(self) -> dict[str, object]:
        """What the gateway itself sees afterwards."""
        now = self.secret.stat()
        return {
            "outside": sorted(entry.name for entry in self.outside.iterdir()),
            "victims": [path.read_text() for path in sorted(self.outside.glob("victim*"))],
            "secret": self.secret.read_text(),
            "mode_kept": now.st_mode == self.before.st_mode and now.st_uid == self.before.st_uid,
            "time_kept": now.st_mtime == self.before.st_mtime,
            "attributes": os.listxattr(self.secret),
            "read_only": sorted(entry.name for entry in self.read_only.iterdir()),
            "memory": self.memory.raw.decode(),
            "signals": self.signals,
            "connections": {
                name: _connected(server)
                for name, server in (
                    ("tcp", self.tcp),
                    ("tcp-other", self.other),
                    ("unix-path", self.path),
                    ("unix-abstract", self.abstract),
                )
            },
            "datagrams": _datagram(self.udp),
            "scheduling_kept": self.limits
            == (os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0)),
            "owners": sorted({entry.lstat().st_uid for entry in self.workspace.iterdir()} - {4242}),
            "children": _children(),
        }


def _connected(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _datagram(server: socket.socket) -> bool:
    try:
        server.recv(10)
    except BlockingIOError:
        return False
    return True


def _children() -> int:
    with contextlib.suppress(ChildProcessError):
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return 1
    return 0


async def jailed(request: Request, world: World) -> dict[str, object]:
    jail.protect_this_process()
    writes = request.role in {"tool-host", "probe", "mcp-server"}
    connect = list(request.connect)
    if request.connect_tcp:
        connect.append(world.tcp.getsockname()[1])
    grants = Grants(
        read=(world.read_only,),
        write=(world.workspace,) if writes else (),
        connect=tuple(connect),
    )
    plan = make_plan(
        request.role,
        HOSTILE,
        grants,
        level=request.level,
        builder=request.builder,
        canary=str(world.secret),
    )
    plan = weakened(plan, request.without)
    child = await jail.launch(
        plan, {"skip": request.skip}, grants, serve=None, extra={"GIT_CONFIG_NOSYSTEM": "1"}
    )
    answer: dict[str, object] = {"self_test": dict(child.self_test), "pid": child.pid}
    try:
        if request.attack:
            targets = msgspec.to_builtins(world.targets(workspace=writes))
            answer["attacks"] = await child.peer.call("attack", {"targets": targets}, timeout=60)
        answer["did"] = [await _do(child, step) for step in request.does]
        answer["running"] = not child.process.has_ended
    finally:
        await child.stop(5)
    answer["faults"] = child.faults
    return answer


async def self_tests(request: Request, world: World) -> dict[str, object]:
    """Start each role once, with no grant."""
    jail.protect_this_process()
    found: dict[str, object] = {}
    for role in request.roles:
        plan = make_plan(
            role,
            HOSTILE,
            Grants(),
            level=request.level,
            builder=request.builder,
            canary=str(world.secret),
        )
        child = await jail.launch(plan, {}, Grants(), serve=None, extra={})
        found[role] = dict(child.self_test)
        await child.stop(5)
    return {"self_tests": found}


async def _do(child: jail.Child, step: dict) -> object:
    try:
        if step["does"] == "ask":
            return await child.peer.call("ask", step, timeout=30)
        return await child.peer.call("do", step, timeout=30)
    except GnomonError as error:
        return {"error": error.code, "facts": dict(error.facts)}


def weakened(plan, without: list[str]):
    """The same plan with a defence left out, to show that it was what held."""
    changes: dict[str, object] = {"self_test": not without}
    if "landlock" in without:
        changes["landlock"] = False
    if "seccomp" in without:
        changes["seccomp"] = False
    if "namespaces" in without:
        changes["builder"] = "none"
    return dataclasses.replace(plan, **changes)


def unjailed(request: Request, world: World) -> dict[str, object]:
    """The same attacks by a plain child: every one that is real must get through."""
    os.environ["GNOMON_TEST_SECRET"] = "x"
    code = (
        "import sys, json, msgspec; from gnomon.testing.hostile_child import attack;"
        "from gnomon.testing.hostile_files import Targets;"
        "t = msgspec.json.decode(sys.stdin.buffer.read(), type=Targets);"
        "print(json.dumps(attack(t, json.loads(sys.argv[1]))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps({"skip": request.skip})],
        input=msgspec.json.encode(world.targets(workspace=True)),
        capture_output=True,
        close_fds=False,
        check=True,
        timeout=60,
    )
    return {"attacks": json.loads(done.stdout)}


def main() -> None:
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)
    world = World(request.rounds)
    os.environ["GNOMON_TEST_SECRET"] = "x"
    answer: dict[str, object]
    try:
        if request.jailed:
            try:
                run = self_tests if request.roles else jailed
                answer = asyncio.run(run(request, world))
            except GnomonError as error:
                answer = {"error": error.code, "message": str(error), "facts": dict(error.facts)}
        else:
            answer = unjailed(request, world)
        answer["effects"] = world.effects()
        answer["uid"] = os.geteuid()
    finally:
        shutil.rmtree(world.base, ignore_errors=True)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
