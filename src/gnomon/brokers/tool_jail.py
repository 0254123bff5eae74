"""Starting a real tool host: what its jail shows it, and nothing else of ours."""

from pathlib import Path
from typing import cast

import msgspec

from gnomon.agent.places import HostArgument
from gnomon.domain.json_value import Fields
from gnomon.domain.views import JailLevel
from gnomon.trust import jail


async def start_in_jail(argument: HostArgument, *, level: JailLevel | None = None) -> jail.Child:
    """A tool host that sees the workspace and the granted folders. `level` null takes the best
    that there is. Raises JailError.
    """
    writable = tuple(Path(f.path) for f in argument.folders if f.writable)
    grants = jail.Grants(
        read=tuple(Path(f.path) for f in argument.folders if not f.writable),
        write=(Path(argument.workspace), *writable),
    )
    fields = cast(Fields, msgspec.to_builtins(msgspec.structs.replace(argument, alone=True)))
    return await jail.start(
        "tool-host", "gnomon.agent.tool_host", fields, grants, serve=None, level=level
    )
