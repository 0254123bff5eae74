"""Doing what was approved, once: `{action: executor}`, which the wiring hands over.

Before an executor begins, a mark is on the disk with what its target held. Whoever finds the
mark after a crash knows that it may have been done, and looks at the target; whoever finds none
knows that it was not begun.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from gnomon.approvals.file_payload import digest
from gnomon.approvals.queue import Proposal
from gnomon.approvals.ruling import Found, ruling, ruling_after_crash, what_changed
from gnomon.disk import Disk
from gnomon.domain.errors import ConflictError, GnomonError, RecordError, StateError, TrustError
from gnomon.domain.instants import Millis
from gnomon.domain.json_value import Fields
from gnomon.domain.records import Sha256
from gnomon.domain.records_change import Executed, Held, HeldKind, Refused
from gnomon.statefile import read_state, write_atomic, write_state

BACKUPS_KEPT = 100
"""Of actions that were done; of more, those that were begun last."""


class NotAsHeldError(Exception):
    """The target is another than was looked at; nothing was done. `found`: its hash."""

    def __init__(self, found: Sha256 | None) -> None:
        super().__init__(found)
        self.found = found


class Executor(Protocol):
    """Does the actions of one kind. All errors but those named are its own OSError or
    GnomonError, and mean that nothing was done, unless `look` finds what was wanted.
    """

    def refusal(self, held: Held) -> str | None:
        """Why it may no longer be done, as a sentence: a tool or a folder was taken back."""
        ...

    def wanted(self, held: Held) -> Sha256 | None:
        """The hash that the target has once it is done; null where that tells nothing."""
        ...

    def text(self, payload: Fields) -> str:
        """What a person reads of it, whole."""
        ...

    async def look(self, target: str) -> Found: ...

    async def before(self, held: Held) -> bytes | None:
        """What is to be kept of the target, to undo it. Raises NotAsHeldError."""
        ...

    async def execute(self, held: Held) -> str:
        """Do it; what was done, in a sentence. Raises NotAsHeldError."""
        ...

    async def undo(self, held: Held, before: bytes | None) -> str:
        """Put back what the target held. Raises ConflictError when it holds something else than
        what was done.
        """
        ...

    async def proposed_again(self, held: Held) -> Proposal:
        """The same on the target as it is now. Raises ConflictError when there is none."""
        ...

    async def proposed_with(self, held: Held, text: str) -> Proposal:
        """Another text for the target as it is now. Raises ConflictError when it cannot be."""
        ...

    async def clear(self, held: Held) -> None:
        """Take away what an attempt that was cut off left beside the target."""
        ...


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """The mark. `before_sha256` is of the bytes beside it; null where there was nothing.
    `place` counts up in the order in which they were begun, which is not that of their ids: what
    waited long may be done last. 0 on marks from before it was counted, which are the oldest.
    """

    approval_id: str
    target: str
    before_sha256: Sha256 | None
    place: int = 0


@dataclass(frozen=True)
class Marks:
    """In `folder`: for each action that was begun its mark, and the bytes from before."""

    folder: Path
    disk: Disk

    def begin(self, held: Held, before: bytes | None) -> None:
        """Raises OSError; then it is not begun."""
        sha256 = None if before is None else digest(before)
        if before is not None:
            write_atomic(self._bytes(held.approval_id), before, disk=self.disk)
        mark = Begun(
            approval_id=held.approval_id,
            target=held.target,
            before_sha256=sha256,
            place=max(self._places().values(), default=0) + 1,
        )
        write_state(self._mark(held.approval_id), mark, disk=self.disk)

    def of(self, approval_id: str) -> Begun | None:
        """Raises StateError when it is there and no mark."""
        return read_state(self._mark(approval_id), Begun)

    def before(self, mark: Begun) -> bytes | None:
        """The bytes from before. Raises StateError when they are not what was kept."""
        if mark.before_sha256 is None:
            return None
        path = self._bytes(mark.approval_id)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise _lost(path, error.strerror or "it cannot be read") from error
        if digest(data) != mark.before_sha256:
            raise _lost(path, "it is not what was kept")
        return data

    def forget(self, approval_id: str) -> None:
        self.disk.unlink(self._mark(approval_id))
        self.disk.unlink(self._bytes(approval_id))

    def names(self) -> list[str]:
        """Of all that was begun and is still marked."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def prune(self, but: str) -> None:
        """Let those go that were begun first; never `but`, which was begun just now."""
        places = self._places()
        oldest = sorted((name for name in places if name != but), key=lambda name: places[name])
        for name in oldest[: max(0, len(places) - BACKUPS_KEPT)]:
            self.forget(name)

    def _places(self) -> dict[str, int]:
        """When each was begun. A mark that cannot be read is left for whoever looks into it."""
        found: dict[str, int] = {}
        for name in self.names():
            with contextlib.suppress(StateError):
                mark = self.of(name)
                found[name] = 0 if mark is None else mark.place
        return found

    def _mark(self, approval_id: str) -> Path:
        return self.folder / f"{approval_id}.json"

    def _bytes(self, approval_id: str) -> Path:
        return self.folder / f"{approval_id}.before"


