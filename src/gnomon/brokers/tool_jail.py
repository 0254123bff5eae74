"""Starting a real tool host: what its jail shows it, and nothing else of ours."""

from collections.abc import Awaitable
from pathlib import Path
from typing import Protocol, TypeVar

from gnomon.agent.places import HostArgument
from gnomon.domain.json_value import Fields
from gnomon.domain.plain import fields
from gnomon.domain.policy import Role
from gnomon.trust.ipc import Serve
from gnomon.trust.planning import Grants

MODULE = "gnomon.agent.tool_host"

T_co = TypeVar("T_co", covariant=True)


class StartChild(Protocol[T_co]):
    """Starts a role's process (`gnomon.trust.jail.start`, or what plays it in the simulator)."""

    def __call__(
        self, role: Role, module: str, argument: Fields, grants: Grants, *, serve: Serve | None
    ) -> Awaitable[T_co]: ...


async def start_tool_host(start: StartChild[T_co], argument: HostArgument) -> T_co:
    """A tool host that sees the workspace and the granted folders. Raises JailError."""
    folders = [(Path(folder.path), folder.writable) for folder in argument.folders]
    grants = Grants(
        read=tuple(path for path, writable in folders if not writable),
        write=(Path(argument.workspace), *(path for path, writable in folders if writable)),
    )
    return await start("tool-host", MODULE, fields(argument), grants, serve=None)
