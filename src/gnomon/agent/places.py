"""Where the tools may work: the workspace and the folders that the operator granted.

The jail is the boundary; what stands here gives the model a clear answer instead of the
system's. Symbolic links are resolved before the question is asked, so that a link in the
workspace grants nothing.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gnomon.agent.outcome import ToolFaultError
from gnomon.domain.views import Folder


class HostArgument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tool host is started with. Paths are absolute; folders lie outside the workspace."""

    workspace: str
    folders: tuple[Folder, ...] = ()


@dataclass(frozen=True)
class Places:
    """All paths are absolute and resolved."""

    workspace: Path
    readable: tuple[Path, ...]
    writable: tuple[Path, ...]

    def resolve(self, path: str, *, writing: bool = False) -> Path:
        """The real path that `path` names. Raises ToolFaultError (`DENIED`) outside."""
        if "\0" in path:
            raise ToolFaultError("FILE_NOT_FOUND", "A path cannot hold a NUL.")
        try:
            real = Path(os.path.realpath(self.workspace / path))
        except OSError as error:
            raise ToolFaultError("DENIED", f"{path}: {error.strerror}.") from error
        if _inside(real, self.writable) or (not writing and _inside(real, self.readable)):
            return real
        if writing and _inside(real, self.readable):
            raise ToolFaultError("DENIED", f"{path} is in a folder that is granted for reading.")
        raise ToolFaultError(
            "DENIED", f"{path} is outside the workspace and the folders that the owner granted."
        )

    def shown(self, path: Path) -> str:
        """How a path is shown: from the workspace where it lies there, else whole."""
        if path.is_relative_to(self.workspace):
            return str(path.relative_to(self.workspace))
        return str(path)


def places(argument: HostArgument) -> Places:
    """The places of one tool host. The workspace is always writable."""
    workspace = Path(os.path.realpath(argument.workspace))
    every = [(Path(os.path.realpath(f.path)), f.writable) for f in argument.folders]
    return Places(
        workspace=workspace,
        readable=tuple(path for path, writable in every if not writable),
        writable=(workspace, *(path for path, writable in every if writable)),
    )


def _inside(path: Path, roots: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(root) for root in roots)
