"""Held actions without files: targets and marks in memory, and a kill where it is wanted."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeVar

from gnomon.approvals.execute import Begun, Marks, NotAsHeldError
from gnomon.approvals.queue import Proposal
from gnomon.approvals.ruling import Found
from gnomon.disk import SYSTEM_DISK
from gnomon.domain.errors import ConflictError
from gnomon.domain.instants import Millis
from gnomon.domain.json_value import Fields
from gnomon.domain.records import Sha256
from gnomon.domain.records_change import Held, HeldOrigin
from gnomon.testing.clock import START
from gnomon.testing.crash import Killed

T = TypeVar("T")
KillAt = Literal["mark", "marked", "done"]
"""Before the mark is there; once it is; once the target holds what was wanted."""


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("it waits for something")


def digest_of(text: str | None) -> Sha256 | None:
    return None if text is None else sha256(text.encode()).hexdigest()


@dataclass
class MemoryTargets:
    """An executor: `texts` by target. `done` holds each doing, by approval, and `done_at` when;
    `granted` and `kill_at` are the test's to change.
    """

    texts: dict[str, str | None] = field(default_factory=dict[str, str | None])
    done: list[str] = field(default_factory=list[str])
    done_at: dict[str, Millis] = field(default_factory=dict[str, Millis])
    now: Callable[[], Millis] = lambda: START
    granted: bool = True
    kill_at: KillAt | None = None

    def proposal(self, target: str, text: str) -> Proposal:
        return Proposal(
            action="file.write",
            target=target,
            payload={"text": text},
            target_sha256=digest_of(self.texts.get(target)),
            origin=HeldOrigin(role="resident"),
            why="a test",
            diff="",
        )

    def refusal(self, held: Held) -> str | None:
        del held
        return None if self.granted else "it was taken back."

    def wanted(self, held: Held) -> Sha256 | None:
        return digest_of(self.text(held.payload))

    def text(self, payload: Fields) -> str:
        return str(payload["text"])

    async def look(self, target: str) -> Found:
        return Found(digest_of(self.texts.get(target)))

    async def before(self, held: Held) -> bytes | None:
        text = self.texts.get(held.target)
        if digest_of(text) != held.target_sha256:
            raise NotAsHeldError(digest_of(text))
        return None if text is None else text.encode()

    async def execute(self, held: Held) -> str:
        self._die("marked")
        self.done.append(held.approval_id)
        self.done_at[held.approval_id] = self.now()
        self.texts[held.target] = self.text(held.payload)
        self._die("done")
        return "Done."

    async def undo(self, held: Held, before: bytes | None) -> str:
        if digest_of(self.texts.get(held.target)) != self.wanted(held):
            raise ConflictError("It was changed since.")
        self.texts[held.target] = None if before is None else before.decode()
        return "Undone."

    async def proposed_again(self, held: Held) -> Proposal:
        return self.proposal(held.target, self.text(held.payload))

    async def proposed_with(self, held: Held, text: str) -> Proposal:
        return self.proposal(held.target, text)

    async def clear(self, held: Held) -> None:
        del held

    def _die(self, at: KillAt) -> None:
        if self.kill_at == at:
            self.kill_at = None
            raise Killed(at)


class MemoryMarks(Marks):
    """Marks in memory; `targets` says whether the power goes before one is there."""

    def __init__(self, targets: MemoryTargets) -> None:
        super().__init__(Path("nowhere"), SYSTEM_DISK)
        kept: dict[str, tuple[Begun, bytes | None]] = {}
        object.__setattr__(self, "_kept", kept)
        object.__setattr__(self, "_targets", targets)

    _kept: dict[str, tuple[Begun, bytes | None]]
    _targets: MemoryTargets

    def begin(self, held: Held, before: bytes | None) -> None:
        if self._targets.kill_at == "mark":
            self._targets.kill_at = None
            raise Killed("mark")
        name = held.approval_id
        mark = Begun(approval_id=name, target=held.target, before_sha256=held.target_sha256)
        self._kept[name] = mark, before

    def of(self, approval_id: str) -> Begun | None:
        found = self._kept.get(approval_id)
        return None if found is None else found[0]

    def before(self, mark: Begun) -> bytes | None:
        return self._kept[mark.approval_id][1]

    def forget(self, approval_id: str) -> None:
        self._kept.pop(approval_id, None)

    def names(self) -> list[str]:
        return sorted(self._kept)
