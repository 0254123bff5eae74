"""Namespaces by bubblewrap: where it is installed and may do what we may not."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache

from gnomon.trust import namespaces
from gnomon.trust.plan import Plan, Showing

TRIAL_SECONDS = 10.0
_BINDS: dict[Showing, str] = {
    "read": "--ro-bind",
    "run": "--ro-bind",
    "write": "--bind",
    "device": "--dev-bind",
}


@cache
def program() -> str | None:
    return shutil.which("bwrap", path="/usr/local/bin:/usr/bin:/bin")


@cache
def works() -> bool:
    """Whether it can make what a jail needs here: it may be there and be forbidden."""
    if program() is None:
        return False
    try:
        done = subprocess.run(
            [*_command(network=False), "--ro-bind", "/", "/", "--", "/bin/true"],
            timeout=TRIAL_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _command(*, network: bool) -> list[str]:
    user, group = (namespaces.inside_id(number) for number in (os.geteuid(), os.getegid()))
    shared = [] if network else ["--unshare-net"]
    return [
        str(program()),
        *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", *shared, "--die-with-parent", "--cap-drop", "ALL"),
        *("--uid", str(user), "--gid", str(group)),
    ]


def arguments(plan: Plan, files: Mapping[str, int]) -> list[str]:
    """The command line up to and with `--`. `files`: made-up files and descriptors of their
    text, which bubblewrap reads and closes.
    """
    mounts = [*_private(plan), *_links(plan)]
    for path, descriptor in files.items():
        mounts += ["--perms", "0444", "--file", str(descriptor), path]
    for path, how in plan.shown:
        mounts += [_BINDS[how], path, path]
    if plan.may_exec:
        mounts += ["--proc", "/proc"]
    return [*_command(network=plan.network), *mounts, "--remount-ro", "/", "--"]


def _private(plan: Plan) -> Iterator[str]:
    for path, size in plan.private:
        yield from ("--perms", "0700", "--size", str(size), "--tmpfs", path)


def _links(plan: Plan) -> Iterator[str]:
    places = [path for path, _ in plan.shown]
    for path, target in plan.links:
        if not any(path.startswith(place + "/") for place in places):
            yield from ("--symlink", target, path)
