"""Runs the red team's driver as root and as an ordinary user, each request once a session."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gnomon.domain.policy import Role
from gnomon.domain.views import JailLevel
from gnomon.trust import jail
from gnomon.trust.jail import Child, Grants
from tests.jail_kit import HOSTILE, Start

DRIVER = Path(__file__).with_name("driver.py")
ORDINARY_ID = 65_533
"""No account of this machine. Whoever is not root already is an ordinary user."""
RUN_SECONDS = 90

Run = Callable[[Sequence[str], str], "subprocess.CompletedProcess[str]"]


def run_as(user: str, command: Sequence[str], text: str) -> "subprocess.CompletedProcess[str]":
    """Run a command as `root` or as an `ordinary` user, with an environment of its own."""
    if user == "ordinary" and os.geteuid() == 0:
        number = str(ORDINARY_ID)
        dropped = ["setpriv", "--reuid", number, "--regid", number, "--clear-groups"]
        command = [*dropped, *command]
    return subprocess.run(
        command,
        input=text,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": "/", "LANG": "C.UTF-8"},
    )


@pytest.fixture(scope="session")
def run_as_ordinary_user() -> Run:
    """Run a command as a user without any power: `(command, stdin) -> CompletedProcess`."""
    return lambda command, text: run_as("ordinary", command, text)


@cache
def _driven(user: str, request: str) -> str:
    done = run_as(user, [sys.executable, "-B", str(DRIVER)], request)
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout


@pytest.fixture(
    scope="session",
    params=[pytest.param("root", marks=pytest.mark.root), "ordinary"],
)
def user(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def drive(user: str) -> Callable[..., dict[str, Any]]:
    """Play a gateway with a hostile child: see `driver.Request`. Equal requests run once."""
    return lambda **request: json.loads(_driven(user, json.dumps(request, sort_keys=True)))


@pytest.fixture(params=[pytest.param("full", marks=pytest.mark.needs("jail-full")), "partial"])
def level(request: pytest.FixtureRequest) -> JailLevel:
    return request.param


@pytest.fixture
async def start(level: JailLevel) -> AsyncIterator[Start]:
    """Start children here, in this process, and stop them afterwards."""
    started: list[Child] = []

    async def begin(role: Role = "resident", grants: Grants | None = None, **more: Any) -> Child:
        module = more.pop("module", HOSTILE)
        more = {"level": level, "serve": None, **more}
        child = await jail.start(role, module, {"n": 1}, grants or Grants(), **more)
        started.append(child)
        return child

    yield begin
    for child in started:
        await child.stop(0.0)
