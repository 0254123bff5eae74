"""How hosts are started: names are resolved by the gateway, and one port is granted."""

import pytest

from gnomon.config import ModelConfig
from gnomon.domain.errors import ModelUnavailableError
from gnomon.models.choice import parse_address
from gnomon.models.plans import served_plan


async def test_an_address_in_figures_is_handed_on() -> None:
    config = ModelConfig(timeout_seconds=33.0)
    plan = await served_plan("m", parse_address("http://127.0.0.1:8080/v1"), config)
    assert plan.argument["addresses"] == ["127.0.0.1"]
    assert plan.argument["first_byte_seconds"] == 33.0
    assert (plan.read, plan.connect) == ((), (8080,))


async def test_a_name_is_resolved_before_the_host_starts() -> None:
    plan = await served_plan("m", parse_address("https://localhost/v1"), ModelConfig())
    addresses = plan.argument["addresses"]
    assert isinstance(addresses, list)
    assert set(addresses) & {"127.0.0.1", "::1"}
    assert (plan.argument["host"], plan.argument["tls"]) == ("localhost", True)
    assert plan.connect == (443,)


async def test_a_name_that_is_none_is_said() -> None:
    with pytest.raises(ModelUnavailableError, match="cannot be resolved"):
        await served_plan("m", parse_address("http://no-such-name.invalid/v1"), ModelConfig())
