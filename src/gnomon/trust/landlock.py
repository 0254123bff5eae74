"""Landlock: the kernel's own list of what a process may open, connect to and signal.

Constants and layouts: `<linux/landlock.h>` and Documentation/userspace-api/landlock.rst.
"""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Iterable

from gnomon.trust import kernel

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_CHAR = 1 << 6
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
MAKE_SOCK = 1 << 9
MAKE_FIFO = 1 << 10
MAKE_BLOCK = 1 << 11
MAKE_SYM = 1 << 12
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15

READ = READ_FILE | READ_DIR
CHANGE = (
    WRITE_FILE
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_DIR
    | MAKE_REG
    | MAKE_FIFO
    | MAKE_SYM
    | REFER
    | TRUNCATE
)
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""Rights that make sense for what is no folder; the kernel refuses the others there."""

BIND_TCP, CONNECT_TCP = 1 << 0, 1 << 1
SCOPE_ABSTRACT_UNIX, SCOPE_SIGNAL = 1 << 0, 1 << 1

FIRST_WITH_TRUNCATE = 3
FIRST_WITH_NETWORK = 4
FIRST_WITH_SCOPES = 6
_RULE_PATH, _RULE_PORT = 1, 2
_VERSION = 1


def abi() -> int:
    """The kernel's Landlock version; 0 where it has none."""
    try:
        return kernel.call(kernel.LANDLOCK_CREATE_RULESET, None, 0, _VERSION)
    except OSError:
        return 0


def handled(version: int) -> tuple[int, int, int]:
    """File rights, network rights and scopes that this version can hold back."""
    files = (1 << 13) - 1
    files |= REFER if version >= 2 else 0
    files |= TRUNCATE if version >= FIRST_WITH_TRUNCATE else 0
    files |= IOCTL_DEV if version >= 5 else 0
    network = BIND_TCP | CONNECT_TCP if version >= FIRST_WITH_NETWORK else 0
    scopes = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL if version >= FIRST_WITH_SCOPES else 0
    return files, network, scopes


def ruleset_attribute(version: int) -> bytes:
    """`struct landlock_ruleset_attr`, as long as this version knows it."""
    files, network, scopes = handled(version)
    if version >= FIRST_WITH_SCOPES:
        return struct.pack("QQQ", files, network, scopes)
    if version >= FIRST_WITH_NETWORK:
        return struct.pack("QQ", files, network)
    return struct.pack("Q", files)


def restrict(rules: Iterable[tuple[str, int]], ports: Iterable[int]) -> None:
    """Confine this process and its children for good. Needs `no_new_privs` to be set.

    `rules`: a path and what is allowed at and under it; what does not exist is passed over.
    `ports`: TCP ports that may be connected to. Everything else that the kernel's version
    knows is denied. Raises OSError.
    """
    version = abi()
    granted = tuple(ports)
    if granted and version < FIRST_WITH_NETWORK:
        raise OSError(errno.ENOSYS, "this kernel cannot hold a network to its granted ports")
    attribute = ruleset_attribute(version)
    ruleset = kernel.call(
        kernel.LANDLOCK_CREATE_RULESET,
        ctypes.create_string_buffer(attribute, len(attribute)),
        len(attribute),
        0,
    )
    try:
        for path, rights in rules:
            _allow_path(ruleset, path, rights & handled(version)[0])
        for port in granted:
            rule = ctypes.create_string_buffer(struct.pack("QQ", CONNECT_TCP, port), 16)
            kernel.call(kernel.LANDLOCK_ADD_RULE, ruleset, _RULE_PORT, rule, 0)
        kernel.call(kernel.LANDLOCK_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow_path(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= ON_FILES
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor), 12)
        if rights:
            kernel.call(kernel.LANDLOCK_ADD_RULE, ruleset, _RULE_PATH, rule, 0)
    finally:
        os.close(descriptor)
