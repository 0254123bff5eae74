"""What programs in a tool host's jail can do, and what they cannot."""

import os
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from gnomon.domain.views import JailLevel
from gnomon.trust.jail import Grants
from tests.jail_kit import BOUND, Start, ends, kernel, shell, until

pytestmark = pytest.mark.redteam


async def test_forking_without_end_stops_at_a_bound(
    start: Start, level: JailLevel, tmp_path: Path
) -> None:
    # The kernel never counts root's tasks; only a namespace's own bound holds them, from 6.14
    # on. What stays open is documented (docs/trust.md), and shown here.
    bounded = os.geteuid() != 0 or (level == "full" and kernel() >= (6, 14))
    child = await start("tool-host", Grants(write=(tmp_path,)))
    did: Any = await child.peer.call("do", {"does": "bomb", "most": 700}, timeout=BOUND)
    assert did["refused"] == bounded
    assert (did["children"] < 600) == bounded
    assert await child.call("do", {"does": "memory", "bytes": 1})


@pytest.mark.needs("git")
async def test_git_works_in_a_workspace(start: Start, tmp_path: Path) -> None:
    settings = resources.files("gnomon.data").joinpath("git", "gitconfig")
    child = await start(
        "tool-host",
        Grants(write=(tmp_path,)),
        environment={"GIT_CONFIG_SYSTEM": str(settings)},
    )
    done = await shell(
        child,
        "cd $HOME && git init -q . && echo hi > a && git add a && "
        "git commit -qm First && git log --format=%s",
    )
    assert done == {"code": 0, "output": "First\n"}
    assert (tmp_path / "a").stat().st_uid == os.geteuid()


async def test_programs_of_a_tool_host_cannot_reach_into_it(start: Start, tmp_path: Path) -> None:
    child = await start("tool-host", Grants(write=(tmp_path,)))
    for command in (
        "cat /proc/$PPID/environ",
        "dd if=/dev/zero of=/proc/$PPID/mem bs=1 count=1 seek=4096",
        "readlink /proc/$PPID/fd/3",
        "cat /proc/$PPID/maps",
    ):
        assert (await shell(child, command))["code"] != 0, command


async def test_a_tool_host_sees_of_etc_what_the_design_names(
    start: Start, level: JailLevel, tmp_path: Path
) -> None:
    child = await start("tool-host", Grants(write=(tmp_path,)))
    seen = (await shell(child, "cat /etc/passwd; cat /etc/shadow /etc/hostname; ls -A /etc"))[
        "output"
    ]
    assert "root:" not in seen
    if level == "full":
        names = set(seen.splitlines()[-1].split()) | set(seen.split())
        assert "gnomon:x:" in seen
        assert not names & {"shadow", "ssh", "hostname", "machine-id", "cron.d"} - {"hostname"}


async def test_a_folder_to_read_inside_one_to_write_cannot_be_written(
    level: JailLevel, start: Start, tmp_path: Path
) -> None:
    """At `full`, by its mount. Landlock alone cannot take a folder out of an allowed one."""
    inner = tmp_path / "inner"
    inner.mkdir()
    child = await start("tool-host", Grants(read=(inner,), write=(tmp_path,)))
    code = (await shell(child, f"echo x > {inner}/planted"))["code"]
    assert (code != 0) == (level == "full")


async def test_background_programs_end_with_their_host(start: Start, tmp_path: Path) -> None:
    child = await start("tool-host", Grants(write=(tmp_path,)))
    mark = str(tmp_path / "alive")
    loop = f"while :; do touch {mark}; sleep 0.02; done"
    await shell(child, f"(setsid sh -c '{loop}' &) >/dev/null 2>&1 </dev/null")
    await until(lambda: Path(mark).exists())
    await child.stop(0.0 if child.level == "full" else 5.0)
    await ends(Path(mark))
