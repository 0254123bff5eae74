"""The resident's self-state file: put by the resident, kept by the gateway."""

from collections.abc import Callable

from gnomon.daemon.store.disk_words import disk_named
from gnomon.disk import Disk
from gnomon.domain.errors import StateError
from gnomon.domain.json_value import Json
from gnomon.home import AgentPaths
from gnomon.statefile import read_state, write_state


class SelfStateFile:
    """A file that cannot be read is moved aside and said; the resident then begins afresh."""

    def __init__(self, agent: AgentPaths, journal: Callable[[str], None], disk: Disk) -> None:
        self._disk = disk
        self._path = agent.self_state
        self._journal = journal

    def load(self) -> Json:
        try:
            return read_state(self._path, object)  # pyright: ignore[reportReturnType]
        except StateError as error:
            aside = self._path.with_suffix(".json.damaged")
            self._path.rename(aside)
            self._journal(f"The self-state was damaged and moved to {aside.name}: {error.message}")
            return None

    def put(self, value: Json) -> None:
        with disk_named():
            write_state(self._path, value, disk=self._disk)
