"""Starting a process of a role: the only way to start one.

`start` makes a plan, spawns a fresh interpreter with one socket, waits until it has confined
and tested itself, and gives back the child with its pipe.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import stat
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from gnomon.domain.errors import GnomonError, JailError, PipeError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.policy import Role
from gnomon.domain.views import JailLevel
from gnomon.trust.ipc import Peer, Serve
from gnomon.trust.kernel import protect_this_process
from gnomon.trust.plan import Builder, Plan, dump
from gnomon.trust.planning import Grants, environment, make_plan
from gnomon.trust.process import Process
from gnomon.trust.roles import guard
from gnomon.trust.spawn import available_level, builders, spawn

__all__ = [
    "Child",
    "Grants",
    "available_level",
    "builders",
    "launch",
    "protect_this_process",
    "start",
]

START_SECONDS = 15.0
"""From spawn to greeting, on a machine that does much else."""
TERM_SECONDS = 0.5
HEADER = 8
log = logging.getLogger("gnomon.child")


@dataclass
class Child:
    """A running process of a role. `self_test` is what its jail's test found at the start."""

    pid: int
    role: Role
    level: JailLevel
    peer: Peer
    process: Process
    self_test: Fields
    reading: "asyncio.Task[None]"
    faults: list[str] = field(default_factory=list[str])
    """What it said about its own failures, the last ones."""

    async def call(
        self, op: str, args: Fields, on_part: Callable[[Json], None] | None = None
    ) -> Json:
        """Ask it. Raises what `Peer.call` raises."""
        return await self.peer.call(op, args, on_part=on_part)

    async def wait(self) -> int:
        """Its exit code once it has ended; negative for a signal."""
        return await self.process.wait()

    async def stop(self, grace: float) -> None:
        """Close the pipe, wait `grace` seconds for it to end, then kill it."""
        self.peer.close()
        await self._wait_at_most(grace)
        if self.level == "partial":
            # It may have started programs that only it can find.
            self.process.kill(signal.SIGTERM)
            await self._wait_at_most(TERM_SECONDS)
        self.process.kill()
        await self.process.wait()
        with contextlib.suppress(PipeError):
            await self.reading

    async def _wait_at_most(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.process.wait()


async def start(
    role: Role,
    module: str,
    argument: Fields,
    grants: Grants,
    *,
    serve: Serve | None,
    level: JailLevel | None = None,
    environment: Mapping[str, str] | None = None,
    allow_unjailed: bool = False,
) -> Child:
    """Start `module` (its `serve(peer, argument)`) in the jail of a role.

    `level` null takes the best that this machine has. `serve` answers what the child asks,
    behind the trust table; null answers nothing. Raises TrustError for a role that cannot
    start, and JailError when a grant cannot be given, the jail cannot be built, its self-test
    fails (fact `probe`), or there is none and the operator did not allow that.
    """
    chosen = available_level() if level is None else level
    if chosen == "none" and not allow_unjailed:
        raise JailError(
            "This machine has no jail that Gnomon can use.",
            next_step="Run it on Linux with Landlock, or set gateway.allow_unjailed yourself.",
            role=role,
            level=chosen,
        )
    builder: Builder = builders()[0] if chosen == "full" else "none"
    plan = make_plan(role, module, grants, level=chosen, builder=builder, canary=_canary())
    return await launch(plan, argument, grants, serve=serve, extra=environment or {})


async def launch(
    plan: Plan,
    argument: Fields,
    grants: Grants,
    *,
    serve: Serve | None,
    extra: Mapping[str, str],
) -> Child:
    """Start what a plan says. Only `start` and the tests of the jail make plans."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    process: Process | None = None
    child: Child | None = None
    try:
        with theirs:
            _hand_over(plan, ours)
            process = spawn(plan, theirs.fileno(), environment(plan, grants, extra))
        async with asyncio.timeout(START_SECONDS):
            pid = int.from_bytes(await _receive(ours, HEADER), "big")
            if plan.builder == "unshare" and pid:
                maker, process = process, Process(pid)
                await maker.wait()
            peer = await Peer.over(ours, {"argument": argument})
            child = _child(plan, process, peer, serve)
            greeting = await peer.greeting()
        _check_greeting(plan, greeting)
        child.self_test = _fields(greeting.get("self_test"))
        return child
    except BaseException as error:
        await _abandon(ours, process, child)
        if isinstance(error, PipeError | TimeoutError | OSError):
            raise _not_started(plan, str(error)) from error
        raise


def _hand_over(plan: Plan, pipe: socket.socket) -> None:
    """Write the plan before there is a reader: it fits a socket's buffer many times."""
    data = dump(plan)
    whole = len(data).to_bytes(HEADER, "big") + data
    if pipe.send(whole) != len(whole):
        raise JailError("The grant has too many paths.", role=plan.role, level=plan.level)


async def _abandon(pipe: socket.socket, process: Process | None, child: Child | None) -> None:
    if process is not None:
        process.kill()
        await process.wait()
    if child is None:
        pipe.close()
        return
    child.peer.close()
    with contextlib.suppress(PipeError):
        await child.reading


def _not_started(plan: Plan, reason: str) -> JailError:
    return JailError(
        f"The {plan.role} did not start: {reason or 'it took too long'}.",
        next_step="See `gnomon doctor`.",
        role=plan.role,
        level=plan.level,
        reason=reason,
    )


def _child(plan: Plan, process: Process, peer: Peer, serve: Serve | None) -> Child:
    reading = asyncio.create_task(peer.run())
    reading.add_done_callback(lambda done: done.cancelled() or done.exception())
    child = Child(process.pid, plan.role, plan.level, peer, process, {}, reading)
    peer.serve(_answering(child, serve))
    return child


def _answering(child: Child, serve: Serve | None) -> Serve:
    """`fault` is every child's; all else stands behind the trust table."""

    async def nothing(op: str, _args: Fields, _part: Callable[[Json], None]) -> Json:
        raise GnomonError(f"Nobody answers {op!r} here.", op=op)

    guarded = guard(child.role, serve or nothing)

    async def answer(op: str, args: Fields, send_part: Callable[[Json], None]) -> Json:
        if op != "fault":
            return await guarded(op, args, send_part)
        trace = str(args.get("trace", ""))[-8000:]
        child.faults = [*child.faults[-9:], trace]
        log.warning("%s failed: %s", child.role, _printable(trace))
        return None

    return answer


def _printable(text: str) -> str:
    """For a log: no control characters, so that a child cannot write lines of its own."""
    return "".join(sign if sign.isprintable() else " " for sign in text[-2000:])


def _check_greeting(plan: Plan, greeting: Fields) -> None:
    failed = _fields(greeting.get("failed"))
    if failed:
        raise JailError(
            f"The jail of {plan.role} does not hold at level {plan.level!r}: "
            f"{failed.get('probe', failed.get('step'))}: {failed.get('reason')}.",
            next_step="See `gnomon doctor`. The role does not start.",
            role=plan.role,
            level=plan.level,
            probe=str(failed.get("probe", "")),
            step=str(failed.get("step", "")),
        )


def _fields(value: Json) -> Fields:
    return value if isinstance(value, Mapping) else {}


async def _receive(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = await asyncio.get_running_loop().sock_recv(sock, size - len(data))
        if not more:
            raise PipeError("it ended before it had confined itself", reason="closed")
        data += more
    return data


@cache
def _canary() -> str | None:
    """An empty file that this user can read and write and no child may: what self-tests try.

    One for each user of the machine, always the same, so that killed gateways leave no heap.
    """
    path = Path(tempfile.gettempdir(), f"gnomon-self-test-{os.geteuid()}")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    found = os.fstat(descriptor)
    os.close(descriptor)
    ours = found.st_uid == os.geteuid() and stat.S_ISREG(found.st_mode)
    return str(path) if ours else None
