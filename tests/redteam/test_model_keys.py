"""A key is seen by the model's server and by nobody else (fault 53). Canary scans.

The server is made to echo the key in everything that it says, the error paths all run, and
whatever they leave behind is searched: errors, logs, reprs, arguments, environments.
"""

import asyncio
import logging
import sys
import traceback
from pathlib import Path

import msgspec
import pytest

from gnomon.config import ModelConfig
from gnomon.domain.errors import ConfigError, ModelAuthError, ModelError
from gnomon.models.choice import KeySource, parse_address, read_key, resolve
from gnomon.models.offers import offers
from gnomon.models.plans import served_plan
from gnomon.testing import openai_behaviours as stub_can
from gnomon.testing.openai_stub import OpenAIStub
from tests.model_kit import ask, complete, hosted, openai_host

CANARY = "sk-canary-7f3a91c2d4e5b6a7"


def echoes(code: int) -> stub_can.Behaviour:
    """A server that repeats the key in its error, as some do."""

    async def behave(turn: stub_can.Turn) -> None:
        said = turn.request.headers.get("authorization", "")
        await turn.json({"error": {"message": f"You sent {said} and it is bad"}}, code)

    return behave


async def echoes_in_stream(turn: stub_can.Turn) -> None:
    await turn.begin_stream()
    await turn.event({"error": {"message": f"bad {turn.request.headers['authorization']}"}})


async def echoes_in_status_line(turn: stub_can.Turn) -> None:
    await turn.raw(f"HTTP/9 {turn.request.headers['authorization']}\r\n\r\n".encode())


ECHOES: list[stub_can.Behaviour] = [
    *(echoes(code) for code in (400, 401, 403, 404, 402, 422, 429, 500, 503)),
    echoes_in_stream,
    echoes_in_status_line,
    stub_can.garbage(CANARY.encode()),
]


def everything_in(error: BaseException) -> str:
    """All text that an error and its causes could put into a log."""
    seen = [repr(error), str(error), "".join(traceback.format_exception(error))]
    if isinstance(error, ModelError):
        seen += [error.message, error.next_step, repr(dict(error.facts))]
    return "\n".join(seen)


