"""Artifacts as the gateway keeps them: checked, named by title and version, never replaced."""

import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from gnomon.agent.artifacts import NAME, Artifact, is_news, read_artifact, slug
from gnomon.agent.frontmatter import FrontmatterError
from gnomon.daemon.store.disk_words import disk_named
from gnomon.daemon.store.stores import Stores
from gnomon.disk import Disk
from gnomon.domain.errors import UsageError
from gnomon.domain.records import ArtifactMade, SurfaceMode
from gnomon.resident.protocol import ArtifactArguments, ArtifactReply
from gnomon.statefile import write_atomic
from gnomon.trust.roles import check_append


class Artifacts:
    """`is_here` says whether the operator may be interrupted now."""

    def __init__(self, stores: Stores, disk: Disk, is_here: Callable[[], bool]) -> None:
        self._stores = stores
        self._disk = disk
        self._is_here = is_here

    async def put(self, asked: ArtifactArguments) -> ArtifactReply:
        """Keep one and write its line, in the resident's name. A text that is kept already
        makes no second version.

        Raises FrontmatterError when it does not fit its kind, LedgerError, DiskError.
        """
        check_append("resident", "artifact-ledger", ArtifactMade.kind())
        made = read_artifact(asked.text, asked.action_kind)
        stem = slug(asked.action_kind, asked.title)
        newest = self._newest(stem)
        before = None if newest is None else self._read(newest)
        progressed = is_news(made.points, before.points if before else None)
        mode = surface_mode(progressed=progressed, is_here=self._is_here())
        if before is not None and newest is not None and before.text == made.text:
            name = newest.stem
        else:
            name = f"{stem}@v{1 if newest is None else _version(newest) + 1}"
            with disk_named():
                write_atomic(self.path(name), made.text.encode(), disk=self._disk)
        await self._stores.append(
            "artifact-ledger",
            ArtifactMade(
                artifact_id=name,
                path=f"artifacts/{name}.md",
                sha256=sha256(made.text.encode()).hexdigest(),
                work_title=asked.title,
                action_kind=asked.action_kind,
                artifact_type=made.kind,
                surface_mode=mode,
                summary=made.summary,
                query=asked.query,
                progressed=progressed,
            ),
        )
        return ArtifactReply(artifact=name, progressed=progressed, surface_mode=mode)

    def exists(self, name: str) -> bool:
        return NAME.fullmatch(name) is not None and self.path(name).is_file()

    def text(self, name: str) -> str:
        """An artifact as it stands in its file. Raises UsageError when there is none."""
        if not self.exists(name):
            raise UsageError(f"There is no artifact {name[:120]!r}.")
        return self.path(name).read_text(encoding="utf-8", errors="replace")

    def path(self, name: str) -> Path:
        return self._stores.agent.artifacts / f"{name}.md"

    def _newest(self, stem: str) -> Path | None:
        found = self._stores.agent.artifacts.glob(f"{stem}@v*.md")
        return max(
            (each for each in found if NAME.fullmatch(each.stem)), key=_version, default=None
        )

    def _read(self, path: Path) -> Artifact | None:
        """A kept one; null when somebody has made something else of it."""
        try:
            return read_artifact(path.read_text(encoding="utf-8", errors="replace"))
        except (FrontmatterError, OSError):
            return None


def surface_mode(*, progressed: bool, is_here: bool) -> SurfaceMode:
    """How a finished piece of work is shown (page 5). Pure."""
    if not progressed:
        return "hold"
    return "interrupt" if is_here else "queue"


def _version(path: Path) -> int:
    found = re.search(r"@v([0-9]+)$", path.stem)
    assert found is not None
    return int(found[1])
