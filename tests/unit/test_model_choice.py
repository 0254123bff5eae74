"""Which model is in force: environment over config, and nothing that was not said."""

import pytest

from gnomon.config import ModelConfig
from gnomon.domain.errors import ConfigError
from gnomon.models.choice import KeySource, parse_address, resolve

SERVER = "http://127.0.0.1:8080/v1"


def test_with_nothing_set_it_is_the_embedded_model() -> None:
    choice = resolve(ModelConfig(), {})
    assert (choice.name, choice.kind, choice.address, choice.key) == (
        "embedded",
        "demo",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("config", "environ", "name", "kind"),
    [
        (ModelConfig(name="none"), {}, "none", "none"),
        (ModelConfig(), {"GNOMON_MODEL": "none"}, "none", "none"),
        (ModelConfig(), {"GNOMON_MODEL": "none", "GNOMON_MODEL_URL": SERVER}, "none", "none"),
        (ModelConfig(name="none"), {"GNOMON_MODEL": "embedded"}, "embedded", "demo"),
        (ModelConfig(name="m", url=SERVER), {"GNOMON_MODEL": "embedded"}, "embedded", "demo"),
        (ModelConfig(), {"GNOMON_MODEL": "m", "GNOMON_MODEL_URL": SERVER}, "m", "local"),
        (ModelConfig(name="m", url=SERVER), {}, "m", "local"),
        (ModelConfig(name="m", url=SERVER), {"GNOMON_MODEL": "other"}, "other", "local"),
        (ModelConfig(), {"GNOMON_MODEL_URL": SERVER}, "default", "local"),
        (ModelConfig(name="m"), {"GNOMON_MODEL_URL": SERVER}, "m", "local"),
        (ModelConfig(name="m", url="https://api.example.com/v1"), {}, "m", "remote"),
    ],
)
def test_the_environment_goes_before_the_config(
    config: ModelConfig, environ: dict[str, str], name: str, kind: str
) -> None:
    choice = resolve(config, environ)
    assert (choice.name, choice.kind) == (name, kind)


def test_the_environments_address_replaces_the_configs() -> None:
    choice = resolve(ModelConfig(name="m", url=SERVER), {"GNOMON_MODEL_URL": "http://[::1]:9/v1"})
    assert choice.address is not None
    assert (choice.address.host, choice.address.port) == ("::1", 9)


def test_a_name_without_an_address_is_an_error_that_says_so() -> None:
    with pytest.raises(ConfigError, match="Give it with `--url`, GNOMON_MODEL_URL") as caught:
        resolve(ModelConfig(), {"GNOMON_MODEL": "qwen3:8b"})
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("slip", "meant"), [("embeded", "embedded"), ("Embedded", "embedded"), ("non", "none")]
)
def test_a_slip_in_a_name_that_needs_no_address_is_told(slip: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"Did you mean {meant}\\? "):
        resolve(ModelConfig(name=slip), {})


@pytest.mark.parametrize(
    ("url", "host", "port", "tls", "path"),
    [
        ("http://127.0.0.1:11434/v1", "127.0.0.1", 11434, False, "/v1"),
        ("http://127.0.0.1:11434/v1/", "127.0.0.1", 11434, False, "/v1"),
        ("https://openrouter.ai/api/v1", "openrouter.ai", 443, True, "/api/v1"),
        ("http://box/v1", "box", 80, False, "/v1"),
        ("http://[fd00::5]:8080/v1", "fd00::5", 8080, False, "/v1"),
        (
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "generativelanguage.googleapis.com",
            443,
            True,
            "/v1beta/openai",
        ),
    ],
)
def test_an_address_is_taken_apart(url: str, host: str, port: int, tls: bool, path: str) -> None:
    address = parse_address(url)
    assert (address.host, address.port, address.tls, address.path) == (host, port, tls, path)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:11434/v1",
        "ftp://127.0.0.1/v1",
        "http:///v1",
        "http://127.0.0.1:11434",
        "http://127.0.0.1:11434/v2",
        "http://127.0.0.1:99999/v1",
        "http://127.0.0.1:port/v1",
        "http://u:p@127.0.0.1/v1",
        "http://127.0.0.1/v1?x=1",
        "http://127.0.0.1/v1#x",
        "http://exämple.com/v1",
        "http://[::1/v1",
    ],
)
def test_what_cannot_be_an_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_address(url)
    assert "GNOMON_MODEL_URL" in caught.value.next_step


@pytest.mark.parametrize(
    ("host", "private"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("box", True),
        ("box.local", True),
        ("host.docker.internal", True),
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("10.0.0.1", True),
        ("192.168.1.9", True),
        ("172.16.0.1", True),
        ("169.254.0.1", True),
        ("[::1]", True),
        ("[fd00::1]", True),
        ("8.8.8.8", False),
        ("172.32.0.1", False),
        ("api.example.com", False),
        ("local.example.com", False),
        ("[2001:4860:4860::8888]", False),
    ],
)
def test_what_stays_here_is_local_and_the_rest_is_remote(host: str, private: bool) -> None:
    assert parse_address(f"https://{host}/v1").private is private


def test_the_operators_key_goes_before_the_configs() -> None:
    config = ModelConfig(name="m", url="https://api.example.com/v1", key_env="A", key_file="/k")
    assert resolve(config, {"GNOMON_MODEL_KEY": "x"}).key == KeySource(
        "environment", "GNOMON_MODEL_KEY"
    )
    assert resolve(config, {"A": "x"}).key == KeySource("environment", "A")
    no_env = ModelConfig(name="m", url="https://api.example.com/v1", key_file="/k")
    assert resolve(no_env, {"A": "x"}).key == KeySource("file", "/k")


def test_a_key_may_go_unencrypted_where_it_stays_here() -> None:
    assert resolve(ModelConfig(name="m", url=SERVER), {"GNOMON_MODEL_KEY": "x"}).key is not None
