"""What is offered, without being used."""

from gnomon.config import ModelConfig
from gnomon.models.choice import parse_address, resolve
from gnomon.models.offers import LOCAL_SERVERS, PROVIDERS, ServerFound, offers

OLLAMA = LOCAL_SERVERS[0]


def test_what_is_always_there_is_the_demo_model_and_none() -> None:
    found = offers(resolve(ModelConfig(), {}), {}, ())
    assert [(offer.name, offer.kind, offer.current) for offer in found] == [
        ("embedded", "demo", True),
        ("none", "none", False),
    ]


def test_a_server_found_here_comes_first_and_can_be_used_as_offered() -> None:
    found = offers(resolve(ModelConfig(), {}), {}, (ServerFound(OLLAMA, ("qwen3:8b", "llama3")),))
    assert [offer.name for offer in found[:2]] == ["qwen3:8b", "llama3"]
    assert found[0].use == {"name": "qwen3:8b", "url": "http://127.0.0.1:11434/v1"}
    assert "Ollama" in found[0].detail
    used = resolve(ModelConfig(name="qwen3:8b", url="http://127.0.0.1:11434/v1"), {})
    again = offers(used, {}, (ServerFound(OLLAMA, ("qwen3:8b", "llama3")),))
    assert [offer.current for offer in again] == [True, False, False, False]


def test_each_provider_whose_key_is_set_is_offered_by_the_keys_name() -> None:
    environ = {provider.key_env: "secret" for provider in PROVIDERS}
    found = offers(resolve(ModelConfig(), {}), environ, ())
    remote = [offer for offer in found if offer.kind == "remote"]
    assert [offer.use["key_env"] for offer in remote] == [p.key_env for p in PROVIDERS]
    assert not any(offer.current for offer in remote)
    for offer in remote:
        config = ModelConfig(
            name=str(offer.use["name"]),
            url=str(offer.use["url"]),
            key_env=str(offer.use["key_env"]),
        )
        assert resolve(config, environ).kind == "remote"


def test_an_empty_key_is_no_key() -> None:
    found = offers(resolve(ModelConfig(), {}), {"OPENAI_API_KEY": ""}, ())
    assert [offer.name for offer in found] == ["embedded", "none"]


def test_the_model_in_force_is_listed_though_its_server_does_not_answer() -> None:
    used = resolve(ModelConfig(name="qwen3:8b", url="http://localhost:11434/v1"), {})
    found = offers(used, {}, ())
    assert [(offer.name, offer.current) for offer in found] == [
        ("qwen3:8b", True),
        ("embedded", False),
        ("none", False),
    ]
    assert "http://localhost:11434/v1" in found[0].detail


def test_an_address_is_written_again_as_it_is_read() -> None:
    for url in ("http://localhost:11434/v1", "https://a.example:444/v1", "http://[::1]:8000/v1"):
        assert parse_address(url).url == url
