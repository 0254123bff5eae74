"""The CLI on a home without a daemon, beside another verb that has it, and in a terminal."""

import asyncio
import contextlib
import json
import os
import shlex
import subprocess
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from gnomon.testing.openai_behaviours import Behaviour, Turn, hang, say
from tests.daemon_kit import MODEL, House, StubThread, a_house, wait_until

pytestmark = [pytest.mark.system, pytest.mark.timeout(120)]

TRANSCRIPT = Path(__file__).parent.parent / "cases" / "transcripts"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path / "home") as made:
        yield made


def test_every_verb_works_on_a_home_that_nobody_has(house: House):
    assert house.json("status")["running"] is False
    told = house.json("chat", "what did I do?")
    assert told["turn"] == 1
    assert house.json("chat", "--session", told["session"], "and then?")["turn"] == 2
    folder = house.root.parent / "notes"
    folder.mkdir()
    assert house.cli("folders", "add", str(folder)).returncode == 0
    assert house.json("folders", "list") == [{"path": str(folder), "writable": False}]
    assert house.cli("folders", "remove", str(folder)).returncode == 0
    transcript = next(path for path in sorted(TRANSCRIPT.rglob("*.jsonl")))
    rows = house.json("import", str(transcript))
    assert len(rows) == 1
    assert house.json("import", str(transcript))[0]["new_observations"] == 0
    asked_for = {"corrections", "failures", "repeats", "loose_ends", "cost"}
    assert asked_for <= set(house.json("report"))
    assert house.cli("pause", "--for", "1h").returncode == 0
    assert house.json("status")["paused_until"] is not None
    assert house.cli("resume").returncode == 0
    assert house.json("status")["paused_until"] is None
    assert "Paused" in house.cli("journal").stdout
    assert house.json("verify")["ok"] is True
    assert {check["name"] for check in house.json("doctor")["checks"]} >= {"ledgers", "jail"}
    assert house.cli("down").stdout == "Gnomon is not running here.\n"
    kinds = [line["kind"] for line in house.lines(house.agent.engagement_ledger)]
    assert "gateway_started" not in kinds, "a verb is no gateway's life"
    daemon = house.up()
    assert daemon.chat("go on", told["session"])["turn"] == 3
    assert daemon.terminate() == 0


def test_a_verb_waits_for_another_that_has_the_home_for_a_moment(tmp_path: Path):
    with (
        StubThread(_slow("a slow answer")) as stub,
        a_house(tmp_path / "home", MODEL, stub.url) as house,
    ):
        house.cli("init")
        told: list[dict[str, object]] = []
        talker = threading.Thread(target=lambda: told.append(house.json("chat", "hello")))
        talker.start()
        wait_until(lambda: stub.received, 20, "the turn")
        status = house.json("status")
        talker.join(30)
        assert told[0]["reply"] == "a slow answer"
        assert status["running"] is False
        assert house.json("verify")["ok"] is True


def test_a_verb_that_was_killed_in_mid_turn_is_recovered_by_the_next(tmp_path: Path):
    with StubThread(say("first")) as stub, a_house(tmp_path / "home", MODEL, stub.url) as house:
        house.up().terminate()  # its heartbeat says that it ended in order
        first = house.json("chat", "one")
        stub.then = hang
        asked = len(stub.received)
        command = house.command("chat", "--home", str(house.root), "--json", "two")
        verb = subprocess.Popen(command, env=house.env(), stdout=subprocess.DEVNULL)
        wait_until(lambda: len(stub.received) > asked, 20, "the turn")
        verb.kill()
        verb.wait()
        stub.then = say("third")
        assert house.json("chat", "--session", str(first["session"]), "three")["turn"] == 2
        closed = [x for x in house.family(house.agent.runs) if x["kind"] == "closed"]
        assert [line["reason"] for line in closed] == ["crashed"]
        assert "Recovered" in house.journal()
        assert house.json("verify")["ok"] is True


def _slow(text: str) -> Behaviour:
    async def behave(turn: Turn) -> None:
        await asyncio.sleep(1.5)
        await say(text)(turn)

    return behave


# --- in a terminal -----------------------------------------------------------------------------


class Terminal:
    """A tmux session of its own server."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *arguments],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        return done.stdout

    def type(self, text: str) -> None:
        self.run("send-keys", "-t", "gnomon", "-l", text)
        self.run("send-keys", "-t", "gnomon", "Enter")

    def press(self, key: str) -> None:
        self.run("send-keys", "-t", "gnomon", key)

    def screen(self) -> str:
        return self.run("capture-pane", "-p", "-J", "-S", "-200", "-t", "gnomon")

    def sees(self, text: str, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while text not in self.screen():
            assert time.monotonic() < deadline, f"{text!r} is not in\n{self.screen()}"
            time.sleep(0.1)


@contextlib.contextmanager
def a_chat(house: House) -> Generator[Terminal]:
    terminal = Terminal(house.root.parent / "tmux")
    command = shlex.join(house.command("chat", "--home", str(house.root)))
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in house.environ.items())
    terminal.run("-f", os.devnull, "new-session", "-d", "-s", "gnomon", "-x", "100", "-y", "50",
                 f"env {settings} {command}; echo left with $?; sleep 30")  # fmt: skip
    try:
        yield terminal
    finally:
        terminal.run("kill-server")


@pytest.mark.needs("tmux")
@pytest.mark.parametrize("daemon", [False, True], ids=["in process", "with a daemon"])
def test_a_conversation_in_a_terminal(tmp_path: Path, daemon: bool):
    with (
        StubThread(say("The answer is blue.")) as stub,
        a_house(tmp_path / "home", MODEL, stub.url) as house,
    ):
        house.config('[kernel]\nmode = "off"\n')
        if daemon:
            house.up()
        with a_chat(house) as terminal:
            terminal.sees("/help shows what else there is")
            terminal.type("which colour?")
            terminal.sees("The answer is blue.")
            terminal.type("/undo")
            terminal.sees("is taken back")
            terminal.type("/sessions")
            terminal.sees("which colour?")

            stub.then = hang
            asked = len(stub.received)
            terminal.type("think for ever")
            wait_until(lambda: len(stub.received) > asked, 20, "the turn")
            terminal.press("C-c")
            terminal.sees("Taken back. The session goes on.")
            stub.then = say("Still here.")
            terminal.type("are you there?")
            terminal.sees("Still here.")
            terminal.press("C-d")
            terminal.sees("left with 0")
            assert "Traceback" not in terminal.screen()
        asked_last = json.dumps(stub.received[-1].body)
        assert "are you there?" in asked_last
        assert "think for ever" not in asked_last, "a cancelled turn is no context"
        assert "which colour?" not in asked_last, "nor one that was undone"