@dataclass(frozen=True)
class Executions:
    """The executors that there are; a kind without one is refused at the door."""

    executors: Mapping[HeldKind, Executor]
    marks: Marks

    def of(self, action: HeldKind) -> Executor:
        """Raises TrustError when nothing here could do it."""
        found = self.executors.get(action)
        if found is None:
            raise TrustError(
                f"Nothing here can do {action}, so it is not held either.", action=action
            )
        return found

    async def run(self, held: Held, now: Millis) -> Executed | Refused:
        """Do it if all is as it was held. Raises TrustError for a kind without an executor."""
        executor = self.of(held.action)
        found = await executor.look(held.target)
        said = _ruling(ruling, executor, held, found, now)
        return said if said is not None else await self._do(executor, held)

    async def resume(self, held: Held, now: Millis) -> Executed | Refused:
        """Finish what a life before approved. Raises StateError for a mark that is none."""
        executor = self.of(held.action)
        begun = self.marks.of(held.approval_id) is not None
        await executor.clear(held)
        found = await executor.look(held.target)
        rule = partial(ruling_after_crash, begun=begun)
        said = _ruling(rule, executor, held, found, now)
        return said if said is not None else await self._do(executor, held)

    async def undo(self, held: Held) -> str:
        """Put back what was there. Raises ConflictError when something else stands there now,
        or what was there is no longer kept.
        """
        mark = self.marks.of(held.approval_id)
        if mark is None:
            raise ConflictError(
                f"What {held.target} held before is no longer kept.", approval_id=held.approval_id
            )
        return await self.of(held.action).undo(held, self.marks.before(mark))

    def can_undo(self, approval_id: str) -> bool:
        try:
            return self.marks.of(approval_id) is not None
        except StateError:
            return False

    async def _do(self, executor: Executor, held: Held) -> Executed | Refused:
        name = held.approval_id
        error = None
        try:
            self.marks.begin(held, await executor.before(held))
            result = await executor.execute(held)
        except NotAsHeldError as changed:
            self.marks.forget(name)
            found = Found(changed.found)
            reason = what_changed(held, found) or f"{held.target} was another for a moment."
            return Refused(approval_id=name, reason=reason, found_sha256=changed.found)
        except (GnomonError, OSError) as failed:
            result, error = await self._after_failure(executor, held, failed)
        self.marks.prune(but=name)
        kept = name if error is None and held.target_sha256 is not None else None
        return Executed(approval_id=name, result=result, error=error, backup=kept)

    async def _after_failure(
        self, executor: Executor, held: Held, failed: Exception
    ) -> tuple[str, str | None]:
        """What failed may have been done: the target tells."""
        wanted = executor.wanted(held)
        if wanted is not None and (await executor.look(held.target)).sha256 == wanted:
            return f"{held.target} holds it, although there was an error: {failed}", None
        return "", str(failed)


Ruling = Callable[[Held, Found, Sha256 | None, str | None, Millis], Executed | Refused | None]


def _ruling(
    rule: Ruling, executor: Executor, held: Held, found: Found, now: Millis
) -> Executed | Refused | None:
    """A payload that its executor cannot read is none that was held."""
    try:
        return rule(held, found, executor.wanted(held), executor.refusal(held), now)
    except RecordError as error:
        return Refused(approval_id=held.approval_id, reason=str(error), found_sha256=found.sha256)


def _lost(path: Path, reason: str) -> StateError:
    return StateError(f"{path} cannot be used: {reason}.", path=str(path), reason=reason)
