"""Attacks on other processes, the network and the kernel. Each returns when it got through
and raises OSError when it was held.
"""

import ctypes
import mmap
import os
import signal
import socket
import struct
from collections.abc import Callable

from gnomon.testing.hostile_files import Targets, checked, held, unless_refused
from gnomon.trust.syscall_numbers import BY_MACHINE

_libc = ctypes.CDLL(None, use_errno=True)
_NUMBERS = BY_MACHINE.get(os.uname().machine, {})
EPERM = 1
X32 = 0x40000000
PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
CLONE_NEWUSER = 0x10000000
INT80_GETPID = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"
"""mov eax, 20; int 0x80; ret: `getpid` by the 32-bit door."""


def attacks(on: Targets) -> dict[str, Callable[[], object]]:
    """Those that every role tries, by name."""
    return {**_network(on), **_processes(on), **_kernel(), **_machine()}


def _network(on: Targets) -> dict[str, Callable[[], object]]:
    return {
        "tcp": lambda: _connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", on.tcp)),
        "tcp-other-port": lambda: _connect(
            socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", on.tcp_other)
        ),
        "tcp-fast-open": lambda: _fast_open(on),
        "udp": lambda: _send(socket.AF_INET, ("127.0.0.1", on.udp)),
        "dns": lambda: _send(socket.AF_INET, ("127.0.0.1", 53)),
        "tcp-listen": _listen,
        "unix-listen": _unix_listen,
        "unix-path": lambda: _connect(socket.AF_UNIX, socket.SOCK_STREAM, on.unix_path),
        "unix-abstract": lambda: _connect(
            socket.AF_UNIX, socket.SOCK_STREAM, "\0" + on.unix_abstract
        ),
        "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(),
        "mptcp": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).close(),
        "socketpair-internet": _socketpair_internet,
    }


def _connect(family: int, kind: int, address: tuple[str, int] | str) -> None:
    with socket.socket(family, kind) as sock:
        sock.settimeout(5)
        sock.connect(address)


def _fast_open(on: Targets) -> None:
    """A connect that is none: it rides on the first send."""
    with socket.socket() as sock:
        sock.sendto(b"x", socket.MSG_FASTOPEN, ("127.0.0.1", on.tcp_other))


def _send(family: int, address: tuple[str, int]) -> None:
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", address)


def _listen() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()


def _unix_listen() -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(f"\0gnomon-hostile-{os.getpid()}")
        sock.listen()


def _socketpair_internet() -> None:
    # TIPC: the one other family that has pairs. Anything but "refused" got past the filter.
    unless_refused(lambda: socket.socketpair(30, socket.SOCK_STREAM))


def _processes(on: Targets) -> dict[str, Callable[[], object]]:
    gateway = on.gateway
    return {
        "exec": _spawn,
        "fork": _fork,
        "ptrace": lambda: _call("ptrace", PTRACE_SEIZE, gateway, 0, 0),
        "read-memory": lambda: _memory("process_vm_readv", on),
        "write-memory": lambda: _memory("process_vm_writev", on),
        "take-descriptor": lambda: take_descriptor(gateway, 0),
        "signal": lambda: os.kill(gateway, signal.SIGUSR1),
        "signal-queue": lambda: _call(
            "rt_sigqueueinfo",
            gateway,
            int(signal.SIGUSR1),
            ctypes.create_string_buffer(struct.pack("iii", int(signal.SIGUSR1), 0, -1), 128),
        ),
        "signal-thread": lambda: _call("tgkill", gateway, gateway, int(signal.SIGUSR1)),
        "signal-group": lambda: os.killpg(os.getpgid(gateway), 0),
        "limit-gateway": lambda: _call(
            "prlimit64", gateway, 7, None, ctypes.create_string_buffer(16)
        ),
        "slow-gateway": lambda: _slow(gateway),
        "pin-gateway": lambda: os.sched_setaffinity(gateway, os.sched_getaffinity(0)),
        "compare": lambda: _call("kcmp", os.getpid(), gateway, 0, 0, 0),
        "outlive-gateway": lambda: checked(_libc.prctl(1, 0, 0, 0, 0)),
        "new-namespace": _new_namespace,
        "sibling": _sibling,
    }


def _spawn() -> None:
    child = os.posix_spawn("/bin/true", ["true"], {})
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise held("it ran and failed")


def _fork() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _sibling() -> None:
    """A child that is the gateway's and not ours: CLONE_PARENT."""
    child = _call("clone", 0x8000 | int(signal.SIGCHLD), 0, 0, 0, 0)
    if child == 0:
        os._exit(0)


