"""A child that answers `echo` and does nothing else."""

from collections.abc import Callable

from gnomon.domain.json_value import Fields, Json
from gnomon.trust.ipc import Peer


async def serve(peer: Peer, argument: Fields) -> None:
    """Until the gateway closes the pipe. `argument` comes back with each answer."""

    async def echo(op: str, args: Fields, _part: Callable[[Json], None]) -> Json:
        return {"op": op, "args": args, "argument": argument}

    peer.serve(echo)
    await peer.run()
