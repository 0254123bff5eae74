"""Which model is in force: environment over config. Pure but for `read_key`.

Setting `GNOMON_MODEL`, `GNOMON_MODEL_URL` and `GNOMON_MODEL_KEY` is the operator's word. A
key under any other name is used only where the config names it. A key belongs to the address
that it was given with: an address from the environment never gets the config's key.
"""

import ipaddress
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from gnomon.config import ModelConfig
from gnomon.domain.errors import ConfigError, ModelAuthError
from gnomon.domain.views import ModelKind

EMBEDDED = "embedded"
NONE = "none"
BASES = ("/v1", "/v1beta/openai")
"""How a base address ends; the second is Google's."""
EXAMPLE = "http://127.0.0.1:11434/v1"
UNNAMED = "default"
"""The model's name where only an address was given: most local servers serve one model."""


@dataclass(frozen=True)
class Address:
    """An OpenAI-compatible server's base, taken apart. `path` ends in `/v1`."""

    host: str
    port: int
    tls: bool
    path: str

    @property
    def url(self) -> str:
        """The base address again, as one writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{self.path}"

    @property
    def private(self) -> bool:
        """Whether it stays on this machine or in the local network."""
        name = self.host.rstrip(".").lower()
        try:
            number = ipaddress.ip_address(name)
        except ValueError:
            return "." not in name or name.endswith((".local", ".localhost", ".internal", ".lan"))
        return number.is_loopback or number.is_private or number.is_link_local


@dataclass(frozen=True)
class KeySource:
    """Where the key stands, never the key: an environment name or a file."""

    kind: Literal["environment", "file"]
    name: str


@dataclass(frozen=True)
class Choice:
    """The model in force. `address` and `key` are null but for a server's model."""

    name: str
    kind: ModelKind
    address: Address | None = None
    key: KeySource | None = None


def resolve(config: ModelConfig, environ: Mapping[str, str]) -> Choice:
    """Decide. Raises ConfigError when what was set makes no sense together."""
    url = environ.get("GNOMON_MODEL_URL", "").strip()
    name = environ.get("GNOMON_MODEL", "").strip()
    if not name:
        name = config.name.strip()
        if url and name in {EMBEDDED, NONE, ""}:
            name = UNNAMED
    match name:
        case "none":
            return Choice(NONE, "none")
        case "embedded":
            return Choice(EMBEDDED, "demo")
        case _:
            return _served(name, url, config, environ)


def _served(name: str, url: str, config: ModelConfig, environ: Mapping[str, str]) -> Choice:
    if not (url or config.url):
        raise ConfigError(
            f"The model {name!r} needs the address of its server.",
            next_step=f"{_meant(name)}Give it with `--url`, GNOMON_MODEL_URL or model.url: a base "
            f"that ends in /v1, as {EXAMPLE}. The models {EMBEDDED} and {NONE} need none.",
            key="model.url",
        )
    address = parse_address(url or config.url)
    key = _key_source(config, environ, from_environment=bool(url))
    if key is not None and not address.tls and not address.private:
        raise ConfigError(
            f"A key would go to {address.host} unencrypted.",
            next_step="Use an https:// address.",
            key="model.url",
        )
    return Choice(name, "local" if address.private else "remote", address, key)


def _meant(name: str) -> str:
    import difflib  # for a slip of the pen alone

    near = difflib.get_close_matches(name.lower(), (EMBEDDED, NONE), n=1)
    return f"Did you mean {near[0]}? " if near else ""


def _key_source(
    config: ModelConfig, environ: Mapping[str, str], *, from_environment: bool
) -> KeySource | None:
    if environ.get("GNOMON_MODEL_KEY"):
        return KeySource("environment", "GNOMON_MODEL_KEY")
    if from_environment:
        return None
    if config.key_env:
        return KeySource("environment", config.key_env)
    if config.key_file:
        return KeySource("file", config.key_file)
    return None


def parse_address(url: str) -> Address:
    """Take a base address apart. Raises ConfigError on what cannot be one."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in {"http", "https"} or not host or not host.isascii():
        raise _bad_url("It is no http:// or https:// address.")
    if parts.username or parts.password:
        raise _bad_url("It holds a user or a password; a key has its own place.")
    path = parts.path.rstrip("/")
    if not path.endswith(BASES) or parts.query or parts.fragment:
        raise _bad_url("It does not end in /v1.")
    tls = parts.scheme == "https"
    return Address(host=host, port=port or (443 if tls else 80), tls=tls, path=path)


def _bad_url(why: str) -> ConfigError:
    return ConfigError(
        f"The model's address is off. {why}",
        next_step=f"Give it with `--url`, GNOMON_MODEL_URL or model.url, as {EXAMPLE}.",
        key="model.url",
    )


def read_key(source: KeySource | None, environ: Mapping[str, str]) -> str | None:
    """The key itself, for one call. Raises ModelAuthError, which never holds it."""
    if source is None:
        return None
    match source.kind:
        case "environment":
            key = environ.get(source.name, "").strip()
        case "file":
            key = _read_key_file(Path(source.name).expanduser())
    if not key:
        raise ModelAuthError(
            f"There is no key in {source.name}.", next_step=f"Put the key into {source.name}."
        )
    return key


def _read_key_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise ModelAuthError(
                    f"Others may read the key in {path} (mode {mode:04o}).",
                    next_step=f"chmod 600 {path}",
                    mode=f"{mode:04o}",
                )
            return file.read(64 * 1024).decode("ascii", errors="replace").strip()
    except OSError as error:
        raise ModelAuthError(
            f"The key in {path} cannot be read ({error.strerror}).",
            next_step="Check model.key_file in config.toml.",
        ) from None
