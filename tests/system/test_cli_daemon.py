"""The verbs as a person runs them, against a real daemon of their own."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gnomon.lock import holder

pytestmark = pytest.mark.system

GNOMON = str(Path(sys.executable).with_name("gnomon"))
SECONDS = 60


@dataclass(frozen=True)
class Machine:
    """A home of its own, and the environment in which the verbs run."""

    home: Path
    environ: dict[str, str]

    def run(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [GNOMON, *arguments],
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            **options,
        )

    def json(self, *arguments: str) -> Any:
        ran = self.run(*arguments, "--json")
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    home = tmp_path / "home"
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "GNOMON_HOME": str(home),
        "GNOMON_MODEL": "none",
    }
    return Machine(home, environ)


@pytest.fixture
def daemon(machine: Machine) -> Generator[dict[str, Any]]:
    process = subprocess.Popen(
        [GNOMON, "up", "--foreground", "--port", "0", "--no-open", "--json"],
        env=machine.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
        process.stdout.close()


def test_up_says_in_one_line_that_it_is_ready_and_status_finds_it(
    machine: Machine, daemon: dict[str, Any]
) -> None:
    assert daemon["ready"] is True
    assert {"url", "pid", "seconds"} <= set(daemon)
    status = machine.json("status")
    assert (status["running"], status["pid"], status["url"]) == (
        True,
        daemon["pid"],
        daemon["url"],
    )


def test_a_second_up_says_who_runs_and_changes_nothing(
    machine: Machine, daemon: dict[str, Any]
) -> None:
    before = (machine.home / "home.lock").read_bytes()
    ran = machine.run("up", "--foreground", "--port", "0", "--no-open")
    assert ran.returncode != 0
    assert str(daemon["pid"]) in ran.stderr
    assert (machine.home / "home.lock").read_bytes() == before
    assert machine.json("status")["pid"] == daemon["pid"]


def test_the_verbs_go_through_the_running_gateway(machine: Machine, daemon: dict[str, Any]) -> None:
    assert daemon["ready"]
    machine.json("pause", "--for", "2h")
    assert machine.json("status")["paused_until"] is not None
    machine.json("resume")
    assert machine.json("status")["paused_until"] is None
    notes = machine.home.parent / "notes"
    notes.mkdir()
    machine.json("folders", "add", str(notes))
    assert machine.json("folders", "list") == [{"path": str(notes), "writable": False}]
    machine.json("folders", "remove", str(notes))
    assert machine.json("folders", "list") == []
    assert machine.json("open")["url"].startswith(daemon["url"])
    assert machine.json("verify")["ok"] is True
    assert isinstance(machine.json("journal")["lines"], list)
    assert {"name", "kind", "current"} <= set(machine.json("model", "list")[0])
    assert machine.run("chat", "--session", "s-none", "hello", "--json").returncode == 2


def test_up_goes_on_in_the_background_until_down(machine: Machine) -> None:
    ran = machine.run("up", "--port", "0", "--no-open")
    assert ran.returncode == 0, ran.stderr
    assert "Dashboard: http://127.0.0.1:" in ran.stdout
    assert machine.json("status")["running"] is True
    assert machine.run("down").stdout == "Gnomon has stopped.\n"
    assert holder(machine.home / "home.lock") is None
    assert machine.json("status")["running"] is False
    assert machine.run("down").stdout == "Gnomon is not running here.\n"


def test_a_wrong_config_stops_up_with_its_line(machine: Machine) -> None:
    machine.home.mkdir()
    (machine.home / "config.toml").write_text("[kernel]\ntick_ms = 'fast'\n")
    ran = machine.run("up", "--foreground", "--port", "0", "--no-open")
    assert ran.returncode == 2
    assert "line 2" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.usefixtures("daemon")
def test_a_conversation_in_a_terminal_has_commands_and_ends_with_ctrl_d(machine: Machine) -> None:
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [GNOMON, "chat"],
        env={**machine.environ, "TERM": "xterm"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    seen = b""
    try:
        seen += _read_until(controller, b"> ")
        os.write(controller, b"/help\n")
        seen += _read_until(controller, b"leave, as Ctrl-D does")
        seen += _read_until(controller, b"> ")
        os.write(controller, b"how did I fix it?\n")
        seen += _read_until(controller, b" step")
        seen += _read_until(controller, b"> ")
        os.write(controller, b"\x04")
        assert process.wait(SECONDS) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(controller)
    assert b"Traceback" not in seen


def _read_until(controller: int, words: bytes) -> bytes:
    """What the terminal shows up to these words and no further: what follows is the next
    call's. The test's own timeout bounds it.
    """
    seen = b""
    while not seen.endswith(words):
        seen += os.read(controller, 1)
    return seen
