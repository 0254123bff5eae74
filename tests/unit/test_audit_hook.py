"""The hook that keeps unit tests pure is itself awake."""

import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.conftest import ImpureError


@pytest.mark.parametrize(
    "act",
    [
        lambda: Path("/etc/hostname").read_text(),
        lambda: Path("/").iterdir().__next__(),
        socket.socket,
        lambda: subprocess.run(["true"], check=True),
    ],
)
def test_a_unit_test_that_reaches_the_machine_fails(act: Callable[[], object]) -> None:
    with pytest.raises(ImpureError):
        act()
