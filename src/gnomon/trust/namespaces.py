"""Namespaces by hand: a process that sees the granted paths, and no other process or network.

`separate` and `build_root` run in the fresh child, before it has a second thread. No
supervisor stays: the process that made the namespaces ends, and the one inside is a child of
the gateway itself.
"""

import os
import signal
import stat
from pathlib import Path

from gnomon.trust import kernel
from gnomon.trust.plan import Plan, Showing

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
CLONE_PARENT = 0x8000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REC, MS_PRIVATE = 0x4000, 0x40000

INSIDE_ID = 1000
"""The user and group that root becomes inside. Outside, what it makes stays root's."""
PID_MAX_IS_PER_NAMESPACE = (6, 14)
"""The kernel from which on `kernel.pid_max` belongs to the pid namespace. Before, writing it
would change the whole machine."""
LEAST_PID_MAX = 301
STAGING = ("/tmp", "/var/tmp", "/run", "/mnt")  # noqa: S108 - a place to mount over, unseen outside


def separate(plan: Plan, header_to: int) -> None:
    """Return in a new process inside new namespaces. The calling process does not return.

    Writes the new process's id (8 bytes) to `header_to`. Raises OSError.
    """
    user, group = os.geteuid(), os.getegid()
    flags = NEWUSER | NEWNS | NEWPID | NEWIPC | NEWUTS | NEWCGROUP
    kernel.unshare(flags | (0 if plan.network else NEWNET))
    _map_ids(user, group)
    waits, holds = os.pipe()
    # A sibling, not a child: the gateway is its parent, hears of its end and dies with it.
    child = kernel.call_named("clone", CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if child:
        os.write(header_to, child.to_bytes(8, "big"))
        os._exit(0)
    os.close(holds)
    os.read(waits, 1)  # until the process above has ended: its own death must not end us
    os.close(waits)


def trial() -> None:
    """Do the parts that a machine may forbid (AppArmor, containers, sysctls); OSError if so."""
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(NEWUSER | NEWNS | NEWPID | NEWIPC | NEWUTS | NEWCGROUP | NEWNET)
    _map_ids(user, group)
    kernel.mount("none", "/", "", MS_REC | MS_PRIVATE)
    root = next(place for place in STAGING if Path(place).is_dir())
    kernel.mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m")


def _map_ids(user: int, group: int) -> None:
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{inside_id(user)} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{inside_id(group)} {group} 1")


def inside_id(outside: int) -> int:
    """Root is nobody special inside; others keep their number."""
    return outside or INSIDE_ID


def build_root(plan: Plan) -> None:
    """Put a root of the granted paths in the place of the machine's. Raises OSError."""
    # Private: what the machine mounts later would come in without our attributes.
    kernel.mount("none", "/", "", MS_REC | MS_PRIVATE)
    trees = [(path, _tree(path, how)) for path, how in plan.shown]
    root = next(place for place in STAGING if Path(place).is_dir())
    kernel.mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m")
    for path, size in plan.private:
        Path(root + path).mkdir(parents=True)
        options = f"mode=0700,size={size}"
        kernel.mount("tmpfs", root + path, "tmpfs", MS_NOSUID | MS_NODEV, options)
    _build_skeleton(plan, root, trees)
    for path, tree in sorted(trees):
        kernel.attach_tree(tree, root + path)
        os.close(tree)
    if plan.may_exec:
        _mount_proc(plan, root)
    os.chdir(root)
    kernel.pivot_here()
    top = os.open("/", os.O_PATH | os.O_CLOEXEC)
    attributes = kernel.ATTR_RDONLY | kernel.ATTR_NOSUID | kernel.ATTR_NODEV
    kernel.set_mount_attributes(top, attributes, recursive=False)
    os.close(top)


def _tree(path: str, how: Showing) -> int:
    """A detached mount of what is at `path` now; whoever swaps it later swaps nothing here."""
    named = kernel.open_without_links(path)
    tree = kernel.clone_tree(named)
    os.close(named)
    kernel.set_mount_attributes(tree, _ATTRIBUTES[how])
    return tree


_ATTRIBUTES: dict[Showing, int] = {
    "read": kernel.ATTR_RDONLY | kernel.ATTR_NOSUID | kernel.ATTR_NODEV | kernel.ATTR_NOEXEC,
    "run": kernel.ATTR_RDONLY | kernel.ATTR_NOSUID | kernel.ATTR_NODEV,
    "write": kernel.ATTR_NOSUID | kernel.ATTR_NODEV,
    "device": kernel.ATTR_NOSUID | kernel.ATTR_NOEXEC,
}


def _build_skeleton(plan: Plan, root: str, trees: list[tuple[str, int]]) -> None:
    """Folders, files and links to mount on. Only on our own empty file systems: nothing here
    follows a link, and what lies inside another shown path is there already.
    """
    for path, tree in trees:
        if not _is_inside(path, plan):
            _make_place(Path(root + path), is_folder=stat.S_ISDIR(os.fstat(tree).st_mode))
    for path, target in plan.links:
        if not _is_inside(path, plan):
            Path(root + path).parent.mkdir(parents=True, exist_ok=True)
            Path(root + path).symlink_to(target)
    for path, text in plan.files:
        Path(root + path).parent.mkdir(parents=True, exist_ok=True)
        Path(root + path).write_text(text)


def _is_inside(path: str, plan: Plan) -> bool:
    return any(path.startswith(other + "/") for other, _ in plan.shown)


def _make_place(place: Path, *, is_folder: bool) -> None:
    if is_folder:
        place.mkdir(parents=True, exist_ok=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()


def _mount_proc(plan: Plan, root: str) -> None:
    """A /proc that shows this namespace alone, and none where the machine refuses one."""
    place = root + "/proc"
    Path(place).mkdir()
    try:
        kernel.mount("proc", place, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    except PermissionError:
        return
    release = os.uname().release.split(".")
    if (int(release[0]), int(release[1].split("-")[0])) >= PID_MAX_IS_PER_NAMESPACE:
        bound = max(LEAST_PID_MAX, plan.processes)
        Path(place, "sys/kernel/pid_max").write_text(str(bound))
    mounted = os.open(place, os.O_PATH | os.O_CLOEXEC)
    kernel.set_mount_attributes(mounted, kernel.ATTR_RDONLY)
    os.close(mounted)
