"""Starts that must not happen, and what a start hands over."""

import dataclasses
import os
from pathlib import Path

import pytest

from gnomon.domain.errors import JailError, TrustError
from gnomon.domain.policy import Role
from gnomon.trust import jail
from gnomon.trust.jail import Grants
from gnomon.trust.planning import make_plan
from gnomon.trust.roles import TABLE
from tests.jail_kit import HOSTILE, IDLE, Start, shell

pytestmark = pytest.mark.redteam


async def test_a_role_that_is_not_in_the_table_cannot_start(start: Start) -> None:
    for role in ("intruder", "gateway", "operator", "client"):
        with pytest.raises(TrustError):
            await start(role)


@pytest.mark.parametrize(
    "role", [row.role for row in TABLE if row.starts and row.network == "none"]
)
def test_a_role_without_network_cannot_be_granted_one(role: Role) -> None:
    with pytest.raises(JailError):
        make_plan(role, IDLE, Grants(connect=(443,)), level="full", builder="unshare", canary=None)


@pytest.mark.parametrize("path", ["/", "relative", "/no/such/place", "/tmp/\0", "/tmp/.."])
async def test_a_grant_that_cannot_be_is_refused(start: Start, path: str) -> None:
    with pytest.raises(JailError):
        await start("tool-host", Grants(read=(Path(path),)))


async def test_without_a_jail_a_role_starts_only_on_the_operators_word(start: Start) -> None:
    with pytest.raises(JailError) as caught:
        await start(level="none")
    assert "allow_unjailed" in caught.value.next_step
    child = await start(level="none", allow_unjailed=True, module=IDLE)
    assert child.level == "none"


@pytest.mark.parametrize("defence", ["landlock", "seccomp"])
async def test_a_jail_that_does_not_hold_does_not_start(defence: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.touch()
    plan = make_plan(
        "resident", IDLE, Grants(), level="partial", builder="none", canary=str(secret)
    )
    plan = dataclasses.replace(plan, **{defence: False})
    with pytest.raises(JailError) as caught:
        await jail.launch(plan, {}, Grants(), serve=None, extra={})
    assert caught.value.facts["probe"] == {"landlock": "write", "seccomp": "socket"}[defence]


@pytest.mark.needs("jail-full")
async def test_a_grant_swapped_for_a_link_after_it_was_planned_is_refused(tmp_path: Path) -> None:
    place, outside = tmp_path / "place", tmp_path / "outside"
    (place / "granted").mkdir(parents=True)
    (outside / "granted").mkdir(parents=True)
    grants = Grants(write=(place / "granted",))
    plan = make_plan("tool-host", HOSTILE, grants, level="full", builder="unshare", canary=None)
    place.rename(tmp_path / "was")
    place.symlink_to(outside)
    with pytest.raises(JailError) as caught:
        await jail.launch(plan, {}, grants, serve=None, extra={})
    assert caught.value.facts["step"] == "mounts"


@pytest.mark.needs("jail-full")
async def test_a_grant_through_a_link_is_shown_where_it_was_named(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "note").write_text("hello")
    (tmp_path / "link").symlink_to(real)
    child = await jail.start(
        "tool-host",
        HOSTILE,
        {},
        Grants(read=(tmp_path / "link" / "note",)),
        serve=None,
        level="full",
    )
    assert (await shell(child, f"cat {tmp_path}/link/note"))["output"] == "hello"
    await child.stop(5)


async def test_the_environment_holds_only_what_was_named(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GNOMON_MODEL_KEY", "a key")
    child = await start("tool-host", Grants(write=(tmp_path,)), environment={"ADDED": "1"})
    lines = (await shell(child, "env"))["output"].splitlines()
    names = {line.split("=")[0] for line in lines} - {"PWD", "OLDPWD", "_", "SHLVL"}
    assert names == {"LANG", "PATH", "HOME", "TMPDIR", "ADDED"}


async def test_only_the_pipe_is_inherited(start: Start, tmp_path: Path) -> None:
    leaked = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(leaked, True)
    child = await start("tool-host", Grants(write=(tmp_path,)))
    listed = await shell(
        child, "for n in 0 1 2 3 4 5 6 7 8 9; do [ -e /dev/fd/$n ] && echo $n; done"
    )
    os.close(leaked)
    assert set(listed["output"].split()) <= {"0", "1", "2"}
