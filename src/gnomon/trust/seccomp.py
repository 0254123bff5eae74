"""The filter of system calls: what Landlock and namespaces leave open is closed here.

`program` is pure and gives the filter as data, so that tests can run it without a kernel.
Layouts: `<linux/seccomp.h>`, `<linux/filter.h>`, `<linux/audit.h>`.
"""

import ctypes
import errno
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.trust import kernel
from gnomon.trust.syscall_numbers import BY_MACHINE, HIGHEST

ALLOW = 0x7FFF0000
ERRNO = 0x00050000
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000

LOAD, JUMP_EQUAL, JUMP_AT_LEAST, JUMP_BITS, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
OFFSET_NUMBER, OFFSET_ARCH, OFFSET_ARGUMENTS = 0, 4, 16

Instruction = tuple[int, int, int, int]
"""`code`, jump if true, jump if false, operand."""
Program = list[Instruction]

AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
SOCK_STREAM, SOCK_DGRAM, SOCK_TYPE_MASK = 1, 2, 0xF
IPPROTO_TCP, IPPROTO_UDP = 6, 17
MSG_FASTOPEN = 0x20000000
"""Connects in the send: Landlock's rule on connects does not see it."""
CLONE_THREAD = 0x00010000
CLONE_PARENT, CLONE_PTRACE, CLONE_UNTRACED = 0x00008000, 0x00002000, 0x00800000
CLONE_NAMESPACES = 0x7E020000
"""NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI, TIOCLINUX: typing into a terminal."""
FILE_FLAGS = (0x40086602, 0x40046602, 0x40087602, 0x401C5820, 0x40806685)
"""FS_IOC_SETFLAGS (and its 32-bit form), SETVERSION, FSSETXATTR, ENABLE_VERITY: they change a
file through a descriptor that may only read, and no Landlock right covers them."""
LEASE, NOTIFY = 1024, 1026
"""F_SETLEASE holds up whoever opens the file; F_NOTIFY watches a folder."""
PR_SET_PDEATHSIG = 1
PERSONALITY_QUERY = 0xFFFFFFFF
DONE_NOTHING = 0
"""As an error number: the call returns 0 and is not carried out."""

DENIED: tuple[str, ...] = (
    # other processes
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp"),
    *("process_madvise", "process_mrelease", "move_pages", "migrate_pages"),
    *("rt_sigqueueinfo", "rt_tgsigqueueinfo"),
    # talking past the pipe
    *("bind", "listen", "accept", "accept4"),
    *("shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop"),
    *("msgget", "msgsnd", "msgrcv", "msgctl"),
    *("mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr"),
    *("add_key", "request_key", "keyctl"),
    # much of the kernel behind one call
    *("bpf", "perf_event_open", "userfaultfd"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register"),
    # watching what cannot be read
    *("inotify_init", "inotify_init1", "inotify_add_watch", "fanotify_init", "fanotify_mark"),
    # files that no path names
    *("memfd_create", "memfd_secret", "name_to_handle_at", "open_by_handle_at"),
    # what Landlock does not hold back on files
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat", "file_setattr"),
    *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
    *("chown", "fchown", "lchown", "fchownat"),
    # the shape of the jail
    *("mount", "umount2", "pivot_root", "chroot", "setns", "unshare", "mount_setattr"),
    *("open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick"),
    # the machine
    *("swapon", "swapoff", "reboot", "kexec_load", "kexec_file_load", "acct", "syslog"),
    *("init_module", "finit_module", "delete_module", "iopl", "ioperm", "modify_ldt"),
    *("settimeofday", "clock_settime", "adjtimex", "clock_adjtime"),
    *("sethostname", "setdomainname", "quotactl", "quotactl_fd", "nfsservctl", "vhangup"),
    *("lookup_dcookie", "uselib", "sysfs", "ustat", "_sysctl"),
)
"""Refused for every role at every level (page 1's list, and its neighbours)."""

LISTENING = frozenset({"bind", "listen", "accept", "accept4"})
"""What a role with a listener of its own may do, on unix sockets alone."""

MODES_AND_TIMES: tuple[str, ...] = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2"),
    *("utime", "utimes", "futimesat", "utimensat"),
)
"""No Landlock right covers them: open only where the mounts hide everything else. At
`partial` the programs of a tool host hear that it was done and nothing was: git, tar and make
give up when they hear a refusal."""

