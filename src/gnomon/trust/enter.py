"""The first thing that runs in a child: it confines itself, then becomes its role.

Started as a fresh interpreter (`-I -S`) that has loaded nothing but Python's own modules and
has one thread. Whatever fails here ends the child, and the gateway hears which step it was.
"""

import contextlib
import os
import resource
import signal
import sys
from pathlib import Path

from gnomon.trust import kernel, landlock, namespaces, seccomp
from gnomon.trust.plan import Plan, load

HEADER = 8
"""Bytes of the child's process id, before the first line."""


def main() -> None:
    """`argv`: the descriptor of the pipe. Does not return."""
    pipe = int(sys.argv[1])
    plan = _read_plan(pipe)
    step = ""
    try:
        for step, act in _STEPS:  # noqa: B007 - named in the report
            act(plan, pipe)
    except (OSError, ValueError, StopIteration) as error:
        _say_failed(pipe, step, error)
        os._exit(1)
    sys.path[:] = [*(path for path in sys.path if path not in plan.packages), *plan.packages]
    from gnomon.trust.child import live

    live(plan, pipe)


def _read_plan(pipe: int) -> Plan:
    size = int.from_bytes(_read_exactly(pipe, HEADER), "big")
    return load(_read_exactly(pipe, size))


def _read_exactly(pipe: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(pipe, size - len(data))
        if not more:
            os._exit(1)  # the gateway is gone
        data += more
    return data


def _say_failed(pipe: int, step: str, error: Exception) -> None:
    import json

    if step in _BEFORE_HEADER:
        os.write(pipe, bytes(HEADER))
    hello = {"protocol": 1, "failed": {"step": step, "reason": str(error)}}
    os.write(pipe, json.dumps({"hello": hello}).encode() + b"\n")


def _close_others(_plan: Plan, pipe: int) -> None:
    os.closerange(3, pipe)
    os.closerange(pipe + 1, max(65_536, pipe + 2))
    os.set_inheritable(pipe, False)


def _volunteer_for_oom(plan: Plan, _pipe: int) -> None:
    """When memory runs out, the kernel takes the jailed before the gateway."""
    with contextlib.suppress(FileNotFoundError):  # bubblewrap's jails of most roles have no /proc
        Path("/proc/self/oom_score_adj").write_text(str(plan.oom_score))


def _separate(plan: Plan, pipe: int) -> None:
    if plan.builder == "unshare":
        namespaces.separate(plan, pipe)
    else:
        os.write(pipe, os.getpid().to_bytes(HEADER, "big"))
        if plan.level == "partial" and os.geteuid() == 0:
            os.setgroups([])


def _build_root(plan: Plan, _pipe: int) -> None:
    if plan.builder == "unshare":
        namespaces.build_root(plan)


def _limit(plan: Plan, _pipe: int) -> None:
    limits: list[tuple[int, int | None]] = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_DATA, plan.data),
        (resource.RLIMIT_AS, plan.address_space),
        (resource.RLIMIT_FSIZE, plan.file_size),
        (resource.RLIMIT_NOFILE, plan.descriptors),
        (resource.RLIMIT_MEMLOCK, 64 * 1024),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_NPROC, _processes(plan)),
    ]
    for which, most in limits:
        if most is not None:
            hard = resource.getrlimit(which)[1]
            bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(which, (bound, bound))


def _processes(plan: Plan) -> int | None:
    """The kernel counts a user's tasks: in a namespace of its own from none, else all of them.
    Where others count too, only roles that can start processes need the bound.
    """
    if plan.level == "full":
        return plan.processes
    return _tasks_of(os.getuid()) + plan.processes if plan.may_exec else None


def _tasks_of(user: int) -> int:
    count = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == user:
                    count += sum(1 for _ in os.scandir(f"/proc/{entry.name}/task"))
            except OSError:
                continue  # it ended meanwhile
    return count


def _give_up_powers(plan: Plan, _pipe: int) -> None:
    os.umask(0o022)
    if plan.level != "none":
        kernel.drop_capabilities()
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    # Last, since giving up powers clears it. Where no namespace ends with the child, it gets
    # the time to end what it started (`gnomon.trust.child`).
    takes_others = plan.level == "partial" and plan.may_exec
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGTERM if takes_others else signal.SIGKILL)


def _check_parent(plan: Plan, _pipe: int) -> None:
    if plan.builder == "none" and os.getppid() != plan.parent:
        os._exit(1)  # the gateway died before it could take us with it


def _landlock(plan: Plan, _pipe: int) -> None:
    if plan.landlock:
        landlock.restrict(plan.rules, plan.ports)


def _seccomp(plan: Plan, _pipe: int) -> None:
    if plan.seccomp:
        rules = seccomp.Rules(
            may_exec=plan.may_exec,
            isolated=plan.level == "full",
            own_pid=os.getpid(),
            tcp=plan.tcp,
            udp=plan.udp,
            listens=plan.listens,
        )
        seccomp.install(rules)


def _hide_memory(plan: Plan, _pipe: int) -> None:
    """Programs that it runs are of its own user: they must not rewrite it."""
    if plan.may_exec:
        kernel.protect_this_process()


_BEFORE_HEADER = ("descriptors", "oom", "namespaces")
_STEPS = (
    ("descriptors", _close_others),
    ("oom", _volunteer_for_oom),
    ("namespaces", _separate),
    ("mounts", _build_root),
    ("limits", _limit),
    ("powers", _give_up_powers),
    ("parent", _check_parent),
    ("landlock", _landlock),
    ("seccomp", _seccomp),
    ("memory", _hide_memory),
)
