"""The jail's own test, run in the child at each start, before it does anything else.

Six things that must fail are tried. What is `open` where it must not be ends the child: a
role runs in a jail that holds, or not at all.
"""

import contextlib
import errno
import os
import socket
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from gnomon.trust.plan import Plan

Probe = Literal["write", "read", "stat", "socket", "exec", "signal"]
Finding = Literal["held", "open", "granted", "untried"]
"""`granted`: the role may. `untried`: this start had nothing to try it on."""

PROBES: tuple[Probe, ...] = ("write", "read", "stat", "socket", "exec", "signal")


def self_test(plan: Plan) -> dict[Probe, Finding]:
    """What each attempt found. Changes nothing, even where the jail does not hold."""
    found: dict[Probe, Finding] = {
        "write": _tried(_can_write, plan.probes),
        "read": _tried(_can_read, plan.probes),
        "stat": _tried(os.path.lexists, plan.probes),
        "socket": "open" if any(map(_can_make, _sockets(plan))) else "held",
        "exec": "granted" if plan.may_exec else _exec(),
        "signal": "open" if _can_signal(plan.parent) else "held",
    }
    return found


def failures(plan: Plan, found: dict[Probe, Finding]) -> list[Probe]:
    """The probes that must hold at the plan's level and do not."""
    if plan.level == "none":
        return []
    may_be_open = {"stat"} if plan.level == "partial" else set[str]()
    return [probe for probe in PROBES if found[probe] == "open" and probe not in may_be_open]


def _tried(can: Callable[[str], bool], paths: Iterable[str]) -> Finding:
    outcomes = [can(path) for path in paths]
    if not outcomes:
        return "untried"
    return "open" if any(outcomes) else "held"


def _can_write(path: str) -> bool:
    """Whether a file can be opened to write, or a folder be given an entry."""
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            made = Path(path, f".gnomon-self-test-{os.getpid()}")
            os.close(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            made.unlink()
        else:
            os.close(os.open(path, os.O_WRONLY))
        return True
    return False


def _can_read(path: str) -> bool:
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_RDONLY))
        return True
    return False


def _sockets(plan: Plan) -> list[tuple[int, int]]:
    kinds = [(socket.AF_UNIX, socket.SOCK_DGRAM), (socket.AF_NETLINK, socket.SOCK_RAW)]
    kinds += [(socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_VSOCK, socket.SOCK_STREAM)]
    if not plan.listens:
        kinds += [(socket.AF_UNIX, socket.SOCK_STREAM)]
    if not plan.udp:
        kinds += [(socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_INET6, socket.SOCK_DGRAM)]
    if not plan.tcp:
        kinds += [(socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET6, socket.SOCK_STREAM)]
    return [(int(family), int(kind)) for family, kind in kinds]


def _can_make(kind: tuple[int, int]) -> bool:
    with contextlib.suppress(OSError):
        socket.socket(*kind).close()
        return True
    return False


def _exec() -> Finding:
    """A program that is not there: where running is refused, that is said first."""
    try:
        os.execv("/gnomon-self-test/no-such-program", ["no-such-program"])  # noqa: S606
    except OSError as error:
        return "held" if error.errno == errno.EPERM else "open"


def _can_signal(process: int) -> bool:
    with contextlib.suppress(OSError):
        os.kill(process, 0)
        return True
    return False
