"""A server over TLS: a certificate that is not trusted gets nothing, least of all the key."""

import ssl
import subprocess
from pathlib import Path

import pytest

from gnomon.domain.errors import ModelRequestError, ModelTimeoutError
from gnomon.testing import openai_behaviours as stub_can
from gnomon.testing.openai_stub import OpenAIStub
from tests.model_kit import ask, complete, openai_host

pytestmark = pytest.mark.needs("openssl")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """A certificate for `model.example`, and a server's context that shows it."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=model.example"),
            *("-addext", "subjectAltName=DNS:model.example"),
            *("-keyout", "key.pem", "-out", "cert.pem"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=30,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return folder / "cert.pem", context


async def test_a_trusted_server_is_spoken_to_under_its_own_name(
    certificate: tuple[Path, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name stands in the certificate; the address is what the gateway resolved."""
    path, context = certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    async with OpenAIStub(then=stub_can.say("safely"), tls=context, key="k") as stub:
        reply, parts = await complete(openai_host(stub, host="model.example"), ask(), key="k")
        assert stub.received[0].headers["host"] == f"model.example:{stub.port}"
    assert (reply.content, "".join(parts)) == ("safely", "safely")


@pytest.mark.parametrize("host", ["model.example", "other.example"])
async def test_a_certificate_that_is_not_trusted_gets_nothing_and_is_not_tried_again(
    certificate: tuple[Path, ssl.SSLContext], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, context = certificate
    if host == "other.example":  # a good certificate, of somebody else
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
    async with OpenAIStub(then=stub_can.say("evil"), tls=context) as stub:
        with pytest.raises(ModelRequestError, match="certificate"):
            await complete(openai_host(stub, host=host), ask(), key="k")
        assert stub.received == []


async def test_a_handshake_that_hangs_ends_with_the_call(
    certificate: tuple[Path, ssl.SSLContext],
) -> None:
    """A plain server that says nothing: the client waits for its half of the handshake."""
    async with OpenAIStub(then=stub_can.hang) as plain:
        host = openai_host(plain)
        host._server = type(host._server)(
            host="127.0.0.1", port=plain.port, tls=True, path="/v1", addresses=("127.0.0.1",)
        )
        with pytest.raises(ModelTimeoutError):
            await complete(host, ask(timeout=0.3))
