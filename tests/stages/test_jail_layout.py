"""From grants to what a jail shows: links, order, overlaps, and what no one may be granted."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.domain.errors import JailError, TrustError
from gnomon.domain.views import JailLevel
from gnomon.trust import landlock
from gnomon.trust.interpreter import interpreter
from gnomon.trust.layout import lay_out, resolve, rules
from gnomon.trust.plan import Plan, dump, load
from gnomon.trust.planning import Grants, environment, make_plan
from gnomon.trust.selftest import failures, self_test


def plan_of(
    role: Any = "resident",
    grants: Grants | None = None,
    level: JailLevel = "full",
    canary: str | None = None,
) -> Plan:
    return make_plan(
        role,
        "gnomon.testing.idle_child",
        grants or Grants(),
        level=level,
        builder="unshare",
        canary=canary,
    )


def test_a_path_without_links_is_where_it_is(tmp_path: Path) -> None:
    assert resolve(str(tmp_path)) == resolve(os.path.realpath(tmp_path))
    assert resolve(str(tmp_path)).links == ()


def test_every_link_of_a_path_is_told_in_order(tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "again").symlink_to("inner")
    found = resolve(str(tmp_path / "one" / "again"))
    assert found.real == str(tmp_path / "real" / "inner")
    assert found.links == (
        (str(tmp_path / "one"), str(tmp_path / "real")),
        (str(tmp_path / "real" / "again"), str(tmp_path / "real" / "inner")),
    )


def test_links_that_go_in_circles_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="Too many"):
        resolve(str(tmp_path / "a"))
    with pytest.raises(JailError):
        lay_out([str(tmp_path / "a")], {"read": [str(tmp_path / "a")]})


def test_parents_come_before_children_and_equal_children_are_left_out(tmp_path: Path) -> None:
    for name in ("a/b/c", "a-b", "d"):
        (tmp_path / name).mkdir(parents=True)
    at = {name: str(tmp_path / name) for name in ("a", "a/b", "a/b/c", "a-b", "d")}
    layout = lay_out((), {"read": [at["a/b"], at["a"], at["d"]], "write": [at["a/b/c"]]})
    assert layout.shown == ((at["a"], "read"), (at["a/b/c"], "write"), (at["d"], "read"))


def test_what_is_granted_both_ways_may_be_written(tmp_path: Path) -> None:
    layout = lay_out((), {"write": [str(tmp_path)], "read": [str(tmp_path)]})
    assert layout.shown == ((str(tmp_path), "write"),)


def test_what_another_system_has_may_be_missing() -> None:
    assert lay_out((), {"read": ["/no/such/place"]}).shown == ()


@pytest.mark.parametrize("path", ["/", "//", "/usr/..", "relative", "", "/no/such", "/\0"])
def test_what_cannot_be_granted_is_refused(path: str) -> None:
    with pytest.raises(JailError):
        lay_out([path], {"read": [path]})


def test_only_roles_with_programs_may_run_what_they_see(tmp_path: Path) -> None:
    layout = lay_out((), {"run": ["/usr"], "write": [str(tmp_path)]})
    plain, tools = (dict(rules(layout, may_exec=may)) for may in (False, True))
    assert not any(rights & landlock.EXECUTE for rights in plain.values())
    assert tools["/usr"] & landlock.EXECUTE
    assert tools[str(tmp_path)] & landlock.EXECUTE


def test_no_rule_lets_a_device_or_a_socket_be_made(tmp_path: Path) -> None:
    made = landlock.MAKE_CHAR | landlock.MAKE_BLOCK | landlock.MAKE_SOCK
    for role in ("resident", "tool-host", "model-host", "probe"):
        plan = plan_of(role, grants=Grants(write=(tmp_path,)))
        assert not any(rights & made for _, rights in plan.rules)


def test_a_role_without_a_grant_may_change_nothing() -> None:
    for role in ("resident", "importer", "model-host", "judge"):
        allowed = plan_of(role).rules
        changing = [path for path, rights in allowed if rights & landlock.CHANGE]
        assert all(path.startswith("/dev/") for path in changing), role
        assert plan_of(role).file_size == 0


def test_a_plan_arrives_as_it_was(tmp_path: Path) -> None:
    plan = plan_of("tool-host", grants=Grants(read=(Path("/usr/share"),), write=(tmp_path,)))
    assert load(dump(plan)) == plan


@given(st.lists(st.integers(-5, 70_000), max_size=4))
def test_ports_are_ports(ports: list[int]) -> None:
    wanted = Grants(connect=tuple(ports))
    if all(0 < port < 65_536 for port in ports):
        plan = plan_of("model-host", grants=wanted)
        assert plan.ports == tuple(ports)
        assert plan.tcp == bool(ports)
        assert plan.udp == (53 in ports)
    else:
        with pytest.raises(JailError):
            plan_of("model-host", grants=wanted)


def test_names_and_certificates_are_shown_only_with_a_network() -> None:
    def seen(grants: Grants) -> set[str]:
        plan = plan_of("model-host", grants=grants)
        return {path for path, _ in plan.shown if path.startswith("/etc/ssl")}

    assert not seen(Grants())
    assert bool(seen(Grants(connect=(443,)))) == Path("/etc/ssl").exists()


def test_the_folder_that_gnomon_was_started_in_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    interpreter.cache_clear()
    try:
        assert not any(str(tmp_path) in path for path in interpreter().needs)
    finally:
        interpreter.cache_clear()


def test_of_the_package_nothing_beside_it_is_shown() -> None:
    python = interpreter()
    assert str(Path(python.root, "gnomon")) in python.needs
    assert python.root not in python.needs or "site-packages" in python.root


def test_a_role_without_programs_gets_no_tmp_and_no_made_up_files() -> None:
    plan = plan_of("resident")
    assert (plan.private, plan.files) == ((), ())
    assert not any(path == "/etc/passwd" for path, _ in plan.shown)


def test_the_environment_is_made_and_not_handed_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GNOMON_MODEL_KEY", "secret")
    grants = Grants(write=(tmp_path,))
    for role in ("resident", "tool-host"):
        plan = plan_of(role, grants=grants)
        found = environment(plan, grants, {"GIVEN": "1"})
        assert found["GIVEN"] == "1"
        assert found["HOME"] == str(tmp_path)
        assert "GNOMON_MODEL_KEY" not in found


def test_the_self_test_finds_an_open_door(tmp_path: Path) -> None:
    """Run here, where nothing is confined: every door is open, and it says so."""
    secret = tmp_path / "secret"
    secret.write_text("x")
    plan = plan_of(canary=str(secret))
    found = self_test(plan)
    assert set(failures(plan, found)) == {"write", "read", "stat", "socket", "exec", "signal"}
    assert secret.read_text() == "x"
    assert list(tmp_path.iterdir()) == [secret]


def test_at_partial_names_may_be_seen_and_nothing_else() -> None:
    plan = plan_of(level="partial")
    found: Any = dict.fromkeys(("write", "read", "stat", "socket", "exec", "signal"), "open")
    assert "stat" not in failures(plan, found)
    assert len(failures(plan, found)) == 5
    held: Any = dict.fromkeys(found, "held")
    assert failures(plan, held) == []


def test_a_role_without_a_row_has_no_plan() -> None:
    with pytest.raises(TrustError):
        plan_of("intruder")


@pytest.mark.parametrize(("version", "size"), [(1, 8), (2, 8), (3, 8), (4, 16), (5, 16), (6, 24)])
def test_the_ruleset_is_as_long_as_the_kernel_knows_it(version: int, size: int) -> None:
    assert len(landlock.ruleset_attribute(version)) == size
    files, network, scopes = landlock.handled(version)
    assert bool(files & landlock.REFER) == (version >= 2)
    assert bool(files & landlock.TRUNCATE) == (version >= 3)
    assert bool(files & landlock.IOCTL_DEV) == (version >= 5)
    assert bool(network) == (version >= 4)
    assert bool(scopes) == (version >= 6)
