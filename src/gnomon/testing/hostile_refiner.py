"""The refiner's real worker, taken over: it runs as ever, and its process does as it is told.

`work` is the worker's own. `try {targets}` attempts by system calls what the six red-team tests
of seed 1, section 8.2 forbid, from inside this very process; `ask {op, args}` asks the gateway
past the tools, and answers the code it was refused with.
"""

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec

from gnomon.clock import SystemClock
from gnomon.domain.errors import GnomonError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.plain import read
from gnomon.refiner.protocol import RefinerArgument
from gnomon.refiner.worker_main import Refiner
from gnomon.testing.hostile_child import attempt
from gnomon.trust.ipc import Peer

Attack = Callable[[], object]


class Targets(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the driver put out of reach: files by the test's name for them, a file that a program
    would leave, ports and a socket that somebody listens on.
    """

    files: dict[str, str]
    mark: str
    tcp: int
    udp: int
    unix: str


async def serve(peer: Peer, argument: Fields) -> None:
    """Entry of the child process."""
    refiner = Refiner(peer, read(argument, RefinerArgument), SystemClock())

    async def answer(op: str, args: Fields, part: Callable[[Json], None]) -> Json:
        match op:
            case "try":
                return attack(msgspec.convert(args["targets"], Targets))
            case "ask":
                return await _asked(peer, str(args["op"]), args["args"])
            case _:
                return await refiner.answer(op, args, part)

    peer.serve(answer)
    await peer.closed()


async def _asked(peer: Peer, op: str, args: Json) -> Json:
    try:
        await peer.call(op, args if isinstance(args, dict) else {})
    except GnomonError as error:
        return error.code
    return ""


def attack(on: Targets) -> Json:
    """Every attempt, one after the other: `group/name` and what came of it."""
    return {name: attempt(run) for name, run in attacks(on).items()}


def attacks(on: Targets) -> dict[str, Attack]:
    """The harmless ones of a file first, so that each finds it there."""
    every: dict[str, Attack] = {}
    for group, path in on.files.items():
        every |= {f"{group}/{name}": run for name, run in _on_file(Path(path)).items()}
    every |= {f"shell/{name}": run for name, run in _programs(on).items()}
    return every | {f"network/{name}": run for name, run in _network(on).items()}


def _on_file(path: Path) -> dict[str, Attack]:
    beside = path.with_name(f"{path.name}.new")
    return {
        "read": path.read_bytes,
        "append": lambda: path.open("a").close(),
        "open to write": lambda: os.close(os.open(path, os.O_WRONLY)),
        "plant beside": lambda: beside.write_text("x"),
        "replace": lambda: os.replace(beside, path),  # noqa: PTH105 - its own call is the point
        "truncate": lambda: os.truncate(path, 0),
        "rename": lambda: path.rename(path.with_name("moved")),
        "create": lambda: path.write_text("x"),
        "delete": path.unlink,
    }


def _programs(on: Targets) -> dict[str, Attack]:
    command = f"echo x >> {on.mark}"
    return {
        "run a shell": lambda: subprocess.run(["/bin/sh", "-c", command], check=True),
        "spawn a shell": lambda: _ended(
            os.posix_spawn("/bin/sh", ["sh", "-c", command], os.environ)
        ),
        "run python": lambda: subprocess.run(
            [os.path.realpath("/proc/self/exe"), "-c", f"open({on.mark!r}, 'a').close()"],
            check=True,
        ),
    }


def _ended(pid: int) -> None:
    os.waitpid(pid, 0)


def _network(on: Targets) -> dict[str, Attack]:
    return {
        "tcp": lambda: socket.create_connection(("127.0.0.1", on.tcp), 5).close(),
        "udp": lambda: _sent(on.udp),
        "unix": lambda: _connected(on.unix),
        "listen": lambda: socket.create_server(("127.0.0.1", 0)).close(),
    }


def _sent(port: int) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", ("127.0.0.1", port))


def _connected(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
