"""The executor of `file.write`: one careful write by the gateway itself, into a folder that the
operator granted (docs/adr/1241-held-writes.md).
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from gnomon.agent.outcome import ToolFaultError
from gnomon.approvals import careful_files
from gnomon.approvals.careful_files import ChangedError, UnfitTargetError
from gnomon.approvals.execute import NotAsHeldError
from gnomon.approvals.file_payload import (
    Draft,
    FileWrite,
    digest,
    payload_of,
    plain_payload,
    redrafted,
    reworded,
)
from gnomon.approvals.queue import Proposal
from gnomon.approvals.ruling import Found
from gnomon.disk import Disk
from gnomon.domain.errors import ConflictError
from gnomon.domain.json_value import Fields
from gnomon.domain.records import Sha256
from gnomon.domain.records_change import Held
from gnomon.domain.views import Folder

T = TypeVar("T")
Drawn = Callable[[FileWrite, bytes | None], Draft]


class Beside(Protocol):
    """Runs what may take long beside the event loop."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


@dataclass(frozen=True)
class WriteGrant:
    """What of writing is granted now: the agent's tools, and folders, each in force."""

    tools: frozenset[str]
    folders: tuple[Folder, ...]


def covering(path: Path, folders: Sequence[Folder]) -> Folder | None:
    """The innermost granted folder that a path lies in: its word counts."""
    around = [each for each in folders if path.is_relative_to(each.path)]
    return max(around, key=lambda each: len(each.path), default=None)


@dataclass(frozen=True)
class FileWrites:
    """`may` asks the one policy whether the role may have it held; `grant` what is granted."""

    grant: Callable[[], WriteGrant]
    may: Callable[[str], bool]
    beside: Beside
    disk: Disk

    def refusal(self, held: Held) -> str | None:
        payload, grant = payload_of(held.payload), self.grant()
        if payload.path != held.target:
            return f"its content is for {payload.path}."
        if payload.tool not in grant.tools:
            return f"the tool {payload.tool} was taken back."
        if covering(Path(held.target), grant.folders) is None:
            return f"no granted folder holds {held.target}."
        return None if self.may(held.origin.role) else f"{held.origin.role} may not write there."

    def wanted(self, held: Held) -> Sha256 | None:
        return digest(payload_of(held.payload).data)

    def text(self, payload: Fields) -> str:
        return payload_of(payload).content

    async def look(self, target: str) -> Found:
        try:
            data = await self.beside(lambda: careful_files.look(Path(target)))
        except UnfitTargetError as unfit:
            return Found(None, unfit.reason)
        return Found(None if data is None else digest(data))

    async def before(self, held: Held) -> bytes | None:
        try:
            data = await self.beside(lambda: careful_files.look(Path(held.target)))
        except UnfitTargetError as unfit:
            raise NotAsHeldError(None) from unfit
        found = None if data is None else digest(data)
        if found != held.target_sha256:
            raise NotAsHeldError(found)
        return data

    async def execute(self, held: Held) -> str:
        payload = payload_of(held.payload)
        await self._replace(held, payload.data, held.target_sha256)
        how = "Created" if held.target_sha256 is None else "Replaced"
        return f"{how} {held.target} ({len(payload.data)} bytes)."

    async def undo(self, held: Held, before: bytes | None) -> str:
        written = digest(payload_of(held.payload).data)
        path = Path(held.target)
        try:
            if before is None:
                await self.beside(lambda: careful_files.remove(path, written, self.disk))
                return f"{held.target} is gone again; it was not there before."
            await self._replace(held, before, written)
        except (ChangedError, NotAsHeldError) as changed:
            if changed.found != (None if before is None else digest(before)):
                raise _edited(held, changed.found) from changed
        except UnfitTargetError as unfit:
            raise _edited(held, None) from unfit
        return f"{held.target} holds again exactly what it held before."

    async def proposed_again(self, held: Held) -> Proposal:
        return await self._proposed(held, redrafted)

    async def proposed_with(self, held: Held, text: str) -> Proposal:
        return await self._proposed(held, partial(reworded, text=text))

    async def clear(self, held: Held) -> None:
        await self.beside(lambda: careful_files.clear(Path(held.target), held.approval_id))

    async def _proposed(self, held: Held, drawn: Drawn) -> Proposal:
        payload = payload_of(held.payload)
        try:
            data = await self.beside(lambda: careful_files.look(Path(payload.path)))
            draft = await self.beside(lambda: drawn(payload, data))
        except (UnfitTargetError, ToolFaultError) as fault:
            raise ConflictError(
                f"It cannot be done on {held.target} as it is now: {fault.reason}",
                approval_id=held.approval_id,
            ) from fault
        if draft.changes_nothing:
            raise ConflictError(
                f"{held.target} holds exactly this already.", approval_id=held.approval_id
            )
        return Proposal(
            action="file.write",
            target=held.target,
            payload=plain_payload(draft.payload),
            target_sha256=draft.before_sha256,
            origin=held.origin,
            why=held.why,
            diff=draft.diff,
            change_id=held.change_id,
        )

    async def _replace(self, held: Held, data: bytes, expected: Sha256 | None) -> None:
        path, mark = Path(held.target), held.approval_id
        try:
            await self.beside(lambda: careful_files.replace(path, data, expected, mark, self.disk))
        except ChangedError as changed:
            raise NotAsHeldError(changed.found) from changed
        except UnfitTargetError as unfit:
            raise NotAsHeldError(None) from unfit


async def draft_beside(beside: Beside, path: Path, drawn: Callable[[bytes | None], Draft]) -> Draft:
    """A draft on the file as it is now. Raises ToolFaultError for what cannot be held."""
    try:
        data = await beside(lambda: careful_files.look(path))
    except UnfitTargetError as unfit:
        raise ToolFaultError("NOT_A_FILE", f"{path} {unfit.reason}.") from unfit
    return await beside(lambda: drawn(data))


def _edited(held: Held, found: Sha256 | None) -> ConflictError:
    return ConflictError(
        f"{held.target} was changed after it was written. Nothing was undone.",
        next_step="What stands there stays; edit it as you like.",
        approval_id=held.approval_id,
        target=held.target,
        found_sha256=found,
    )
