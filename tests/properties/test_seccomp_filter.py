"""The filter as data, run by an interpreter of its own: for both machines, without a kernel."""

import errno
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.trust.seccomp import (
    ALLOW,
    AND,
    AUDIT_ARCH,
    DENIED,
    ERRNO,
    FILE_FLAGS,
    JUMP_AT_LEAST,
    JUMP_BITS,
    JUMP_EQUAL,
    LISTENING,
    LOAD,
    MODES_AND_TIMES,
    PROCESSES,
    RETURN,
    Program,
    Rules,
)
from gnomon.trust.seccomp import (
    program as build,
)
from gnomon.trust.syscall_numbers import BY_MACHINE, HIGHEST

MACHINES = sorted(BY_MACHINE)
PLAIN = Rules(may_exec=False, isolated=True, own_pid=7)
TOOLS = Rules(may_exec=True, isolated=True, own_pid=7)
TOOLS_PARTIAL = Rules(may_exec=True, isolated=False, own_pid=7)
REMOTE = Rules(may_exec=False, isolated=True, own_pid=7, tcp=True)
NAMES = Rules(may_exec=False, isolated=True, own_pid=7, tcp=True, udp=True)
ENGINE = Rules(may_exec=False, isolated=True, own_pid=7, listens=True)
program = cache(build)
ALL = [PLAIN, TOOLS, TOOLS_PARTIAL, REMOTE, NAMES, ENGINE]
REFUSED, MISSING, TOLD_DONE = ERRNO | errno.EPERM, ERRNO | errno.ENOSYS, ERRNO


def run(code: Program, arch: int, number: int, arguments: tuple[int, ...] = ()) -> int:
    """What the kernel would answer. Jumps are relative and forward, as the kernel demands."""
    words = [number, arch, 0, 0]
    for value in (*arguments, *(0,) * 6)[:6]:
        words += [value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF]
    held = at = 0
    while True:
        operation, if_true, if_false, operand = code[at]
        at += 1
        match operation:
            case _ if operation == LOAD:
                held = words[operand // 4]
            case _ if operation == AND:
                held &= operand
            case _ if operation == RETURN:
                return operand
            case _:
                true = {
                    JUMP_EQUAL: held == operand,
                    JUMP_AT_LEAST: held >= operand,
                    JUMP_BITS: bool(held & operand),
                }[operation]
                at += if_true if true else if_false


def answer(machine: str, rules: Rules, name: str, *arguments: int) -> int:
    return run(program(machine, rules), AUDIT_ARCH[machine], BY_MACHINE[machine][name], arguments)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("rules", ALL)
def test_what_is_denied_to_all_is_denied_whatever_the_arguments(machine: str, rules: Rules) -> None:
    for name in DENIED:
        if name in BY_MACHINE[machine] and not (rules.listens and name in LISTENING):
            assert answer(machine, rules, name) == REFUSED, name


@pytest.mark.parametrize("machine", MACHINES)
@given(number=st.integers(0, 2**32 - 1), arch=st.integers(0, 2**32 - 1))
def test_no_other_architecture_gets_through(machine: str, number: int, arch: int) -> None:
    if arch != AUDIT_ARCH[machine]:
        assert run(program(machine, PLAIN), arch, number) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
@given(number=st.integers(HIGHEST + 1, 2**32 - 1))
def test_no_call_that_the_author_did_not_know_gets_through(machine: str, number: int) -> None:
    for rules in ALL:
        got = run(program(machine, rules), AUDIT_ARCH[machine], number)
        assert got == (REFUSED if number >= 0x40000000 else MISSING)


@pytest.mark.parametrize("machine", MACHINES)
@given(values=st.tuples(*[st.integers(0, 2**64 - 1)] * 6), number=st.integers(0, HIGHEST))
def test_the_filter_always_answers(machine: str, values: tuple[int, ...], number: int) -> None:
    for rules in ALL:
        got = run(program(machine, rules), AUDIT_ARCH[machine], number, values)
        assert got in {ALLOW, REFUSED, MISSING, TOLD_DONE}


@pytest.mark.parametrize("machine", MACHINES)
def test_clone_of_the_third_kind_does_not_exist(machine: str) -> None:
    for rules in ALL:
        assert answer(machine, rules, "clone3") == MISSING


@pytest.mark.parametrize("machine", MACHINES)
@given(flags=st.integers(0, 2**32 - 1), bit=st.integers(25, 30))
def test_no_clone_makes_a_namespace_or_a_sibling(machine: str, flags: int, bit: int) -> None:
    for rules in ALL:
        for foul in (1 << bit, 0x00020000, 0x8000):
            assert answer(machine, rules, "clone", flags | foul) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_are_for_all_and_processes_for_roles_with_programs(machine: str) -> None:
    thread, process = 0x003D0F00, 17
    for rules in ALL:
        assert answer(machine, rules, "clone", thread) == ALLOW
        expected = ALLOW if rules.may_exec else REFUSED
        assert answer(machine, rules, "clone", process) == expected
        for name in PROCESSES:
            if name in BY_MACHINE[machine]:
                assert answer(machine, rules, name) == expected, name


@pytest.mark.parametrize("machine", MACHINES)
@given(family=st.integers(0, 2**32 - 1), kind=st.integers(0, 2**32 - 1), of=st.integers(0, 300))
def test_only_the_granted_sockets_can_be_made(
    machine: str, family: int, kind: int, of: int
) -> None:
    stream = family in {2, 10} and kind & 0xF == 1 and of in {0, 6}
    datagram = family in {2, 10} and kind & 0xF == 2 and of in {0, 17}
    unix = family == 1 and kind & 0xF == 1
    for rules in ALL:
        open_to_it = (rules.tcp and stream) or (rules.udp and datagram) or (rules.listens and unix)
        expected = ALLOW if open_to_it else REFUSED
        assert answer(machine, rules, "socket", family, kind, of) == expected
        assert answer(machine, rules, "connect") == (ALLOW if rules.tcp else REFUSED)
        pair = ALLOW if family == 1 else REFUSED
        assert answer(machine, rules, "socketpair", family) == pair


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("family", "kind", "of", "who"),
    [(2, 1, 0, REMOTE), (10, 1 | 0o2004000, 6, REMOTE), (2, 2, 17, NAMES), (1, 1, 0, ENGINE)],
)
def test_each_granted_socket_can_be_made(
    machine: str, family: int, kind: int, of: int, who: Rules
) -> None:
    assert answer(machine, who, "socket", family, kind, of) == ALLOW
    assert answer(machine, PLAIN, "socket", family, kind, of) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
