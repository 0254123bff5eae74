"""Other agents' histories and our own: read, reported, recalled. Each in its jailed process."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path

from gnomon.daemon.evaluation_time import instant
from gnomon.daemon.platform import Platform
from gnomon.daemon.store.stores import Stores
from gnomon.daemon.talk.recall_process import RecallProcess
from gnomon.domain.errors import UsageError
from gnomon.domain.ledgers import LedgerName
from gnomon.domain.ports import Call
from gnomon.domain.records_observe import ImportedSession, Observation
from gnomon.domain.views import Source
from gnomon.domain.views_history import HistoryFound, ImportRow, Report
from gnomon.gateway.operation import Progress
from gnomon.home import AgentPaths
from gnomon.observe.cursors import load
from gnomon.observe.discover import find_history, history_folder
from gnomon.observe.importing import import_paths
from gnomon.observe.prices import packaged_prices
from gnomon.observe.report import report
from gnomon.trust.jail import Grants

IMPORTER_MODULE = "gnomon.observe.importer_main"
CURSORS = "import-cursors.bin"
GRACE_SECONDS = 2.0
OBSERVED: tuple[LedgerName, ...] = ("observations", "observations-imported")


class History:
    """One import at a time; recall's process comes when it is asked and goes when idle."""

    def __init__(self, agent: AgentPaths, stores: Stores, platform: Platform) -> None:
        self._stores = stores
        self._platform = platform
        self._cursors = agent.state / CURSORS
        self._importing = asyncio.Lock()
        self._recall = RecallProcess(agent, stores, platform)

    def found(self) -> list[HistoryFound]:
        """What other agents left on this machine, counted by name; nothing of it is opened."""
        known = load(self._cursors).rows
        return list(find_history(self._platform.environ, Path.home(), known))

    async def read(
        self,
        paths: Sequence[str],
        sources: Sequence[str],
        *,
        dry_run: bool,
        progress: Progress,
    ) -> list[ImportRow]:
        """Read files, folders and known places. Raises UsageError for what is not there."""
        wanted = [*map(Path, paths), *(self._place(source) for source in sources)]
        async with self._importing:
            return await import_paths(
                wanted,
                self._stores.files["observations-imported"],
                self._cursors,
                self._importer,
                progress,
                dry_run=dry_run,
            )

    async def recall(self, query: str, limit: int) -> tuple[Source, ...]:
        """Dated quotes for words, best first."""
        return await self._recall.search(query, limit)

    def observed(self) -> int:
        """How many lines of observations there are."""
        return sum(self._stores.files[name].head.seq for name in OBSERVED)

    @property
    def was_read(self) -> bool:
        """Whether anything of other agents was ever read."""
        return self._stores.files["observations-imported"].head.seq > 0

    async def end_idle(self) -> None:
        await self._recall.end_if_idle()

    async def close(self) -> None:
        await self._recall.close()

    def _place(self, source: str) -> Path:
        folder = history_folder(source, self._platform.environ, Path.home())
        if folder is None:
            raise UsageError(
                f"{source!r} is no history that this version reads.",
                next_step="It reads claude-code and codex.",
            )
        if not folder.is_dir():
            raise UsageError(
                f"There is no history of {source} at {folder}.",
                next_step="Name where it is: `gnomon import PATH`.",
                path=str(folder),
            )
        return folder

    @asynccontextmanager
    async def _importer(self, granted: tuple[Path, ...]) -> AsyncGenerator[Call]:
        child = await self._platform.start_child(
            "importer", IMPORTER_MODULE, {}, Grants(read=granted), serve=None
        )
        try:
            yield child.peer.call
        finally:
            await child.stop(GRACE_SECONDS)

    async def report(self, since: str | None, project: str | None) -> Report:
        """What the history says; counted beside the event loop, which goes on meanwhile."""
        files = self._stores.files
        heads = {name: files[name].head for name in OBSERVED}

        def counted() -> Report:
            lines = chain.from_iterable(files[name].read(until=heads[name]) for name in OBSERVED)
            bodies = (line.body for line in lines)
            return report(
                (body for body in bodies if isinstance(body, Observation | ImportedSession)),
                packaged_prices(),
                since=None if since is None else instant(since),
                project=project,
            )

        return await self._platform.beside(counted)