def _new_namespace() -> None:
    child = _call("clone", CLONE_NEWUSER | int(signal.SIGCHLD), 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _memory(name: str, on: Targets) -> None:
    """Read or write eight bytes of the gateway's at an address that it told us."""
    ours = ctypes.create_string_buffer(b"hostile!", 8)
    local = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(ours), 8), 16)
    remote = ctypes.create_string_buffer(struct.pack("QQ", on.address, 8), 16)
    _call(name, on.gateway, local, 1, remote, 1, 0)


def _slow(gateway: int) -> None:
    """By one step: to go faster takes a power that an ordinary user lacks."""
    now = os.getpriority(os.PRIO_PROCESS, gateway)
    os.setpriority(os.PRIO_PROCESS, gateway, now + 1)


def take_descriptor(gateway: int, number: int) -> None:
    """Have a descriptor of the gateway's for our own."""
    holder = os.pidfd_open(gateway)
    try:
        os.close(_call("pidfd_getfd", holder, number, 0))
    finally:
        os.close(holder)


def _kernel() -> dict[str, Callable[[], object]]:
    page = ctypes.create_string_buffer(4096)
    return {
        "memfd": lambda: os.close(os.memfd_create("x")),
        "memfd-secret": lambda: os.close(_call("memfd_secret", 0)),
        "io-uring": lambda: os.close(_call("io_uring_setup", 1, page)),
        "shared-memory": lambda: _call("shmctl", _call("shmget", 0, 4096, 0o600), 0, None),
        "semaphores": lambda: _call("semctl", _call("semget", 0, 1, 0o600), 0, 0),
        "messages": lambda: _call("msgctl", _call("msgget", 0, 0o600), 0, None),
        "posix-messages": _posix_messages,
        "keyring": lambda: _call("keyctl", 0, -3, 1),
        "add-key": lambda: _call("add_key", b"user\0", b"gnomon\0", b"x\0", 1, -1),
        "bpf": lambda: _call("bpf", 0, ctypes.create_string_buffer(_BPF_MAP, 128), 128),
        "perf": lambda: os.close(_call("perf_event_open", _perf(), 0, -1, -1, 0)),
        "userfaultfd": lambda: os.close(_call("userfaultfd", 1)),
        "fanotify": lambda: os.close(_call("fanotify_init", 0x200, 0)),
        "unshare": lambda: _call("unshare", 0),
        "clone3": _clone3,
        "mount": lambda: unless_refused(
            lambda: _call("mount", b"none\0", b"/gnomon/nowhere\0", b"\0", 0, 0)
        ),
        "open-tree": lambda: os.close(_call("open_tree", -100, b"/\0", 1)),
        "log": lambda: _call("syslog", 10, 0, 0),
        "clock": lambda: _call("clock_adjtime", 0, ctypes.create_string_buffer(256)),
        "new-call": _new_call,
    }


_BPF_MAP = struct.pack("IIII", 2, 4, 8, 1)
"""An array of one: key of 4 bytes, value of 8."""


def _perf() -> "ctypes.Array[ctypes.c_char]":
    """`struct perf_event_attr`: a software clock of our own, kernel and hypervisor left out."""
    return ctypes.create_string_buffer(struct.pack("IIQQQQQ", 1, 112, 0, 0, 0, 0, 0x61), 112)


def _posix_messages() -> None:
    os.close(_call("mq_open", b"gnomon-test\0", os.O_RDWR | os.O_CREAT, 0o600, 0))
    _call("mq_unlink", b"gnomon-test\0")


def _clone3() -> None:
    """Its flags cannot be seen by a filter, so it must not exist: ENOSYS, whatever is asked."""
    try:
        _call("clone3", 0, 0)
    except OSError as error:
        if error.errno == 38:
            raise


def _new_call() -> None:
    """A call newer than the filter. The kernel says ENOSYS too, where it has none there; a
    kernel that has it must not be reached, so the number is one that it has.
    """
    unless_refused(lambda: _call_number(_NUMBERS["file_setattr"], 0, 0, 0, 0, 0))


def _machine() -> dict[str, Callable[[], object]]:
    if os.uname().machine != "x86_64":
        return {}
    return {"x32": _x32, "int80": _int80}


def _x32() -> None:
    """The filter's refusal differs from a kernel that has no x32 (ENOSYS)."""
    unless_refused(lambda: _call_number(X32 | 39))


def _int80() -> None:
    with mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
        page.write(INT80_GETPID)
        start = (ctypes.c_char * 4096).from_buffer(page)
        result = int(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(start))())
        del start
    if result == -EPERM:
        raise held("the filter refused")


def _call(name: str, *arguments: "int | bytes | ctypes.Array[ctypes.c_char] | None") -> int:
    return _call_number(_NUMBERS[name], *arguments)


def _call_number(
    number: int, *arguments: "int | bytes | ctypes.Array[ctypes.c_char] | None"
) -> int:
    given = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return checked(int(_libc.syscall(ctypes.c_long(number), *given)))
