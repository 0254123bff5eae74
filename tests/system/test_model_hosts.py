"""The real hosts in the real jail: the embedded model, and a server's model over TCP.

Nothing is asserted of what the embedded model says, only of its shape and its bounds.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from gnomon.clock import SystemClock
from gnomon.config import ModelConfig
from gnomon.domain.errors import (
    ModelRequestError,
    ModelTimeoutError,
    ModelUnavailableError,
    NoModelError,
)
from gnomon.domain.views import JailLevel
from gnomon.models.choice import parse_address
from gnomon.models.hosted import HostedModel, HostPlan, Plan
from gnomon.models.plans import embedded_plan, served_plan
from gnomon.testing import openai_behaviours as stub_can
from gnomon.testing.clock import FakeClock
from gnomon.testing.openai_stub import OpenAIStub
from gnomon.trust import jail
from tests.capabilities import has
from tests.model_kit import SCHEMA, ask

pytestmark = [pytest.mark.alone, pytest.mark.system]
CANARY = "sk-canary-0e4b7d21c9f8"
LEVELS: list[JailLevel] = [
    level for level in ("full", "partial") if level == "partial" or has("jail-full")
]


async def start(plan: HostPlan, level: JailLevel) -> jail.Child:
    grants = jail.Grants(read=tuple(map(Path, plan.read)), connect=plan.connect)
    return await jail.start(
        "model-host", plan.module, plan.argument, grants, serve=None, level=level
    )


@asynccontextmanager
async def jailed(
    plan: Plan, level: JailLevel = "partial", *, clock: FakeClock | None = None, key: str = ""
) -> AsyncGenerator[HostedModel]:
    model = HostedModel(
        plan=plan,
        start=partial(start, level=level),
        clock=clock or SystemClock(),
        idle_seconds=300.0,
        key=lambda: key or None,
    )
    try:
        yield model
    finally:
        await model.close()


def embedded(folder: Path) -> Plan:
    return partial(embedded_plan, folder)


# --- embedded ------------------------------------------------------------------------------


@pytest.mark.needs("embedded-model")
@pytest.mark.parametrize("level", LEVELS)
async def test_the_embedded_model_loads_on_first_use_streams_and_keeps_to_a_schema(
    tmp_path: Path, level: JailLevel
) -> None:
    async with jailed(embedded(tmp_path), level) as model:
        assert not model.loaded
        parts: list[str] = []
        reply = await model.complete(ask("Say hello.", max_tokens=12, timeout=60), parts.append)
        assert model.loaded
        assert "".join(parts) == reply.content
        assert len(parts) > 1
        assert reply.model == "smollm2-135m-instruct"
        assert (reply.tokens_in or 0) > 0
        assert 0 < (reply.tokens_out or 0) <= 12

        request = ask("What matters now?", schema=SCHEMA, max_tokens=120, timeout=60)
        answer = msgspec.json.decode((await model.complete(request)).content)
        assert set(answer) == {"focus"}
        assert len(answer["focus"]) <= 40


@pytest.mark.needs("embedded-model")
async def test_an_embedded_call_ends_in_time_and_leaves_the_engine_free(tmp_path: Path) -> None:
    async with jailed(embedded(tmp_path)) as model:
        await model.complete(ask("Hi", max_tokens=1, timeout=60))
        pid = model.pid
        with pytest.raises(ModelTimeoutError):
            await model.complete(ask("Tell a story. " * 200, max_tokens=2_000, timeout=0.5))
        heard = asyncio.Event()
        call = asyncio.create_task(
            model.complete(ask("Count.", max_tokens=2_000, timeout=60), lambda _: heard.set())
        )
        async with asyncio.timeout(60):
            await heard.wait()
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            began = time.monotonic()
            await model.complete(ask("Hi", max_tokens=1, timeout=60))
        assert model.pid == pid
        assert time.monotonic() - began < 20


@pytest.mark.needs("embedded-model")
async def test_what_the_engine_cannot_take_is_an_error_with_a_reason(tmp_path: Path) -> None:
    async with jailed(embedded(tmp_path)) as model:
        with pytest.raises(ModelRequestError, match="context"):
            await model.complete(ask("word " * 6_000, timeout=60))
        with pytest.raises(ModelRequestError, match="schema"):
            await model.complete(ask("Hi", schema={"type": "nonsense"}, timeout=60))


@pytest.mark.needs("embedded-model")
async def test_an_idle_embedded_host_is_ended_and_its_process_is_gone(tmp_path: Path) -> None:
    clock = FakeClock()
    async with jailed(embedded(tmp_path), clock=clock) as model:
        await model.complete(ask("Hi", max_tokens=1, timeout=60))
        pid = model.pid
        clock.advance(300)
        await model.end_if_idle(clock.boottime())
        assert not model.loaded
        with pytest.raises(ProcessLookupError):
            os.kill(pid or 0, 0)


@pytest.mark.needs("embedded-model")
async def test_weights_that_are_none_are_said(tmp_path: Path) -> None:
    weights = tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf"
    weights.write_bytes(b"GGUF" + b"\0" * 1_000)
    async with jailed(embedded(tmp_path)) as model:
        with pytest.raises(NoModelError, match="loaded"):
            await model.complete(ask("Hi", timeout=60))


@pytest.mark.needs("embedded-model")
async def test_a_killed_embedded_host_is_an_error_and_then_another(tmp_path: Path) -> None:
    async with jailed(embedded(tmp_path)) as model:
        heard = asyncio.Event()
        call = asyncio.create_task(
            model.complete(ask("Count.", max_tokens=2_000, timeout=60), lambda _: heard.set())
        )
        async with asyncio.timeout(60):
            await heard.wait()
            os.kill(model.pid or 0, 9)
            with pytest.raises(ModelUnavailableError):
                await call
        assert (await model.complete(ask("Hi", max_tokens=1, timeout=60))).tokens_out == 1


# --- a server's model --------------------------------------------------------------------


def at(url: str) -> Plan:
    return partial(served_plan, "stub-model", parse_address(url), ModelConfig())


@pytest.mark.parametrize("level", LEVELS)
async def test_a_servers_model_is_reached_from_the_jail(level: JailLevel) -> None:
    tools = stub_can.ask_tools(("shell", {"command": "ls"}))
    async with (
        OpenAIStub([stub_can.say("hello there"), tools]) as stub,
        jailed(at(stub.url), level) as model,
    ):
        parts: list[str] = []
        reply = await model.complete(ask(), parts.append)
        assert (reply.content, "".join(parts)) == ("hello there", "hello there")
        assert (await model.complete(ask())).tool_calls[0].name == "shell"


async def test_a_host_reaches_no_port_but_its_servers() -> None:
    async with OpenAIStub(then=stub_can.say("yes")) as granted, OpenAIStub() as other:

        async def plan() -> HostPlan:
            honest = await at(other.url)()
            return granted_another(honest, granted.port)

        async with jailed(plan) as model:
            with pytest.raises(ModelUnavailableError):
                await model.complete(ask())
        assert other.connections == 0


def granted_another(plan: HostPlan, port: int) -> HostPlan:
    """The argument of one server with the grant of another: a host that was taken over."""
    return HostPlan(module=plan.module, argument=plan.argument, connect=(port,))


async def test_a_jailed_hosts_command_line_and_environment_hold_no_key() -> None:
    os.environ["GNOMON_MODEL_KEY"] = CANARY
    try:
        async with (
            OpenAIStub(then=stub_can.say("hi"), key=CANARY) as stub,
            jailed(at(stub.url), key=CANARY) as model,
        ):
            await model.complete(ask())
            shown = await asyncio.to_thread(
                lambda: b"".join(
                    Path(f"/proc/{model.pid}/{name}").read_bytes()
                    for name in ("cmdline", "environ")
                )
            )
    finally:
        del os.environ["GNOMON_MODEL_KEY"]
    assert shown
    assert CANARY.encode() not in shown


async def test_a_host_that_is_stopped_is_killed_when_its_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stopped by a signal, it cannot end its own call: the gateway does."""
    monkeypatch.setattr("gnomon.models.hosted.HUNG_SECONDS", 0.2)
    async with (
        OpenAIStub([stub_can.say("hi")], then=stub_can.hang) as stub,
        jailed(at(stub.url)) as model,
    ):
        await model.complete(ask())
        pid = model.pid or 0
        os.kill(pid, 19)  # SIGSTOP
        with pytest.raises(ModelTimeoutError, match="was ended"):
            await model.complete(ask(timeout=0.2))
        assert not model.loaded
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_the_stub_runs_as_a_process_and_plays_an_agent() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "gnomon.testing.openai_stub", "--port", "0"),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(20):
            url = (await process.stdout.readline()).decode().strip()
        async with jailed(at(url)) as model:
            reply = await model.complete(ask(schema=SCHEMA))
            assert msgspec.json.decode(reply.content) == {"focus": "stub"}
            assert (await model.complete(replace(ask(), tools=()))).content.startswith("Done")
    finally:
        process.terminate()
        async with asyncio.timeout(10):
            await process.communicate()
    assert process.returncode == 0
