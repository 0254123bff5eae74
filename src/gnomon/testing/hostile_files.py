"""Attacks on files, as a hostile child in a jail tries them. Each returns when it got through
and raises OSError when it was held.
"""

import ctypes
import errno
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

_libc = ctypes.CDLL(None, use_errno=True)
RENAME_EXCHANGE = 2
AT_FDCWD = -100
F_NOTIFY, DN_MODIFY = 1026, 2


class Targets(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the driver put what must be out of reach, and what may be reached.

    `secret` is a file in `outside`; `workspace` is granted or null; `foreign` lies in the
    workspace, belongs to another user and is closed to ours (null if the driver could not).
    """

    outside: str
    secret: str
    secret_inode: int
    read_only: str
    gateway: int
    address: int
    tcp: int
    tcp_other: int
    udp: int
    unix_path: str
    unix_abstract: str
    workspace: str | None = None
    foreign: str | None = None
    rounds: int = 2000


def checked(result: int) -> int:
    """A C call's result, or the OSError that it left."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def unless_refused(run: Callable[[], object]) -> None:
    """For what would change the machine: asked so that it fails in another way when the call
    is open. Raises the refusal itself.
    """
    try:
        run()
    except OSError as error:
        if error.errno == errno.EPERM:
            raise


def held(because: str) -> OSError:
    return OSError(0, because)


def attacks(on: Targets) -> dict[str, Callable[[], object]]:
    """Those that every role tries."""
    secret, outside = on.secret, on.outside
    return {
        "write": lambda: Path(secret).open("a", encoding="utf-8").close(),
        "create": lambda: Path(outside, "planted").write_text("x"),
        "make-folder": lambda: Path(outside, "planted-folder").mkdir(),
        "delete": lambda: Path(outside, "victim").unlink(),
        "rename": lambda: Path(outside, "victim2").rename(Path(outside, "moved")),
        "truncate": lambda: os.truncate(Path(outside, "victim3"), 0),
        "read": lambda: Path(secret).read_text(),
        "list": lambda: os.listdir(outside),  # noqa: PTH208
        "stat": lambda: os.stat(secret),  # noqa: PTH116
        "access": lambda: _true(os.access(secret, os.F_OK)),
        "change-folder": lambda: _there_and_back(outside),
        "chmod": lambda: os.chmod(secret, 0o640),  # noqa: PTH101
        "utime": lambda: os.utime(secret, (1, 1)),
        "set-attribute": lambda: os.setxattr(secret, "user.gnomon", b"x"),
        "watch": lambda: watch(outside),
        "watch-by-fcntl": lambda: watch_by_fcntl(outside),
        "watch-granted": lambda: watch_by_fcntl(on.read_only),
        "lease-granted": lambda: _lease(Path(__file__)),
        "flag-granted": lambda: _flag(on.read_only),
        "handle": lambda: _handle(secret),
        "change-root": lambda: unless_refused(lambda: os.chroot("/gnomon/nowhere")),
        "gateway-environment": lambda: Path(f"/proc/{on.gateway}/environ").read_bytes(),
        "gateway-memory": lambda: _open_close(f"/proc/{on.gateway}/mem"),
        "gateway-root": lambda: os.listdir(f"/proc/{on.gateway}/root/"),  # noqa: PTH208
        "gateway-descriptors": lambda: os.listdir(f"/proc/{on.gateway}/fd"),  # noqa: PTH208
        "gateway-exists": lambda: os.stat(f"/proc/{on.gateway}"),  # noqa: PTH116
        "write-read-only": lambda: Path(on.read_only, "planted").write_text("x"),
        "write-package": lambda: Path(__file__).open("a", encoding="utf-8").close(),
        "inherited-descriptor": lambda: find_descriptor(on.secret_inode),
        "inherited-variable": lambda: os.environ["GNOMON_TEST_SECRET"],
        "kernel-setting": lambda: _open_close("/proc/sys/kernel/core_pattern", os.O_WRONLY),
    }


def workspace_attacks(on: Targets, workspace: str) -> dict[str, Callable[[], object]]:
    """Those that need a place to write."""
    place = Path(workspace)
    return {
        "symbolic-link": lambda: _through_link(place, on.secret),
        "symbolic-link-folder": lambda: _through_link_folder(place, on),
        "hard-link": lambda: os.link(on.secret, place / "hard"),
        "dot-dot": lambda: Path(workspace + "/.." * 30 + on.secret).read_text(),
        "move-out": lambda: _move_out(place, on.outside),
        "move-in": lambda: os.rename(on.outside + "/victim3", place / "taken"),  # noqa: PTH104
        "device-node": lambda: os.mknod(place / "disk", 0o060_600, os.makedev(8, 0)),
        "unix-socket-node": lambda: os.mknod(place / "sock", 0o140_600),
        "give-away": lambda: _give_away(place),
        "set-user-bit-owner": lambda: _read_foreign(on),
        "swap-race": lambda: _swap_race(place, on),
    }


def _true(value: bool) -> None:
    if not value:
        raise held("it said no")


def _there_and_back(folder: str) -> None:
    os.chdir(folder)
    os.chdir("/")


def _open_close(path: str, flags: int = os.O_RDONLY) -> None:
    os.close(os.open(path, flags))


def watch(folder: str) -> None:
    """Hear of what happens to a file or in a folder."""
    descriptor = checked(_libc.inotify_init1(0))
    try:
        checked(_libc.inotify_add_watch(descriptor, os.fsencode(folder), 0xFFF))
    finally:
        os.close(descriptor)


def watch_by_fcntl(folder: str) -> None:
    """The older way to hear of it."""
    import fcntl
    import signal

    signal.signal(signal.SIGIO, signal.SIG_IGN)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.fcntl(descriptor, F_NOTIFY, DN_MODIFY)
    finally:
        os.close(descriptor)


def _lease(path: Path) -> None:
    import fcntl

    with path.open("rb") as file:
        fcntl.fcntl(file, 1024, fcntl.F_RDLCK)
        fcntl.fcntl(file, 1024, fcntl.F_UNLCK)


def _flag(folder: str) -> None:
    """Mark a folder that may only be read as one not to back up (FS_NODUMP_FL)."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, 0x40086602, (0x40).to_bytes(8, "little"))
    finally:
        os.close(descriptor)


def _handle(path: str) -> None:
    buffer = ctypes.create_string_buffer(136)
    buffer[0:4] = (128).to_bytes(4, "little")  # type: ignore[index]  # ctypes takes slices
    number = ctypes.c_int()
    checked(_libc.name_to_handle_at(AT_FDCWD, os.fsencode(path), buffer, ctypes.byref(number), 0))


def find_descriptor(inode: int) -> None:
    """Whether we were left a descriptor of this file."""
    for descriptor in range(1024):
        try:
            if os.fstat(descriptor).st_ino == inode:
                return
        except OSError:
            continue
    raise held("no descriptor of it")


def _through_link(place: Path, secret: str) -> None:
    link = place / "link"
    link.symlink_to(secret)
    link.read_text()


def _through_link_folder(place: Path, on: Targets) -> None:
    link = place / "link-folder"
    link.symlink_to(on.outside)
    (link / "planted").write_text("x")


def _move_out(place: Path, outside: str) -> None:
    mine = place / "mine"
    mine.write_text("x")
    mine.rename(Path(outside, "planted"))


def _give_away(place: Path) -> None:
    mine = place / "owned"
    mine.write_text("x")
    os.chown(mine, 12_345, 12_345)


def _read_foreign(on: Targets) -> None:
    if on.foreign is None:
        raise held("no file of another user here")
    Path(on.foreign).read_text()


def _swap_race(place: Path, on: Targets) -> None:
    """One thread swaps a folder and a link to the outside; another opens through the name."""
    real, fake = place / "swap", place / "swapped"
    real.mkdir()
    name = Path(on.secret).name
    (real / name).write_text("harmless")
    fake.symlink_to(on.outside)
    done = threading.Event()

    def swap() -> None:
        one, two = os.fsencode(real), os.fsencode(fake)
        while not done.is_set():
            _libc.renameat2(AT_FDCWD, one, AT_FDCWD, two, RENAME_EXCHANGE)

    swapper = threading.Thread(target=swap)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # else one thread may do all its rounds before the other runs
    swapper.start()
    escapes = 0
    try:
        for _ in range(on.rounds):
            try:
                escapes += (real / name).read_text() != "harmless"
            except OSError:
                continue
    finally:
        done.set()
        swapper.join()
        sys.setswitchinterval(interval)
    if not escapes:
        raise held(f"0 escapes of {on.rounds}")
