"""A child that does what a hostile one would, inside the jail, and tells how far it came.

Operations: `attack {targets}` -> `{name: {open, detail}}`; `ask {op, args}` asks the gateway;
`do {does}`: `bomb {most}` forks, `memory {bytes}` allocates, `shell {command}` runs a program
where the role may, `home {targets, groups}` attacks a home, `hang` stops answering, `flood`
sends parts for ever, `die` ends.
"""

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable

import msgspec

from gnomon.domain.json_value import Fields, Json
from gnomon.testing import hostile_files, hostile_home, hostile_kernel
from gnomon.testing.hostile_files import Targets
from gnomon.testing.hostile_home import HomeTargets
from gnomon.trust.ipc import Peer


async def serve(peer: Peer, argument: Fields) -> None:
    """Until the gateway closes the pipe, or longer: see `hang`."""

    async def ask(args: Fields, _part: Callable[[Json], None]) -> Json:
        return await peer.call(str(args["op"]), _fields(args["args"]))

    async def attack_all(args: Fields, _part: Callable[[Json], None]) -> Json:
        return attack(msgspec.convert(args["targets"], Targets), argument)

    async def plain(args: Fields, send_part: Callable[[Json], None]) -> Json:
        return _OPERATIONS[str(args["does"])](args, send_part)

    answers = {"ask": ask, "attack": attack_all, "do": plain}

    async def answer(op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
        return await answers[op](args, send_part)

    peer.serve(answer)
    await peer.run()


def _fields(value: Json) -> Fields:
    return value if isinstance(value, dict) else {}


def _hang(_args: Fields, _part: Callable[[Json], None]) -> Json:
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
    while True:
        time.sleep(60)


def _flood(_args: Fields, send_part: Callable[[Json], None]) -> Json:
    while True:
        send_part("x" * 100_000)


def _die(_args: Fields, _part: Callable[[Json], None]) -> Json:
    os._exit(7)


def attack(on: Targets, argument: Fields) -> Json:
    """Every attack that the role can try, one after the other."""
    every = {**hostile_files.attacks(on), **hostile_kernel.attacks(on)}
    every["capabilities"] = capabilities
    if on.workspace is not None:
        every |= hostile_files.workspace_attacks(on, on.workspace)
    skipped = argument.get("skip")
    left_out = set(msgspec.convert(skipped, list[str])) if skipped else set[str]()
    return {name: attempt(run) for name, run in every.items() if name not in left_out}


def attack_home(on: HomeTargets, groups: list[str]) -> Json:
    """Every attack on a home, or those of some groups."""
    every = hostile_home.attacks(on)
    chosen = [name for name in every if not groups or name.partition("/")[0] in groups]
    return {name: attempt(every[name]) for name in chosen}


def attempt(run: Callable[[], object]) -> Json:
    """What came of one attack."""
    try:
        got = run()
    except (OSError, KeyError) as error:
        return {"open": False, "detail": f"{type(error).__name__}: {error}"}
    return {"open": True, "detail": str(got)[:200]}


def capabilities() -> None:
    """Raises OSError when it has none."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = ctypes.create_string_buffer((0x20080522).to_bytes(4, "little") + bytes(4), 8)
    data = ctypes.create_string_buffer(24)
    hostile_files.checked(libc.capget(header, data))
    if data.raw == bytes(24):
        raise hostile_files.held("none")


def bomb(most: int) -> Json:
    """Fork sleeping children until it is refused, or `most`; then end them all."""
    children: list[int] = []
    refused = False
    while len(children) < most and not refused:
        try:
            child = os.fork()
        except OSError:
            refused = True
            break
        if child == 0:
            signal.pause()
        children.append(child)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return {"children": len(children), "refused": refused}


def memory(size: int) -> Json:
    """Whether so many bytes can be had."""
    try:
        block = bytearray(size)
    except MemoryError:
        return False
    return len(block) == size


def shell(command: str) -> Json:
    """As a tool would: exit code and output."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    return {"code": done.returncode, "output": done.stdout + done.stderr}


_OPERATIONS: dict[str, Callable[[Fields, Callable[[Json], None]], Json]] = {
    "bomb": lambda args, _: bomb(msgspec.convert(args["most"], int)),
    "memory": lambda args, _: memory(msgspec.convert(args["bytes"], int)),
    "shell": lambda args, _: shell(str(args["command"])),
    "home": lambda args, _: attack_home(
        msgspec.convert(args["targets"], HomeTargets),
        msgspec.convert(args.get("groups", []), list[str]),
    ),
    "hang": _hang,
    "flood": _flood,
    "die": _die,
}
