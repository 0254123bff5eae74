"""How the host of a chosen model is started: which module, with what, granted what."""

import asyncio
import ipaddress
import socket
from pathlib import Path

from gnomon.config import ModelConfig
from gnomon.domain.errors import ModelUnavailableError
from gnomon.models import weights
from gnomon.models.choice import Address
from gnomon.models.hosted import HostPlan

EMBEDDED_HOST = "gnomon.models.embedded_host"
OPENAI_HOST = "gnomon.models.openai_host"
RESOLVE_SECONDS = 10.0


async def embedded_plan(models: Path) -> HostPlan:
    """The embedded model: it may read its weights, and reach nothing.

    Raises NoModelError when the weights are not there.
    """
    path = await asyncio.to_thread(weights.find_weights, models)
    return HostPlan(
        module=EMBEDDED_HOST,
        argument={"weights": str(path), "name": weights.NAME},
        read=(str(path),),
    )


async def served_plan(name: str, address: Address, config: ModelConfig) -> HostPlan:
    """A server's model: it may reach one TCP port. Its name is resolved here, so that the
    host needs no name service. Raises ModelUnavailableError when there is no such name.
    """
    return HostPlan(
        module=OPENAI_HOST,
        argument={
            "model": name,
            "host": address.host,
            "port": address.port,
            "tls": address.tls,
            "path": address.path,
            "addresses": await _addresses(address),
            "first_byte_seconds": config.timeout_seconds,
        },
        connect=(address.port,),
    )


async def _addresses(address: Address) -> list[str]:
    try:
        return [str(ipaddress.ip_address(address.host))]
    except ValueError:
        pass  # a name
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await loop.getaddrinfo(
                address.host, address.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
            )
    except (OSError, TimeoutError) as error:
        raise ModelUnavailableError(
            f"The name {address.host} cannot be resolved.",
            next_step="Check model.url and the network.",
        ) from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
