"""Each attack of the hostile child, for each kind of role, at each level, by each builder, as
root and as an ordinary user; and each once more with no jail, where it must get through.
"""

from collections.abc import Callable
from typing import Any

import pytest

from gnomon.trust.roles import TABLE, trust_of

Drive = Callable[..., dict[str, Any]]

PARTIAL_SHOWS = {"stat", "access", "change-folder", "gateway-exists"}
"""What level `partial` leaves open for everybody (docs/trust.md): names, sizes and times."""
PROGRAMS = {"exec", "fork", "outlive-gateway"}
"""What a role that runs programs may do. The last: a program may let go of its parent; it ends
with the jail all the same."""
TOLD_DONE = {"chmod", "utime"}
"""At `partial` a tool host's programs are told that it was done, and nothing was."""
POWERS = {
    *(
        "lease-granted",
        "write-package",
        "kernel-setting",
        "bpf",
        "open-tree",
        "log",
        "capabilities",
    ),
    *("device-node", "give-away", "set-user-bit-owner"),
}
"""What an ordinary user cannot do without any jail."""

JAILS = [
    pytest.param(
        {"level": "full", "builder": "unshare"}, id="full", marks=pytest.mark.needs("jail-full")
    ),
    pytest.param(
        {"level": "full", "builder": "bubblewrap"},
        id="full-bubblewrap",
        marks=pytest.mark.needs("jail-full", "bwrap"),
    ),
    pytest.param({"level": "partial"}, id="partial"),
]
STARTS = [
    pytest.param({"role": "resident"}, set(), id="resident"),
    pytest.param({"role": "tool-host"}, PROGRAMS, id="tool-host"),
    pytest.param({"role": "probe"}, set(), id="probe"),
    pytest.param({"role": "model-host"}, {"unix-listen"}, id="model-host-embedded"),
    pytest.param({"role": "model-host", "connect_tcp": True}, {"tcp"}, id="model-host-remote"),
    pytest.param(
        {"role": "model-host", "connect": [53]}, {"udp", "dns"}, id="model-host-with-names"
    ),
]

pytestmark = pytest.mark.redteam


def opened(answer: dict[str, Any]) -> set[str]:
    assert "attacks" in answer, answer
    return {name for name, found in answer["attacks"].items() if found["open"]}


@pytest.mark.parametrize("jail", JAILS)
@pytest.mark.parametrize(("start", "granted"), STARTS)
def test_nothing_is_open_but_what_the_role_was_granted(
    drive: Drive, jail: dict[str, Any], start: dict[str, Any], granted: set[str]
) -> None:
    answer = drive(attack=True, **jail, **start)
    known = set(granted)
    if jail["level"] == "partial":
        known |= PARTIAL_SHOWS
        known |= TOLD_DONE if trust_of(start["role"]).may_exec else set()
    assert opened(answer) == known
    assert answer["running"]
    assert not answer["faults"]


@pytest.mark.parametrize("jail", JAILS)
@pytest.mark.parametrize(("start", "granted"), STARTS)
def test_the_gateway_finds_nothing_changed(
    drive: Drive, jail: dict[str, Any], start: dict[str, Any], granted: set[str]
) -> None:
    answer = drive(attack=True, **jail, **start)
    effects = answer["effects"]
    assert effects.pop("owners") in ([], [answer["uid"]]), "files it made are the operator's"
    connections = effects.pop("connections")
    assert {name for name, came in connections.items() if came} == granted & {"tcp"}
    assert effects.pop("datagrams") == ("udp" in granted)
    assert effects == {
        "outside": ["secret", "socket", "victim", "victim2", "victim3"],
        "victims": ["untouched"] * 3,
        "secret": "the secret",
        "mode_kept": True,
        "time_kept": True,
        "attributes": [],
        "read_only": [],
        "memory": "pristine",
        "signals": 0,
        "scheduling_kept": True,
        "children": 0,
    }


def test_without_a_jail_every_attack_gets_through(drive: Drive) -> None:
    answer = drive(jailed=False)
    missing = {
        name
        for name, found in answer["attacks"].items()
        if not found["open"] and "not implemented" not in found["detail"]
    }
    assert missing <= (set() if answer["uid"] == 0 else POWERS)
    assert answer["effects"]["memory"] == "hostile!"
    assert answer["effects"]["signals"] > 0


WITHOUT = {
    # Left out at `partial` -> attacks that then get through, for a role without tools. (Running
    # a program is held by Landlock as well.)
    "landlock": {"read", "list", "make-folder", "write", "rename", "delete", "truncate"},
    "seccomp": {"udp", "fork", "chmod", "utime", "watch", "memfd", "io-uring", "unshare"},
}


@pytest.mark.parametrize("defence", WITHOUT)
def test_each_defence_is_what_holds(drive: Drive, defence: str) -> None:
    answer = drive(attack=True, level="partial", without=[defence])
    assert opened(answer) >= WITHOUT[defence]


@pytest.mark.needs("jail-full")
def test_namespaces_are_what_hides_names_and_sizes(drive: Drive) -> None:
    answer = drive(attack=True, level="full", without=["namespaces"])
    # The filter trusts them to hide the numbers of other processes.
    assert PARTIAL_SHOWS <= opened(answer) <= PARTIAL_SHOWS | {"pin-gateway", "slow-gateway"}


@pytest.mark.needs("jail-full")
def test_namespaces_alone_hold_without_landlock(drive: Drive) -> None:
    """Two walls: the mounts and Landlock each keep files out of reach alone."""
    answer = drive(attack=True, level="full", without=["landlock"])
    assert opened(answer) == set()


@pytest.mark.needs("jail-full")
def test_a_hundred_thousand_opens_through_a_swapped_link_escape_nowhere(drive: Drive) -> None:
    answer = drive(attack=True, role="tool-host", level="full", builder="unshare", rounds=100_000)
    assert answer["attacks"]["swap-race"] == {
        "open": False,
        "detail": "OSError: [Errno 0] 0 escapes of 100000",
    }


def test_the_swap_race_is_won_without_a_jail(drive: Drive) -> None:
    assert drive(jailed=False)["attacks"]["swap-race"]["open"]


@pytest.mark.parametrize("jail", JAILS)
def test_every_role_proves_its_jail_at_its_start(drive: Drive, jail: dict[str, Any]) -> None:
    roles = [row.role for row in TABLE if row.starts]
    found = drive(roles=roles, **jail)["self_tests"]
    assert found == {
        role: {
            "write": "held",
            "read": "held",
            "stat": "held" if jail["level"] == "full" else "open",
            "socket": "held",
            "exec": "granted" if trust_of(role).may_exec else "held",
            "signal": "held",
        }
        for role in roles
    }
