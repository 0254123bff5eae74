"""Pretended held actions: what their page is tried on."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gnomon.daemon import arguments as given
from gnomon.domain.errors import UsageError
from gnomon.domain.instants import DAY, Millis, iso
from gnomon.domain.unified_diff import unified
from gnomon.domain.views_change import ApprovalShown, ApprovalStatus, ApprovalView
from gnomon.gateway.operation import Operation, Progress
from gnomon.testing.changes import AFTER, BEFORE
from gnomon.testing.referee import NOON, SHA

SKILL = """---
name: release
description: Cut a release of the shop.
---
1. Run the tests with `pnpm test`.
2. Tag it, and push the tag.
"""


def an_approval(approval_id: str, **changed: Any) -> ApprovalShown:
    """A skill that waits for the operator since yesterday."""
    names = [name for name in changed if name in ApprovalShown.__struct_fields__]
    shown = {name: changed.pop(name) for name in names}
    held = ApprovalView(
        id=approval_id,
        change_id=None,
        action="skill.create",
        target="release",
        payload_sha256=SHA,
        target_sha256=None,
        created_at=iso(Millis(NOON - DAY)),
        expires_at=iso(Millis(NOON + 6 * DAY)),
        status="pending",
        why="you did these steps 4 times.",
        summary="write skill 'release' (6 lines)",
        session=None,
        untrusted=("codex",),
    )
    whole = ApprovalShown(
        approval=msgspec.structs.replace(held, **changed),
        payload={"name": "release"},
        text=SKILL,
        diff=unified("", SKILL, "release/SKILL.md"),
        changed=None,
        decided_by=None,
        decided_at=None,
        result=None,
    )
    return msgspec.structs.replace(whole, **shown)


def some_approvals() -> list[ApprovalShown]:
    """One that waits, one whose file changed, one that is done."""
    return [
        an_approval("ap-3"),
        an_approval(
            "ap-2",
            action="file.write",
            target="notes/ports.md",
            target_sha256=SHA,
            why="you asked for a note on the ports.",
            summary="write notes/ports.md (+4 -2 lines)",
            untrusted=(),
            text=AFTER,
            diff=unified(BEFORE, AFTER, "notes/ports.md"),
            changed="notes/ports.md was written since: its text is another.",
            can_redo=True,
        ),
        an_approval(
            "ap-1",
            status="executed",
            decided_by="you, on the dashboard",
            decided_at=iso(Millis(NOON - DAY)),
            result="release/SKILL.md was written.",
            can_undo=True,
        ),
    ]


@dataclass
class PretendedApprovals:
    """`held` newest first. `acts` is what was decided, in order; `failing` maps a name to what
    it raises.
    """

    held: list[ApprovalShown] = field(default_factory=list[ApprovalShown])
    acts: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    failing: dict[str, Exception] = field(default_factory=dict[str, Exception])

    def rows(self) -> Iterable[Operation]:
        """The rows of the table, named and typed as the daemon's."""

        async def listed(asked: given.ApprovalsList, __: Progress) -> list[ApprovalView]:
            return [
                each.approval
                for each in self.held
                if asked.session in (None, each.approval.session)
                and (not asked.pending or each.approval.status == "pending")
            ]

        async def show(asked: given.OfApproval, _: Progress) -> ApprovalShown:
            return self.find(asked.id)

        async def approve(asked: given.Approve, _: Progress) -> ApprovalShown:
            self._note("approvals.approve", asked.id, *(["always"] if asked.always else []))
            done = {"result": "It was written.", "can_undo": True, "can_always": False}
            self._set(asked.id, "executed", **done)
            return self._stand(asked.id, always=asked.always)

        async def reject(asked: given.OfApproval, _: Progress) -> ApprovalShown:
            self._note("approvals.reject", asked.id)
            return self._set(asked.id, "rejected", can_always=False)

        async def undo(asked: given.OfApproval, _: Progress) -> ApprovalShown:
            self._note("approvals.undo", asked.id)
            return self._set(asked.id, "undone", can_undo=False)

        async def forget(asked: given.OfApproval, _: Progress) -> ApprovalShown:
            self._note("approvals.forget", asked.id)
            return self._stand(asked.id, always=False)

        yield Operation(
            "approvals.list", "Held", given.ApprovalsList, list[ApprovalView], listed, reads=True
        )
        yield Operation("approvals.show", "One", given.OfApproval, ApprovalShown, show, reads=True)
        yield Operation("approvals.approve", "Yes", given.Approve, ApprovalShown, approve)
        yield Operation("approvals.reject", "No", given.OfApproval, ApprovalShown, reject)
        yield Operation("approvals.undo", "Back", given.OfApproval, ApprovalShown, undo)
        yield Operation("approvals.forget", "Ask again", given.OfApproval, ApprovalShown, forget)
        yield from self._replacing_rows()

    def _replacing_rows(self) -> Iterable[Operation]:
        """Those that put another in the place of one."""

        async def edit(asked: given.EditApproval, _: Progress) -> ApprovalShown:
            self._note("approvals.edit", asked.id, asked.text)
            old = self.find(asked.id)
            self._set(asked.id, "redone", redone_as="ap-9", can_edit=False)
            mine = msgspec.structs.replace(
                old,
                approval=msgspec.structs.replace(old.approval, id="ap-9", status="executed"),
                text=asked.text,
                result="It was written.",
                can_edit=False,
            )
            self.held.insert(0, mine)
            return mine

        async def redo(asked: given.OfApproval, _: Progress) -> ApprovalShown:
            self._note("approvals.redo", asked.id)
            old = self.find(asked.id)
            self._set(asked.id, "redone", redone_as="ap-9")
            fresh = msgspec.structs.replace(
                old,
                approval=msgspec.structs.replace(old.approval, id="ap-9", status="pending"),
                changed=None,
                can_redo=False,
            )
            self.held.insert(0, fresh)
            return fresh

        yield Operation("approvals.edit", "Mine", given.EditApproval, ApprovalShown, edit)
        yield Operation("approvals.redo", "Anew", given.OfApproval, ApprovalShown, redo)

    def _note(self, name: str, *said: str) -> None:
        if name in self.failing:
            raise self.failing[name]
        self.acts.append((name, *said))

    def find(self, approval_id: str) -> ApprovalShown:
        for each in self.held:
            if each.approval.id == approval_id:
                return each
        raise UsageError(f"There is no approval {approval_id!r}.")

    def _set(self, approval_id: str, status: ApprovalStatus, **changed: Any) -> ApprovalShown:
        always = changed.pop("always", False)
        self.held = [
            msgspec.structs.replace(
                each,
                approval=msgspec.structs.replace(each.approval, status=status, always=always),
                **changed,
            )
            if each.approval.id == approval_id
            else each
            for each in self.held
        ]
        return self.find(approval_id)

    def _stand(self, approval_id: str, *, always: bool) -> ApprovalShown:
        """Whether the word on it holds for later ones."""
        status = self.find(approval_id).approval.status
        return self._set(approval_id, status, always=always)
