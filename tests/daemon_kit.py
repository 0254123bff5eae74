"""A real daemon with a home of its own, spoken to as an operator does.

`House` is a home and the settings of whoever starts things in it; `Daemon` is one running
gateway. Everything waits for an event until a deadline, and ends only what it started.
"""

import asyncio
import contextlib
import http.client
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from gnomon.home import AgentPaths, Home
from gnomon.testing.openai_behaviours import Behaviour, Turn, ask_tools, say
from gnomon.testing.openai_parts import example_of, requested_schema
from gnomon.testing.openai_stub import OpenAIStub

READY_SECONDS = 30.0
END_SECONDS = 30.0
CALL_SECONDS = 90.0
MODEL = "stub-model"


def wait_until(holds: Callable[[], object], seconds: float = 20.0, what: str = "") -> Any:
    """The first true answer. Fails with what was waited for."""
    deadline = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what or holds}"
        time.sleep(0.02)


# --- processes ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Process:
    """A process by number and start, so that a number that is used again is another one."""

    pid: int
    began: str

    @property
    def alive(self) -> bool:
        return process_of(self.pid) == self


def process_of(pid: int) -> Process | None:
    """Null when there is none, or when it has ended and only waits to be collected."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else Process(pid, fields[19])


def descendants(pid: int) -> list[Process]:
    """All processes below a process, whatever namespaces they are in."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                text = (folder / "stat").read_text()
                parents[int(folder.name)] = int(text.rpartition(")")[2].split()[1])
    found, level = [], {pid}
    while level:
        level = {child for child, parent in parents.items() if parent in level}
        found += [process for each in level if (process := process_of(each)) is not None]
    return found


# --- the daemon --------------------------------------------------------------------------------


class RefusedError(Exception):
    """The gateway answered with an error. `code` and `facts` are its own."""

    def __init__(self, status: int, error: Mapping[str, Any]) -> None:
        super().__init__(str(error.get("message", error)))
        self.status = status
        self.code = str(error.get("code", ""))
        self.facts = error.get("facts", {})


