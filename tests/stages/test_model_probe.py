"""Looking for local servers: only on loopback, quickly, believing little."""

import time

import pytest

from gnomon.models.offers import LocalServer, list_models, probe
from gnomon.testing import openai_behaviours as stub_can
from gnomon.testing.openai_stub import OpenAIStub


async def test_a_server_tells_its_models() -> None:
    async with OpenAIStub(models=("qwen3:8b", "llama3")) as stub:
        found = await probe([LocalServer("Stub", stub.port)])
        assert [(one.server.title, one.models) for one in found] == [
            ("Stub", ("qwen3:8b", "llama3"))
        ]
        assert stub.received == []  # no completion was asked for


async def test_where_nothing_listens_nothing_is_found() -> None:
    async with OpenAIStub() as stub:
        port = stub.port
    assert await probe([LocalServer("Gone", port)]) == ()


async def test_a_server_that_wants_a_key_is_not_offered() -> None:
    async with OpenAIStub(key="k") as stub:
        assert await list_models(stub.port) == ()


@pytest.mark.parametrize("name", ["", "x" * 201, "a\x1b[31m", "two\nlines"])
async def test_names_that_are_none_are_left_out(name: str) -> None:
    async with OpenAIStub(models=("good", name)) as stub:
        assert await list_models(stub.port) == ("good",)


async def test_a_server_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with OpenAIStub() as stub:
        monkeypatch.setattr(stub, "_route", stub_can.hang)
        began = time.monotonic()
        assert await list_models(stub.port, seconds=0.2) == ()
        assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    "behaviour",
    [
        stub_can.garbage(b"<html>"),
        stub_can.garbage(b'{"data":[{"id":5}]}'),
        stub_can.garbage(b'{"data":{}}'),
        stub_can.garbage(b"[" * 100_000),
        stub_can.no_http(),
        stub_can.reset_after(),
        stub_can.huge(2 * 1024 * 1024),
    ],
)
async def test_other_programs_on_a_usual_port_are_not_servers(
    behaviour: stub_can.Behaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with OpenAIStub() as stub:
        monkeypatch.setattr(stub, "_route", behaviour)
        assert await list_models(stub.port) == ()
