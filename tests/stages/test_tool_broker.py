"""The tool broker: decides every call, and keeps one host a run."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import msgspec
import pytest

from gnomon.agent.outcome import Outcome
from gnomon.agent.places import HostArgument
from gnomon.agent.remote_tools import RemoteTools
from gnomon.agent.tool_host import serve
from gnomon.brokers.held_writes import HeldWrite
from gnomon.brokers.tool import SLACK_SECONDS, ToolBroker, ToolGrant, quotes, seconds
from gnomon.brokers.tool_hosts import IDLE_SECONDS, ToolHosts
from gnomon.domain.errors import GnomonError, JailError, PipeError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.messages import ToolCall
from gnomon.domain.policy import AUTONOMIES, Autonomy, Role
from gnomon.domain.views import Folder, Source
from gnomon.testing.agent import Answering, FakeHost
from gnomon.testing.clock import FakeClock
from gnomon.testing.pipe import peer_pair
from gnomon.trust.ipc import Peer

SOURCE = Source(
    source="claude-code", session="s1", at="2026-05-24T18:00:00.000Z", path="/h/a.jsonl", line=7,
    quote="Run it twice.",
)  # fmt: skip
GONE = PipeError("The other process closed the pipe.")


def call(name: str = "shell", **arguments: object) -> ToolCall:
    given = arguments or ({"command": "ls"} if name == "shell" else {"path": "a"})
    return ToolCall(id="1", name=name, arguments=msgspec.json.encode(given).decode())


@dataclass
class World:
    """A broker with fake hosts; `answers` is what each new host answers."""

    answers: list[Answering] = field(default_factory=list)
    hosts: list[FakeHost] = field(default_factory=list)
    clock: FakeClock = field(default_factory=FakeClock)
    autonomy: Autonomy = "full"
    tools: frozenset[str] = frozenset({"read", "shell", "recall"})
    folders: tuple[Folder, ...] = ()
    failing: JailError | None = None
    starting: Callable[[], Awaitable[object]] | None = None

    def __post_init__(self) -> None:
        self.tool_hosts = ToolHosts(self._start, self.clock)
        self.held: list[HeldWrite] = []
        self.broker = ToolBroker(
            self.tool_hosts, self._grant, lambda: self.autonomy, self._recall, self._hold
        )

    async def _start(self, argument: HostArgument) -> FakeHost:
        if self.starting is not None:
            await self.starting()
        if self.failing is not None:
            raise self.failing
        host = FakeHost(argument, self.answers.pop(0) if self.answers else "ok")
        self.hosts.append(host)
        return host

    def _grant(self, agent: str) -> ToolGrant:
        assert agent == "a1"
        return ToolGrant(self.tools, Path("/w"), self.folders)

    async def _hold(self, asked: HeldWrite) -> Outcome:
        self.held.append(asked)
        return Outcome(text="Held for the operator: ap-1. Nothing was written.", error="HELD")

    async def _recall(self, query: str, limit: int) -> tuple[Source, ...]:
        return (SOURCE,) * limit if query == "flaky" else ()

    async def run(self, wanted: ToolCall, run: str = "r1") -> Outcome:
        return await asyncio.wait_for(self.broker.run("resident", run, "a1", wanted), 10)


async def test_a_call_runs_in_the_runs_own_host_started_when_first_needed():
    world = World()
    assert world.hosts == []
    assert await world.run(call()) == Outcome(text="ok")
    await world.run(call("read"))
    assert len(world.hosts) == 1
    assert world.hosts[0].argument == HostArgument(workspace="/w")
    assert world.hosts[0].requests == [
        {"name": "shell", "arguments": {"command": "ls"}},
        {"name": "read", "arguments": {"path": "a"}},
    ]
    await world.run(call(), run="r2")
    assert len(world.hosts) == 2


async def test_first_calls_at_the_same_time_share_one_host():
    world = World()
    world.starting = lambda: asyncio.sleep(0)
    await asyncio.gather(*(world.run(call()) for _ in range(5)))
    assert len(world.hosts) == 1


async def test_a_tool_that_the_manifest_does_not_grant_is_not_there():
    world = World(tools=frozenset({"read"}))
    for name in ("shell", "write", "format_disk", ""):
        refused = await world.run(call(name))
        assert refused == Outcome(text="Tool not found.", error="tool-not-found")
    assert world.hosts == []


async def test_arguments_are_checked_before_anything_starts():
    world = World()
    bad = ToolCall(id="1", name="shell", arguments='{"cmd":"ls"}')
    assert (await world.run(bad)).error == "INVALID_ARGUMENTS"
    assert world.hosts == []


async def test_policy_denies_every_role_but_the_resident_and_unknown_autonomies():
    world = World()
    for role in ("refiner", "client", "tool-host", cast(Role, "nobody")):
        refused = await world.broker.run(role, "r1", "a1", call())
        assert refused.error == "DENIED"
    world.autonomy = cast(Autonomy, "unheard-of")
    assert (await world.run(call())).error == "DENIED"
    assert world.hosts == []


async def test_a_tool_that_policy_holds_as_a_whole_is_denied(monkeypatch: pytest.MonkeyPatch):
    """Nobody could say what it would do."""
    from gnomon.brokers import tool

    world = World()
    monkeypatch.setattr(tool, "policy", lambda *_: "hold")
    assert (await world.run(call())).error == "DENIED"
    assert world.hosts == []
    assert world.held == []


# --- writes into a folder that is granted for reading ---------------------------------------


def granted_for_reading(tmp_path: Path) -> World:
    for name in ("readable/inner", "writable"):
        (tmp_path / name).mkdir(parents=True)
    return World(
        tools=frozenset({"read", "write", "edit", "shell", "recall"}),
        folders=(
            Folder(path=f"{tmp_path}/readable", writable=False),
            Folder(path=f"{tmp_path}/readable/inner", writable=True),
            Folder(path=f"{tmp_path}/writable", writable=True),
        ),
    )


async def test_a_write_or_edit_there_is_held_with_its_exact_target(tmp_path: Path):
    world = granted_for_reading(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "readable")
    wanted = call("write", path=f"{tmp_path}/link/../readable/a.txt", content="x")
    held = await world.run(wanted)
    assert held == Outcome(text="Held for the operator: ap-1. Nothing was written.", error="HELD")
    await world.run(call("edit", path=f"{tmp_path}/readable/b.txt", old="a", new="b"))
    assert [(each.role, each.run_id, each.tool, each.target) for each in world.held] == [
        ("resident", "r1", "write", tmp_path / "readable/a.txt"),
        ("resident", "r1", "edit", tmp_path / "readable/b.txt"),
    ]
    assert world.held[0].arguments == {"path": wanted_path(wanted), "content": "x"}
    assert world.hosts == [], "no tool ran"


def wanted_path(wanted: ToolCall) -> str:
    return msgspec.json.decode(wanted.arguments)["path"]


@pytest.mark.parametrize(
    "path", ["{0}/readable/inner/a", "{0}/writable/a", "a.txt", "{0}/elsewhere/a", "{0}/readable"]
)
async def test_every_other_write_goes_to_the_tool_host(tmp_path: Path, path: str):
    world = granted_for_reading(tmp_path)
    assert await world.run(call("write", path=path.format(tmp_path), content="x")) == Outcome(
        text="ok"
    )
    assert world.held == []


async def test_nothing_but_a_write_of_one_file_is_held(tmp_path: Path):
    world = granted_for_reading(tmp_path)
    await world.run(call("read", path=f"{tmp_path}/readable/a.txt"))
    await world.run(call("shell", command=f"echo x > {tmp_path}/readable/a.txt"))
    await world.run(call("write", path="a\0b", content="x"))
    await world.run(call("write", path="a/" * 2000, content="x"))
    assert world.held == []
    assert len(world.hosts[0].requests) == 4, "the tool host and its jail answer these"


@pytest.mark.parametrize("decision", ["deny", "allow"])
async def test_what_policy_does_not_hold_there_is_denied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decision: str
):
    from gnomon.brokers import tool

    world = granted_for_reading(tmp_path)
    monkeypatch.setattr(
        tool, "policy", lambda _role, action, _: "allow" if action == "tool:write" else decision
    )
    refused = await world.run(call("write", path=f"{tmp_path}/readable/a", content="x"))
    assert refused.error == "DENIED"
    assert "granted for reading" in refused.text
    assert (world.held, world.hosts) == ([], [])


async def test_what_is_held_says_whose_words_the_run_had_read(tmp_path: Path):
    world = granted_for_reading(tmp_path)
    wanted = call("write", path=f"{tmp_path}/readable/a.txt", content="x")
    await world.run(wanted)
    await world.run(call("recall", query="flaky", limit=2))
    await world.run(call("shell"))
    await world.run(wanted)
    await world.broker.end_run("r1")
    await world.run(wanted)
    assert [each.rests_on for each in world.held] == [(), ("claude-code", "files"), ()]


@pytest.mark.parametrize("autonomy", AUTONOMIES)
async def test_workspace_tools_run_at_every_autonomy(autonomy: Autonomy):
    world = World(autonomy=autonomy)
    assert (await world.run(call())).error is None


async def test_recall_answers_dated_quotes_without_a_host():
    world = World()
    found = await world.run(call("recall", query="flaky", limit=2))
    line = "2026-05-24T18:00:00.000Z claude-code (/h/a.jsonl:7)\nRun it twice."
    assert found == Outcome(text=f"{line}\n\n{line}")
    assert (await world.run(call("recall", query="nothing"))).text == "[nothing found]"
    assert world.hosts == []


def test_a_quote_without_a_date_or_a_file_says_so():
    bare = Source(source="codex", session="s9", at=None, path=None, line=None, quote="Yes.")
    assert quotes((bare,)) == "no date in its transcript codex (s9)\nYes."


async def test_a_host_that_died_is_started_again_once_and_its_call_is_not_repeated():
    world = World(answers=[GONE, GONE, "never"])
    first = await world.run(call())
    assert first.error == "TOOL_DIED"
    assert "unknown" in first.text
    assert len(world.hosts) == 1
    assert world.hosts[0].stopped.is_set()
    assert (await world.run(call())).error == "TOOL_DIED"
    third = await world.run(call())
    assert third == Outcome(text="The tool host died twice in this run.", error="TOOL_DIED")
    assert len(world.hosts) == 2
    assert (await world.run(call(), run="r2")).text == "never", "another run has its own"


async def test_a_host_that_does_not_answer_is_ended(monkeypatch: pytest.MonkeyPatch):
    from gnomon.brokers import tool

    async def hang(_: Fields) -> str:
        await asyncio.Event().wait()
        return "never"

    monkeypatch.setattr(tool, "CALL_SECONDS", 0.05)
    world = World(answers=[hang])
    late = await world.run(call("read"))
    assert late.error == "TIMEOUT"
    assert world.hosts[0].stopped.is_set()
    assert (await world.run(call("read"))).text == "ok"


def test_a_shell_command_has_its_own_time_and_some_slack():
    assert seconds("shell", {"command": "x", "timeout_seconds": 300}) == 300 + SLACK_SECONDS
    assert seconds("shell", {"command": "x"}) == 120 + SLACK_SECONDS
    assert seconds("read", {"path": "x"}) == 60


async def test_the_end_of_a_run_ends_its_host_and_only_its():
    world = World()
    await world.run(call())
    await world.run(call(), run="r2")
    await world.broker.end_run("r1")
    await world.broker.end_run("never-began")
    assert [host.stopped.is_set() for host in world.hosts] == [True, False]
    await world.broker.close()
    assert world.hosts[1].stopped.is_set()
    assert len(world.tool_hosts) == 0


async def test_a_call_under_way_at_the_end_of_its_run_starts_nothing_new():
    stopped = asyncio.Event()

    async def until_stopped(_: Fields) -> PipeError:
        await stopped.wait()
        return GONE

    world = World(answers=[until_stopped])
    under_way = asyncio.create_task(world.run(call()))
    while not world.hosts or not world.hosts[0].requests:
        await asyncio.sleep(0)
    await world.broker.end_run("r1")
    stopped.set()
    assert (await under_way).error == "TOOL_DIED"
    assert len(world.hosts) == 1


async def test_an_idle_host_is_ended_and_a_busy_one_is_not():
    go = asyncio.Event()

    async def waits(_: Fields) -> str:
        await go.wait()
        return "late"

    world = World(answers=["ok", waits])
    await world.run(call(), run="idle")
    busy = asyncio.create_task(world.run(call(), run="busy"))
    while len(world.hosts) < 2 or not world.hosts[1].requests:
        await asyncio.sleep(0)
    world.clock.advance(IDLE_SECONDS - 1)
    await world.broker.end_idle()
    assert not world.hosts[0].stopped.is_set()
    world.clock.advance(1)
    await world.broker.end_idle()
    assert [host.stopped.is_set() for host in world.hosts] == [True, False]
    go.set()
    assert (await busy).text == "late"
    assert (await world.run(call(), run="idle")).text == "ok", "a later call starts another"


async def test_a_grant_given_or_taken_back_is_in_force_at_the_next_call():
    world = World()
    await world.run(call())
    world.folders = (Folder(path="/data", writable=False),)
    await world.run(call())
    assert [host.argument.folders for host in world.hosts] == [(), world.folders]
    assert world.hosts[0].stopped.is_set()
    for _ in range(5):  # planned restarts do not use up those of a host that died
        world.folders = () if world.folders else (Folder(path="/data", writable=True),)
        assert (await world.run(call())).error is None


async def test_a_jail_that_cannot_be_built_is_said_and_nothing_runs():
    world = World(failing=JailError("No jail.", role="tool-host"))
    with pytest.raises(JailError):
        await world.run(call())
    assert world.hosts == []
    world.failing = None
    assert (await world.run(call())).text == "ok"


async def test_cancelling_a_call_cancels_it_in_the_host():
    cancelled = asyncio.Event()

    async def hang(_: Fields) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    world = World(answers=[hang])
    task = asyncio.create_task(world.run(call()))
    while not world.hosts or not world.hosts[0].requests:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled.is_set()
    assert not world.hosts[0].stopped.is_set(), "the run goes on; its host stays"


async def test_the_agent_asks_the_gateway_for_its_tools():
    asked: list[tuple[str, Fields]] = []

    async def gateway(op: str, args: Fields) -> Json:
        asked.append((op, args))
        return {"text": "made", "error": None}

    outcome = await RemoteTools(gateway, "r1").run("write", {"path": "a", "content": "é"})
    assert outcome == Outcome(text="made")
    op, args = asked[0]
    assert op == "tool.run"
    assert args["run"] == "r1"
    sent = msgspec.convert(args["call"], ToolCall)
    assert sent.name == "write"
    assert msgspec.json.decode(sent.arguments) == {"path": "a", "content": "é"}


# --- a real host, in this process, over a pipe in memory ------------------------------------


@contextlib.asynccontextmanager
async def host_in_process(argument: HostArgument) -> AsyncGenerator[Peer]:
    ours, theirs = peer_pair()
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(ours.run())
        group.create_task(theirs.run())
        serving = group.create_task(serve(theirs, cast(Fields, msgspec.to_builtins(argument))))
        yield ours
        ours.close()
        await serving


async def test_a_host_answers_over_the_pipe_what_the_broker_asked(tmp_path: Path):
    async with host_in_process(HostArgument(workspace=str(tmp_path))) as peer:
        asked = {"name": "write", "arguments": {"path": "a.txt", "content": "x"}}
        assert await peer.call("tool", asked) == {
            "text": "Created a.txt (1 bytes).",
            "error": None,
        }
        with pytest.raises(GnomonError, match="no operation"):
            await peer.call("turn", {})
    assert (tmp_path / "a.txt").read_text() == "x"


async def test_a_request_taken_back_ends_the_command(tmp_path: Path):
    async with host_in_process(HostArgument(workspace=str(tmp_path))) as peer:
        asked = {"name": "shell", "arguments": {"command": "echo $$ > own; echo > began; sleep 60"}}
        request = asyncio.create_task(peer.call("tool", asked))
        while not (tmp_path / "began").exists():
            await asyncio.sleep(0.01)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        again = {"name": "shell", "arguments": {"command": "kill -0 $(cat own) || echo gone"}}
        assert "gone" in str(await peer.call("tool", again))


async def test_a_host_ends_when_it_is_told_to(tmp_path: Path):
    ours, theirs = peer_pair()
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(ours.run())
        group.create_task(theirs.run())
        argument: Fields = {"workspace": str(tmp_path)}
        serving = group.create_task(serve(theirs, argument))
        await ours.call("stop", {})
        await serving
        ours.close()