@given(process=st.integers(0, 2**31 - 1))
def test_no_role_without_programs_signals_another_process(machine: str, process: int) -> None:
    expected = ALLOW if process == 7 else REFUSED
    assert answer(machine, PLAIN, "kill", process) == expected
    assert answer(machine, PLAIN, "tgkill", process) == expected
    assert answer(machine, PLAIN, "kill", 2**32 - process - 1) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
@given(process=st.integers(1, 2**31 - 1))
def test_nobody_limits_another_process(machine: str, process: int) -> None:
    for rules in ALL:
        assert answer(machine, rules, "prlimit64", process) == REFUSED
        assert answer(machine, rules, "prlimit64", 0) == ALLOW
    assert answer(machine, TOOLS_PARTIAL, "setpriority", 0, process) == REFUSED
    assert answer(machine, TOOLS_PARTIAL, "setpriority", 1, 0) == REFUSED
    assert answer(machine, TOOLS_PARTIAL, "setpriority", 0, 0) == ALLOW
    assert answer(machine, TOOLS_PARTIAL, "ioprio_set", 1, process) == REFUSED
    assert answer(machine, TOOLS_PARTIAL, "ioprio_set", 1, 0) == ALLOW
    assert answer(machine, TOOLS_PARTIAL, "sched_setaffinity", process) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
def test_modes_and_times_are_changed_by_programs_behind_mounts_alone(machine: str) -> None:
    for name in MODES_AND_TIMES:
        if name in BY_MACHINE[machine]:
            assert answer(machine, TOOLS, name) == ALLOW
            assert answer(machine, TOOLS_PARTIAL, name) == TOLD_DONE
            assert answer(machine, PLAIN, name) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
def test_no_terminal_is_typed_into_no_flag_set_and_no_connect_rides_on_a_send(machine: str) -> None:
    for rules in ALL:
        for number in (0x5412, 0x541C, 0x7_0000_5412):
            assert answer(machine, rules, "ioctl", 0, number) == REFUSED
        assert answer(machine, rules, "ioctl", 0, 0x5401) == ALLOW
        for number in FILE_FLAGS:
            assert answer(machine, rules, "ioctl", 0, number) == REFUSED
        for command in (1024, 1026):
            assert answer(machine, rules, "fcntl", 0, command) == REFUSED
        assert answer(machine, rules, "fcntl", 0, 3) == ALLOW
        assert answer(machine, rules, "sendto", 0, 0, 0, 0x20000000) == REFUSED
        assert answer(machine, rules, "sendto", 0, 0, 0, 0x4000) == ALLOW
        assert answer(machine, rules, "sendmsg", 0, 0, 0x20000000) == REFUSED
        assert answer(machine, rules, "sendmmsg", 0, 0, 0, 0x20000000) == REFUSED


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_fits_what_the_kernel_takes(machine: str) -> None:
    for rules in ALL:
        code = program(machine, rules)
        assert len(code) < 4096
        assert all(0 <= true < 256 and 0 <= false < 256 for _, true, false, _ in code)
        for at, (operation, true, false, _) in enumerate(code):
            if operation in {JUMP_EQUAL, JUMP_AT_LEAST, JUMP_BITS}:
                assert at + 1 + max(true, false) < len(code)


def test_a_machine_without_a_table_has_no_filter() -> None:
    with pytest.raises(KeyError):
        program("riscv64", PLAIN)