PROCESSES: tuple[str, ...] = (
    *("execve", "execveat", "fork", "vfork", "tkill", "pidfd_open", "pidfd_send_signal"),
)
"""For roles that run programs."""

BY_PROCESS_ID: tuple[str, ...] = (
    *("sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity"),
)
"""First argument: a process; 0 is the caller."""


@dataclass(frozen=True)
class Rules:
    """What one process may do. `own_pid` is its id in its own namespace.

    `isolated`: namespaces hide everything that was not granted (level `full`). `listens`: it
    may open unix stream sockets and wait on them, but connect to none.
    """

    may_exec: bool
    isolated: bool
    own_pid: int
    tcp: bool = False
    udp: bool = False
    listens: bool = False


def program(machine: str, rules: Rules) -> Program:
    """The filter for a machine. Raises KeyError for a machine without a table."""
    numbers = BY_MACHINE[machine]
    code: Program = [
        (LOAD, 0, 0, OFFSET_ARCH),
        (JUMP_EQUAL, 1, 0, AUDIT_ARCH[machine]),
        _refuse(errno.EPERM),
        (LOAD, 0, 0, OFFSET_NUMBER),
        # x32 shares the architecture and has numbers of its own.
        *((JUMP_AT_LEAST, 0, 1, X32_BIT), _refuse(errno.EPERM)),
        *((JUMP_AT_LEAST, 0, 1, HIGHEST + 1), _refuse(errno.ENOSYS)),
    ]
    # Its flags lie in memory that a filter cannot read; libraries fall back to `clone`.
    refusals = {name: [_refuse(errno.EPERM)] for name in _denied(rules)}
    bodies = {**refusals, "clone3": [_refuse(errno.ENOSYS)], **_conditions(rules)}
    if rules.may_exec and not rules.isolated:
        bodies |= {name: [_refuse(DONE_NOTHING)] for name in MODES_AND_TIMES}
    for name, body in bodies.items():
        if name in numbers:
            code += [(JUMP_EQUAL, 0, len(body), numbers[name]), *body]
    return [*code, (RETURN, 0, 0, ALLOW)]


def _denied(rules: Rules) -> tuple[str, ...]:
    denied = tuple(name for name in DENIED if not (rules.listens and name in LISTENING))
    if not rules.may_exec:
        denied += PROCESSES
    if not rules.may_exec:
        denied += MODES_AND_TIMES
    if not rules.tcp:
        denied += ("connect",) if rules.listens else ("socket", "connect")
    return denied


def _conditions(rules: Rules) -> dict[str, Program]:
    """Calls that depend on their arguments."""
    found: dict[str, Program] = {
        "socketpair": _only(0, (AF_UNIX,)),
        "ioctl": _not(1, (*TERMINAL_INPUT, *FILE_FLAGS)),
        "fcntl": _not(1, (LEASE, NOTIFY)),
        "personality": _only(0, (0, PERSONALITY_QUERY)),
        "prlimit64": _only(0, (0,)),
        "clone": _clone(rules),
        "sendto": _without_bits(3, MSG_FASTOPEN),
        "sendmsg": _without_bits(2, MSG_FASTOPEN),
        "sendmmsg": _without_bits(3, MSG_FASTOPEN),
    }
    if rules.tcp:
        found["socket"] = _internet(udp=rules.udp)
    elif rules.listens:
        found["socket"] = _unix_streams()
    if not rules.may_exec:
        found["kill"] = _only(0, (rules.own_pid,))
        found["tgkill"] = _only(0, (rules.own_pid,))
        found["prctl"] = _not(0, (PR_SET_PDEATHSIG,))
    if not rules.isolated:
        # Elsewhere the ids of others do not exist for it.
        found |= {name: _only(0, (0,)) for name in BY_PROCESS_ID}
        found["setpriority"] = _only(1, (0,), also=_only(0, (0,)))
        found["ioprio_set"] = _only(1, (0,), also=_only(0, (1,)))
    return found


