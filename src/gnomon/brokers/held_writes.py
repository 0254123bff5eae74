"""Which writes of the file tools are the operator's to let happen: those whose path lies in a
folder that is granted for reading.

The jail refuses them whatever is said here. A program of the shell that tries is refused and
nothing is held: of what it would do nothing can be shown.
"""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from gnomon.agent.outcome import Outcome
from gnomon.approvals.file_writes import covering
from gnomon.domain.json_value import Fields
from gnomon.domain.policy import WRITES, Role
from gnomon.domain.views import Folder

READING = frozenset({"read", "list", "search", "shell"})
"""Tools whose answers are other people's words, for all that anybody knows."""
FILES = "files"
"""What those words are called."""


@dataclass(frozen=True)
class HeldWrite:
    """A `write` or `edit` of a file in a folder that is granted for reading. `target` is whole
    and resolved; `rests_on` names whose words, not the operator's, the run has read.
    """

    role: Role
    run_id: str
    tool: str
    target: Path
    arguments: Fields
    rests_on: tuple[str, ...]


Hold = Callable[[HeldWrite], Awaitable[Outcome]]
"""Parks it, and says so to the model."""


def read_only_target(
    workspace: Path, folders: tuple[Folder, ...], name: str, arguments: Fields
) -> Path | None:
    """The file that a call would write in a folder granted for reading; null for every other
    call, which goes its way.
    """
    path = arguments.get("path")
    if name not in WRITES or not isinstance(path, str) or "\0" in path:
        return None
    try:
        real = Path(os.path.realpath(workspace / path))
    except OSError:  # the tool host says what is wrong with it
        return None
    folder = covering(real, folders)
    if folder is None or folder.writable or str(real) == folder.path:
        return None
    return real
