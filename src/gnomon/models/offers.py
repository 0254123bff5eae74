"""What the operator could choose: the embedded model, a server found here, a key that is set.

Nothing is used by being offered. Of a key only its presence is looked at, never its value,
and servers are asked only when the operator asks, on this machine only.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from gnomon.domain.views import ModelOffer
from gnomon.models.choice import EMBEDDED, NONE, Address, Choice

PROBE_SECONDS = 1.0
ANSWER_BYTES = 256 * 1024
MODELS_SHOWN = 8
NAME_LENGTH = 200


@dataclass(frozen=True)
class LocalServer:
    """A kind of server and the port that it usually listens on, on loopback."""

    title: str
    port: int


LOCAL_SERVERS = (
    LocalServer("Ollama", 11434),
    LocalServer("LM Studio", 1234),
    LocalServer("llama.cpp", 8080),
    LocalServer("vLLM", 8000),
)


@dataclass(frozen=True)
class Provider:
    """A provider whose key may be set. `model` is a start: the operator may name another."""

    title: str
    key_env: str
    url: str
    model: str


PROVIDERS = (
    Provider("OpenAI", "OPENAI_API_KEY", "https://api.openai.com/v1", "gpt-4.1-mini"),
    Provider("Anthropic", "ANTHROPIC_API_KEY", "https://api.anthropic.com/v1", "claude-haiku-4-5"),
    Provider("OpenRouter", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1", "openrouter/auto"),
    Provider(
        "Gemini",
        "GEMINI_API_KEY",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "gemini-2.5-flash",
    ),
)


@dataclass(frozen=True)
class ServerFound:
    """A server that answered, with the models that it names."""

    server: LocalServer
    models: tuple[str, ...]


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


def offers(
    current: Choice, environ: Mapping[str, str], found: Sequence[ServerFound]
) -> tuple[ModelOffer, ...]:
    """All offers, best first: what runs here, what a key opens, the built-in, none.

    The model in force is always among them, also when its server does not answer.
    """
    known = (
        *(
            _of_server(current, one.server, model)
            for one in found
            for model in one.models[:MODELS_SHOWN]
        ),
        *(
            _of_provider(current, provider)
            for provider in PROVIDERS
            if environ.get(provider.key_env)
        ),
        ModelOffer(
            name=EMBEDDED,
            kind="demo",
            current=current.name == EMBEDDED,
            detail="built-in demo model: shows that everything works; don't trust what it says",
            use={"name": EMBEDDED},
        ),
        ModelOffer(
            name=NONE,
            kind="none",
            current=current.name == NONE,
            detail="no model: history, report and recall work without one",
            use={"name": NONE},
        ),
    )
    if current.address is None or any(offer.current for offer in known):
        return known
    return (_in_force(current, current.address), *known)


def _in_force(current: Choice, address: Address) -> ModelOffer:
    return ModelOffer(
        name=current.name,
        kind=current.kind,
        current=True,
        detail=f"in force, at {address.url}",
        use={"name": current.name, "url": address.url},
    )


def _of_server(current: Choice, server: LocalServer, model: str) -> ModelOffer:
    url = f"http://127.0.0.1:{server.port}/v1"
    here = current.address is not None and current.address.port == server.port
    return ModelOffer(
        name=model,
        kind="local",
        current=current.name == model and here and current.kind == "local",
        detail=f"{server.title} with {model} found on this machine",
        use={"name": model, "url": url},
    )


def _of_provider(current: Choice, provider: Provider) -> ModelOffer:
    used = current.address is not None and current.address.host in provider.url
    return ModelOffer(
        name=provider.model,
        kind="remote",
        current=used,
        detail=f"a key for {provider.title} is set ({provider.key_env}); "
        "using it sends text there and costs money",
        use={"name": provider.model, "url": provider.url, "key_env": provider.key_env},
    )


async def probe(servers: Sequence[LocalServer] = LOCAL_SERVERS) -> tuple[ServerFound, ...]:
    """Ask the usual ports of loopback which models they have. About a second at most."""
    found = await asyncio.gather(*(list_models(server.port) for server in servers))
    return tuple(
        ServerFound(server, models) for server, models in zip(servers, found, strict=True) if models
    )


async def list_models(port: int, *, seconds: float = PROBE_SECONDS) -> tuple[str, ...]:
    """The models of the server at a port of loopback; none when it is no such server."""
    try:
        async with asyncio.timeout(seconds):
            body = await _get_models(Address("127.0.0.1", port, tls=False, path="/v1"))
        named = msgspec.json.decode(body, type=_Models).data
    except (TimeoutError, OSError, ValueError, msgspec.DecodeError):
        return ()
    return tuple(
        model.id for model in named if model.id.isprintable() and 0 < len(model.id) <= NAME_LENGTH
    )


async def listens(address: Address, *, seconds: float = PROBE_SECONDS) -> bool:
    """Whether something takes a connection there. Nothing is sent."""
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(address.host, address.port)
            writer.close()
            await writer.wait_closed()
    except (TimeoutError, OSError):
        return False
    return True


async def _get_models(address: Address) -> bytes:
    """`GET /v1/models` in HTTP/1.0, whose answers end where the connection ends."""
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        writer.write(
            f"GET {address.path}/models HTTP/1.0\r\nHost: {address.host}:{address.port}\r\n"
            "Accept: application/json\r\n\r\n".encode()
        )
        answer = await _read_to_end(reader)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].split(b" ")
    return body if len(status) > 1 and status[1] == b"200" else b""


async def _read_to_end(reader: asyncio.StreamReader) -> bytes:
    parts: list[bytes] = []
    left = ANSWER_BYTES
    while left > 0 and (part := await reader.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