@pytest.mark.parametrize("behaviour", ECHOES)
async def test_an_echoed_key_is_in_no_error_and_no_log(
    behaviour: stub_can.Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with OpenAIStub(then=behaviour) as stub:
        with pytest.raises(ModelError) as caught:
            await complete(openai_host(stub), ask(), key=CANARY)
        assert stub.received[0].headers["authorization"] == f"Bearer {CANARY}"
    assert CANARY not in everything_in(caught.value)
    assert CANARY not in caplog.text


@pytest.mark.parametrize("behaviour", ECHOES)
async def test_an_echoed_key_does_not_come_over_the_pipe(
    behaviour: stub_can.Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with OpenAIStub(then=behaviour) as stub, hosted(stub, key=CANARY) as (model, _):
        with pytest.raises(ModelError) as caught:
            await model.complete(ask())
    assert CANARY not in everything_in(caught.value)
    assert CANARY not in caplog.text


def test_the_scan_finds_a_key_that_is_not_scrubbed() -> None:
    """The defence off: the same scan must then see it."""
    assert CANARY in everything_in(ModelError(f"You sent Bearer {CANARY}"))


async def test_a_key_with_a_line_break_is_refused_without_being_shown() -> None:
    async with OpenAIStub() as stub:
        with pytest.raises(ModelAuthError) as caught:
            await complete(openai_host(stub), ask(), key=f"{CANARY}\r\nX-Evil: 1")
        assert stub.connections == 0
    assert CANARY not in everything_in(caught.value)


async def test_a_hosts_argument_holds_no_key() -> None:
    plan = await served_plan("m", parse_address("http://127.0.0.1:9/v1"), ModelConfig())
    assert CANARY.encode() not in msgspec.json.encode(plan.argument)
    assert not any("key" in name for name in plan.argument)


async def test_a_hosts_command_line_and_environment_hold_no_key() -> None:
    """The key passes through this process's pipe and memory, never through what /proc shows."""
    stub = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "gnomon.testing.openai_stub", "--port", "0", "--script", "answer"),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert stub.stdout is not None
        async with asyncio.timeout(20):
            url = (await stub.stdout.readline()).decode().strip()
        plan = await served_plan("m", parse_address(url), ModelConfig())
        host = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            HOST_WITHOUT_JAIL,
            msgspec.json.encode(plan.argument).decode(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert host.stdin is not None
            assert host.stdout is not None
            host.stdin.write(CANARY.encode() + b"\n")
            async with asyncio.timeout(20):
                answer = await host.stdout.readline()
            shown = b"".join(
                Path(f"/proc/{host.pid}/{name}").read_bytes() for name in ("cmdline", "environ")
            )
        finally:
            host.kill()
            await host.communicate()
    finally:
        stub.kill()
        await stub.communicate()
    assert b"An answer from the stub." in answer
    assert b"openai" in shown or b"127.0.0.1" in shown
    assert CANARY.encode() not in shown


HOST_WITHOUT_JAIL = """
import asyncio, sys, time
import msgspec
from gnomon.clock import SystemClock
from gnomon.domain.messages import Message, ModelRequest
from gnomon.models.openai_host import OpenAIHost, Settings

host = OpenAIHost(msgspec.json.decode(sys.argv[1], type=Settings), SystemClock())
request = ModelRequest(messages=(Message(role="user", content="Hi"),), purpose="chat")
key = sys.stdin.readline().strip()
reply = asyncio.run(host.complete(request, key, lambda text: None))
print(reply.content, flush=True)
time.sleep(60)
"""


# --- where keys come from ----------------------------------------------------------------


def test_a_key_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(CANARY + "\n")
    for mode in (0o644, 0o640, 0o604, 0o660):
        path.chmod(mode)
        with pytest.raises(ModelAuthError, match="chmod 600") as caught:
            read_key(KeySource("file", str(path)), {})
        assert CANARY not in everything_in(caught.value)
    path.chmod(0o600)
    assert read_key(KeySource("file", str(path)), {}) == CANARY


def test_a_key_that_is_not_there_is_named_by_its_place(tmp_path: Path) -> None:
    with pytest.raises(ModelAuthError, match="MY_KEY"):
        read_key(KeySource("environment", "MY_KEY"), {})
    with pytest.raises(ModelAuthError, match="cannot be read"):
        read_key(KeySource("file", str(tmp_path / "none")), {})


def test_keys_of_other_names_are_offered_and_never_used() -> None:
    environ = {"OPENAI_API_KEY": CANARY, "ANTHROPIC_API_KEY": CANARY}
    choice = resolve(ModelConfig(), environ)
    assert (choice.name, choice.key) == ("embedded", None)
    offered = offers(choice, environ, ())
    assert [offer.name for offer in offered if offer.kind == "remote"]
    assert CANARY not in repr(offered)


def test_an_address_from_the_environment_never_gets_the_configs_key() -> None:
    config = ModelConfig(
        name="m", url="https://api.example.com/v1", key_env="MY_KEY", key_file="/k"
    )
    choice = resolve(config, {"GNOMON_MODEL_URL": "https://other.example.net/v1", "MY_KEY": CANARY})
    assert choice.key is None


def test_a_key_is_never_sent_unencrypted_to_a_public_address() -> None:
    with pytest.raises(ConfigError, match="https"):
        resolve(
            ModelConfig(name="m", url="http://api.example.com/v1"), {"GNOMON_MODEL_KEY": CANARY}
        )


def test_an_address_that_holds_a_password_is_refused_without_being_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(ModelConfig(name="m", url=f"https://u:{CANARY}@api.example.com/v1"), {})
    assert CANARY not in everything_in(caught.value)