@dataclass
class Daemon:
    """A gateway that said it is ready. `ready` is its line."""

    process: "subprocess.Popen[str]"
    home: Home
    ready: dict[str, Any]
    token: str
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        seconds: float = CALL_SECONDS,
        token: str | None = None,
    ) -> Any:
        """Run an operation. Raises RefusedError, or OSError when nobody answers."""
        where = urlsplit(self.ready["url"])
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=seconds)
        headers = {
            "Authorization": f"Bearer {self.token if token is None else token}",
            "Content-Type": "application/json",
        }
        with contextlib.closing(connection):
            body = json.dumps(dict(arguments or {}))
            connection.request("POST", f"/api/{name}", body, headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        if response.status != http.HTTPStatus.OK:
            raise RefusedError(response.status, answer.get("err", answer))
        return answer

    def chat(self, text: str, session: str | None = None, **more: Any) -> dict[str, Any]:
        asked = {"text": text} | ({"session": session} if session else {})
        return self.call("chat.turn", asked, **more)

    def status(self) -> dict[str, Any]:
        return self.call("status.show")

    def terminate(self) -> int:
        """End it in order; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(END_SECONDS)

    def kill(self) -> list[Process]:
        """SIGKILL; the processes that it had."""
        children = descendants(self.pid)
        self.process.kill()
        self.process.wait(END_SECONDS)
        return children

    def said(self) -> str:
        """Its error stream."""
        return self.log.read_text()


@dataclass
class House:
    """A home, and how things are started in it. `prefix` stands before each command."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict[str, str])
    prefix: tuple[str, ...] = ()
    _started: "list[subprocess.Popen[str]]" = field(default_factory=list)

    @property
    def home(self) -> Home:
        return Home(self.root)

    @property
    def agent(self) -> AgentPaths:
        return self.home.agent("main")

    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name[:7] != "GNOMON_"}
        return {**kept, "PYTHONWARNINGS": "error", **self.environ}

    def command(self, *arguments: str) -> list[str]:
        return [*self.prefix, str(Path(sys.executable).with_name("gnomon")), *arguments]

    def cli(
        self, *arguments: str, seconds: float = CALL_SECONDS, stdin: str | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run a verb with this home and wait for its end."""
        return subprocess.run(
            self.command(arguments[0], "--home", str(self.root), *arguments[1:]),
            env=self.env(),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def json(self, *arguments: str, code: int = 0) -> Any:
        """What a verb prints with `--json`. Checks its exit code."""
        done = self.cli(*arguments, "--json")
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout or done.stderr)

    def config(self, text: str) -> None:
        """Write config.toml, before the home is made or after."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.home.config.write_text(text)

    def launch(self, *more: str) -> "tuple[subprocess.Popen[str], Path]":
        """Start a foreground daemon; the caller reads its ready line."""
        log = self.root.parent / f"{self.root.name}-{time.monotonic_ns()}.log"
        flags = ("--foreground", "--port", "0", "--no-open", "--json")
        with log.open("w") as errors:
            process = subprocess.Popen(
                self.command("up", "--home", str(self.root), *flags, *more),
                env=self.env(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._started.append(process)
        return process, log

    def up(self, *more: str) -> Daemon:
        """Start a daemon and wait for its ready line."""
        process, log = self.launch(*more)
        ready = first_line(process)
        if not ready.get("ready"):
            process.wait(END_SECONDS)
            raise AssertionError(f"not ready: {ready} {log.read_text()}")
        token = self.home.operator_token.read_text().strip()
        return Daemon(process, self.home, ready, token, log)

    def refused(self, *more: str) -> tuple[int, dict[str, Any]]:
        """Start a daemon that must not start: its exit code and its error."""
        process, log = self.launch(*more)
        line = first_line(process)
        code = process.wait(END_SECONDS)
        assert line.get("ready") is False, line
        assert log.read_text() == "", "an expected failure is no traceback"
        return code, line["error"]

    def end(self) -> None:
        """End what is still there."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.wait(END_SECONDS)
            assert process.stdout is not None
            process.stdout.close()

    # --- its files -----------------------------------------------------------------------------

    def lines(self, path: Path) -> list[dict[str, Any]]:
        """The lines of a ledger's first file; none when it is not there."""
        if not path.exists():
            return []
        return [msgspec.json.decode(line) for line in path.read_bytes().splitlines() if line]

    def family(self, folder: Path) -> list[dict[str, Any]]:
        return [line for path in sorted(folder.glob("*.jsonl")) for line in self.lines(path)]

    def journal(self) -> str:
        return self.agent.journal.read_text() if self.agent.journal.exists() else ""


def first_line(process: "subprocess.Popen[str]", seconds: float = READY_SECONDS) -> dict[str, Any]:
    """The first line of JSON that a process prints."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    assert ready, f"no line within {seconds:.0f} s"
    line = process.stdout.readline()
    return json.loads(line) if line else {}


@contextlib.contextmanager
def a_house(root: Path, model: str = "none", url: str | None = None) -> Generator[House]:
    """A house with a model: `none`, `embedded`, or one at `url`."""
    environ = {"GNOMON_MODEL": model} | ({"GNOMON_MODEL_URL": url} if url else {})
    house = House(root, environ)
    try:
        yield house
    finally:
        house.end()


def snapshot(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder: mode and content."""
    return {
        str(path.relative_to(root)): (path.stat().st_mode, path.read_bytes())
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


# --- the model ---------------------------------------------------------------------------------


class StubThread:
    """A stub server in a thread of this process: its requests can be looked at."""

    def __init__(self, then: Behaviour, **more: Any) -> None:
        self.stub = OpenAIStub(then=then, **more)
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._up = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        async def live() -> None:
            async with self.stub:
                self._up.set()
                await self._stop.wait()

        self._loop.run_until_complete(live())
        self._loop.close()

    def __enter__(self) -> OpenAIStub:
        self._thread.start()
        assert self._up.wait(10)
        return self.stub

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)


Plan = Sequence[tuple[str, Mapping[str, Any]]]


def plays(plan: Plan, last: str = "Done.") -> Behaviour:
    """Play an agent that makes these tool calls, one a step, then answers."""

    async def behave(turn: Turn) -> None:
        schema = requested_schema(turn.request.body)
        if schema is not None:
            await say(msgspec.json.encode(example_of(schema)).decode(), tokens=(60, 30))(turn)
            return
        done = len(results_of(turn.request.messages))
        if done < len(plan):
            await ask_tools(plan[done], first_id=f"call_{done + 1}")(turn)
        else:
            await say(last)(turn)

    return behave


def results_of(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the tools of the last turn said, in order."""
    results: list[str] = []
    for message in messages:
        if message.get("role") == "user":
            results = []
        elif message.get("role") == "tool":
            results.append(str(message.get("content", "")))
    return results
