"""Calls of the Linux kernel that Python has no name for, by ctypes.

Imports nothing of a third party: it runs in a child before it is confined.
"""

import ctypes
import os
import struct

NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": {"clone": 56, "pivot_root": 155, "capset": 126},
    "aarch64": {"clone": 220, "pivot_root": 41, "capset": 91},
}
"""Numbers that differ by machine (`asm/unistd.h`). Since 5.0 new calls have one number."""
OPEN_TREE, MOVE_MOUNT, OPENAT2, MOUNT_SETATTR = 428, 429, 437, 442
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446

AT_FDCWD = -100
AT_EMPTY_PATH, AT_RECURSIVE = 0x1000, 0x8000
RESOLVE_NO_SYMLINKS = 0x04
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC = 1, os.O_CLOEXEC
MOVE_MOUNT_F_EMPTY_PATH = 0x04
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV, ATTR_NOEXEC = 1, 2, 4, 8
MNT_DETACH = 2
CAP_VERSION_3 = 0x20080522

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
SECUREBITS_ALL_LOCKED = 0xEF
"""Root is no longer special: NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, all locked."""
LAST_CAPABILITY = 63

_libc = ctypes.CDLL(None, use_errno=True)


def machine() -> str:
    """`x86_64` or `aarch64`; without the 30 ms that `import platform` takes."""
    return os.uname().machine


def call(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """A system call. Raises OSError."""
    given = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *given))
    if result < 0:
        raise _failure(f"system call {number}")
    return result


def call_named(name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """A system call whose number differs by machine. Raises OSError (ENOSYS elsewhere)."""
    numbers = NUMBERS.get(machine())
    if numbers is None:
        raise OSError(38, f"no table of system calls for {machine()}")
    return call(numbers[name], *arguments)


def prctl(option: int, *arguments: int) -> int:
    """`prctl(2)`. Raises OSError."""
    given = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    result = int(_libc.prctl(ctypes.c_int(option), *given))
    if result < 0:
        raise _failure(f"prctl {option}")
    return result


def unshare(flags: int) -> None:
    """`unshare(2)`. Raises OSError."""
    if _libc.unshare(ctypes.c_int(flags)) < 0:
        raise _failure("unshare")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """`mount(2)`. Raises OSError."""
    result = _libc.mount(
        source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), data.encode()
    )
    if result < 0:
        raise _failure(f"mount {target}")


def unmount_lazily(target: str) -> None:
    if _libc.umount2(os.fsencode(target), ctypes.c_int(MNT_DETACH)) < 0:
        raise _failure(f"umount {target}")


def open_without_links(path: str) -> int:
    """A descriptor that only names `path`. Raises OSError (ELOOP) if any part is a link."""
    how = ctypes.create_string_buffer(
        struct.pack("QQQ", os.O_PATH | os.O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS), 24
    )
    return call(OPENAT2, AT_FDCWD, os.fsencode(path) + b"\0", how, 24)


def clone_tree(descriptor: int) -> int:
    """A detached copy of the mounts at and under what the descriptor names."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE
    return call(OPEN_TREE, descriptor, b"\0", flags)


def set_mount_attributes(descriptor: int, attributes: int, *, recursive: bool = True) -> None:
    """Add mount attributes (`ATTR_*`) to what the descriptor names."""
    what = ctypes.create_string_buffer(struct.pack("QQQQ", attributes, 0, 0, 0), 32)
    flags = AT_EMPTY_PATH | (AT_RECURSIVE if recursive else 0)
    call(MOUNT_SETATTR, descriptor, b"\0", flags, what, 32)


def attach_tree(descriptor: int, target: str) -> None:
    """Put a detached tree at `target`."""
    path = os.fsencode(target) + b"\0"
    call(MOVE_MOUNT, descriptor, b"\0", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH)


def pivot_here() -> None:
    """Make the current folder the root and let go of the old one."""
    call_named("pivot_root", b".\0", b".\0")
    unmount_lazily(".")
    os.chdir("/")


def drop_capabilities() -> None:
    """Give up every capability for good, also for programs run later, also for root."""
    for capability in range(LAST_CAPABILITY + 1):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            # EINVAL: past the last one. EPERM: an ordinary user, who has none to drop.
            break
    try:
        prctl(PR_SET_SECUREBITS, SECUREBITS_ALL_LOCKED)
    except PermissionError:
        if os.geteuid() == 0:
            raise
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = ctypes.create_string_buffer(struct.pack("Ii", CAP_VERSION_3, 0), 8)
    call_named("capset", header, ctypes.create_string_buffer(24))


def protect_this_process() -> None:
    """Let no process of the same user read or rewrite this one's memory (the gateway's).

    It also writes no core file, and /proc shows its environment to root alone.
    """
    prctl(PR_SET_DUMPABLE, 0)


def _failure(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")