def _refuse(number: int) -> Instruction:
    return (RETURN, 0, 0, ERRNO | number)


def _load(argument: int) -> Instruction:
    """The low half of an argument: all that the kernel reads of an `int`, and the calls that
    are looked at here take no other kind. (Both machines are little-endian.)
    """
    return (LOAD, 0, 0, OFFSET_ARGUMENTS + 8 * argument)


def _only(argument: int, values: Sequence[int], also: Program | None = None) -> Program:
    """Allow these values (and then ask `also`); refuse all others."""
    accept = also or [(RETURN, 0, 0, ALLOW)]
    count = len(values)
    tests: Program = [(JUMP_EQUAL, count - n, 0, value) for n, value in enumerate(values)]
    return [_load(argument), *tests, _refuse(errno.EPERM), *accept]


def _not(argument: int, values: Sequence[int]) -> Program:
    count = len(values)
    tests: Program = [(JUMP_EQUAL, count - n, 0, value) for n, value in enumerate(values)]
    return [_load(argument), *tests, (RETURN, 0, 0, ALLOW), _refuse(errno.EPERM)]


def _without_bits(argument: int, mask: int) -> Program:
    return [
        _load(argument),
        (JUMP_BITS, 0, 1, mask),
        _refuse(errno.EPERM),
        (RETURN, 0, 0, ALLOW),
    ]


def _clone(rules: Rules) -> Program:
    """Threads for all; processes for roles that run programs; namespaces for nobody, and no
    child that would be a sibling, whose end nobody here would see.
    """
    foul = CLONE_NAMESPACES | CLONE_PARENT | CLONE_PTRACE | CLONE_UNTRACED
    if rules.may_exec:
        return _without_bits(0, foul)
    return [
        _load(0),
        *((JUMP_BITS, 0, 1, foul), _refuse(errno.EPERM)),
        *((JUMP_BITS, 0, 1, CLONE_THREAD), (RETURN, 0, 0, ALLOW)),
        _refuse(errno.EPERM),
    ]


def _unix_streams() -> Program:
    return [
        _load(0),
        *((JUMP_EQUAL, 1, 0, AF_UNIX), _refuse(errno.EPERM)),
        *(_load(1), (AND, 0, 0, SOCK_TYPE_MASK)),
        *((JUMP_EQUAL, 1, 0, SOCK_STREAM), _refuse(errno.EPERM)),
        (RETURN, 0, 0, ALLOW),
    ]


def _internet(*, udp: bool) -> Program:
    """TCP, and UDP for names where it was granted. Other protocols of the same families
    (MPTCP, raw, SCTP) are beyond Landlock's rule on connects.
    """
    stream = _only(2, (0, IPPROTO_TCP))
    datagram = _only(2, (0, IPPROTO_UDP)) if udp else [_refuse(errno.EPERM)]
    return [
        _load(0),
        *((JUMP_EQUAL, 2, 0, AF_INET), (JUMP_EQUAL, 1, 0, AF_INET6), _refuse(errno.EPERM)),
        *(_load(1), (AND, 0, 0, SOCK_TYPE_MASK)),
        *((JUMP_EQUAL, 0, len(stream), SOCK_STREAM), *stream),
        *((JUMP_EQUAL, 0, len(datagram), SOCK_DGRAM), *datagram),
        _refuse(errno.EPERM),
    ]


def install(rules: Rules) -> None:
    """Filter this process and its children for good. Needs `no_new_privs`. Raises OSError."""
    machine = kernel.machine()
    if machine not in BY_MACHINE:
        raise OSError(errno.ENOSYS, f"no table of system calls for {machine}")
    code = program(machine, rules)
    packed = b"".join(struct.pack("HBBI", *instruction) for instruction in code)
    instructions = ctypes.create_string_buffer(packed, len(packed))
    header = struct.pack("HxxxxxxP", len(code), ctypes.addressof(instructions))
    buffer = ctypes.create_string_buffer(header, len(header))
    kernel.prctl(kernel.PR_SET_SECCOMP, 2, ctypes.addressof(buffer))
