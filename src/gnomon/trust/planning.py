"""From a role and its grant to the plan of its jail."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gnomon.domain.errors import JailError
from gnomon.domain.policy import Role
from gnomon.domain.views import JailLevel
from gnomon.trust import landlock, namespaces
from gnomon.trust.interpreter import FOR_NETWORK, FOR_PROGRAMS, interpreter
from gnomon.trust.layout import lay_out, rules
from gnomon.trust.plan import Builder, Plan, Showing
from gnomon.trust.roles import MIB, RoleTrust, check_start

DNS_PORT = 53
PRIVATE_BYTES = 512 * MIB
"""How much a run's own /tmp holds. It is memory."""
SHARED_MEMORY_BYTES = 64 * MIB
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
DEVICE_LINKS = (
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
)
OOM_SCORE = {"tool-host": 800, "mcp-server": 800, "model-host": 600}
"""The kernel takes the highest first when memory runs out (`proc(5)`)."""
OOM_OTHERS = 300
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Grants:
    """What one start adds to its role: absolute paths of files or folders, shown in the jail
    at the same place, and TCP ports (model host and MCP servers only).

    Port 53 among them opens UDP as well, for the resolution of names.
    """

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    connect: tuple[int, ...] = ()


def make_plan(
    role: Role,
    module: str,
    grants: Grants,
    *,
    level: JailLevel,
    builder: Builder,
    canary: str | None,
) -> Plan:
    """Everything that the child will be held to. Raises TrustError for a role that cannot
    start, JailError for a grant that cannot be given.
    """
    row, limits = check_start(role)
    if grants.connect and row.network != "granted-ports":
        raise JailError(f"The role {role!r} has no network.", role=role, level=level)
    if any(not 0 < port < 65_536 for port in grants.connect):
        raise JailError(f"Not a port: {grants.connect}.", role=role, level=level)
    python = interpreter()
    networked = bool(grants.connect)
    granted = tuple(str(path) for path in (*grants.read, *grants.write))
    layout = lay_out(granted, _wanted(row, grants, networked=networked))
    isolated = level == "full"
    allowed = rules(layout, may_exec=row.may_exec)
    # The finder of modules lists the folder that holds the package.
    allowed.append((python.root, landlock.READ_DIR))
    private = _private(row) if isolated else ()
    for path, _ in private:
        allowed.append((path, landlock.READ | landlock.CHANGE | landlock.EXECUTE))
    if isolated and row.may_exec:
        allowed += [("/proc", landlock.READ), ("/etc", landlock.READ), ("/", landlock.READ_DIR)]
    return Plan(
        role=role,
        module=module,
        level=level,
        builder=builder if isolated else "none",
        parent=os.getpid(),
        packages=python.packages,
        shown=layout.shown,
        links=(*layout.links, *(DEVICE_LINKS if row.may_exec else ())),
        files=_made_up_files(grants) if row.may_exec else (),
        private=private,
        rules=tuple(allowed),
        ports=grants.connect,
        may_exec=row.may_exec,
        network=networked,
        tcp=networked,
        udp=DNS_PORT in grants.connect,
        data=limits.data,
        address_space=limits.address_space,
        file_size=limits.file_size,
        descriptors=limits.descriptors,
        processes=limits.processes,
        oom_score=OOM_SCORE.get(role, OOM_OTHERS),
        probes=_probes(canary, layout.shown, private),
        landlock=level != "none",
        seccomp=level != "none",
        self_test=level != "none",
        listens=row.listens and not networked,
    )


def _wanted(row: RoleTrust, grants: Grants, *, networked: bool) -> dict[Showing, tuple[str, ...]]:
    run = interpreter().needs
    if row.may_exec:
        run += FOR_PROGRAMS
    devices = row.may_exec or row.model == "is"
    read = tuple(str(path) for path in grants.read)
    return {
        "read": (*(FOR_NETWORK if networked else ()), *(() if row.may_exec else read)),
        "run": (*run, *(read if row.may_exec else ())),
        "device": DEVICES if devices else (),
        "write": tuple(str(path) for path in grants.write),
    }


def _private(row: RoleTrust) -> tuple[tuple[str, int], ...]:
    if not row.may_exec:
        return ()
    return (("/tmp", PRIVATE_BYTES), ("/dev/shm", SHARED_MEMORY_BYTES))  # noqa: S108 - its own


def _made_up_files(grants: Grants) -> tuple[tuple[str, str], ...]:
    user, group = namespaces.inside_id(os.geteuid()), namespaces.inside_id(os.getegid())
    home = str(grants.write[0]) if grants.write else "/"
    return (
        ("/etc/passwd", f"gnomon:x:{user}:{group}:Gnomon:{home}:/bin/sh\n"),
        ("/etc/group", f"gnomon:x:{group}:\n"),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
        ("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    )


def _probes(
    canary: str | None,
    shown: tuple[tuple[str, Showing], ...],
    private: tuple[tuple[str, int], ...],
) -> tuple[str, ...]:
    """Paths that the gateway itself can reach and the child must not."""
    wanted = [canary, _home(), f"/proc/{os.getpid()}/environ"]
    places = [path for path, _ in shown]
    hidden = [path for path, _ in private]
    return tuple(
        path for path in wanted if path and path != "/" and not _overlaps(path, places, hidden)
    )


def _home() -> str | None:
    try:
        return str(Path.home())
    except RuntimeError:
        return None  # a user without an account and without HOME


def _overlaps(path: str, shown: list[str], private: list[str]) -> bool:
    real = os.path.realpath(path)
    inside = any(real == place or real.startswith(place + "/") for place in shown)
    holds = any(place.startswith(real + "/") for place in (*shown, *private))
    return inside or holds or real in private


def environment(plan: Plan, grants: Grants, given: Mapping[str, str]) -> dict[str, str]:
    """What the child finds in its environment: nothing of ours but what is named here."""
    home = str(grants.write[0]) if grants.write else "/"
    found = {"LANG": "C.UTF-8", "PATH": SYSTEM_PATH, "HOME": home}
    if plan.may_exec:
        # At `partial` there is no /tmp of its own.
        found["TMPDIR"] = "/tmp" if plan.level == "full" else home  # noqa: S108 - its own
    else:
        # One arena: every other one costs an idle process memory.
        found["MALLOC_ARENA_MAX"] = "1"
    return {**found, **given}
