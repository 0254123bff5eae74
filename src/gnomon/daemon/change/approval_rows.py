"""The rows of the table that read held actions and decide about them: the operator's alone."""

from collections.abc import Awaitable, Callable
from typing import Any

from gnomon.approvals.queue import in_order
from gnomon.approvals.ruling import what_changed
from gnomon.approvals.shown import approval_shown, approval_view
from gnomon.daemon import arguments as args
from gnomon.daemon.change.approving import Approving
from gnomon.daemon.store.disk_words import naming_the_disk
from gnomon.domain.errors import RecordError
from gnomon.domain.records_change import Held
from gnomon.domain.views_change import ApprovalShown, ApprovalView
from gnomon.gateway.operation import Operation, Progress


def approval_rows(approving: Approving) -> tuple[Operation, ...]:
    """`approvals.list`, `show`; `approve`, `edit`, `reject`, `redo`, `undo`, `forget`."""
    return (*_to_look(approving), *_to_decide(approving))


def _to_look(approving: Approving) -> tuple[Operation, ...]:
    async def listed(asked: args.ApprovalsList, _: Progress) -> list[ApprovalView]:
        now = approving.now()
        wanted = [
            each
            for each in approving.state().all()
            if (asked.session is None or each.session == asked.session)
            and (not asked.pending or each.status(now) == "pending")
        ]
        shown = in_order(wanted, now, asked.limit)
        return [approval_view(each, now) for each in shown]

    async def show(asked: args.OfApproval, _: Progress) -> ApprovalShown:
        return await _shown(approving, asked.id)

    return (
        _reads("list", "What waits for you", args.ApprovalsList, list[ApprovalView], listed),
        _reads("show", "One held action in full", args.OfApproval, ApprovalShown, show),
    )


def _to_decide(approving: Approving) -> tuple[Operation, ...]:
    async def approve(asked: args.Approve, _: Progress) -> ApprovalShown:
        await approving.approve(asked.id, always=asked.always)
        return await _shown(approving, asked.id)

    async def edit(asked: args.EditApproval, _: Progress) -> ApprovalShown:
        return await _shown(approving, await approving.edit(asked.id, asked.text))

    async def reject(asked: args.OfApproval, _: Progress) -> ApprovalShown:
        await approving.reject(asked.id)
        return await _shown(approving, asked.id)

    async def redo(asked: args.OfApproval, _: Progress) -> ApprovalShown:
        return await _shown(approving, await approving.redo(asked.id))

    async def undo(asked: args.OfApproval, _: Progress) -> ApprovalShown:
        await approving.undo(asked.id)
        return await _shown(approving, asked.id)

    async def forget(asked: args.OfApproval, _: Progress) -> ApprovalShown:
        await approving.forget(asked.id)
        return await _shown(approving, asked.id)

    return (
        _acts("approve", "Let it be done", args.Approve, approve),
        _acts("edit", "Let your text be done in its place", args.EditApproval, edit),
        _acts("reject", "Say no to it", args.OfApproval, reject),
        _acts("redo", "Hold it anew on its target as it is", args.OfApproval, redo),
        _acts("undo", "Put back what was there before", args.OfApproval, undo),
        _acts("forget", "End an `always`", args.OfApproval, forget),
    )


async def _shown(approving: Approving, approval_id: str) -> ApprovalShown:
    found, now = approving.state().known(approval_id), approving.now()
    held = approving.held(found)
    executor = approving.executions.executors.get(held.action)
    changed = None
    if executor is not None and not found.was_done:
        changed = what_changed(held, await executor.look(held.target))
    return approval_shown(
        found,
        held,
        now,
        text=_text(approving, held),
        changed=changed,
        is_kept=approving.executions.can_undo(found.approval_id),
    )


def _text(approving: Approving, held: Held) -> str:
    executor = approving.executions.executors.get(held.action)
    try:
        return "" if executor is None else executor.text(held.payload)
    except RecordError as error:
        return str(error)


Run = Callable[[Any, Progress], Awaitable[Any]]


def _reads(verb: str, summary: str, arguments: Any, result: Any, run: Run) -> Operation:
    name = f"approvals.{verb}"
    return Operation(name, summary, arguments, result, naming_the_disk(run), reads=True)


def _acts(verb: str, summary: str, arguments: Any, run: Run) -> Operation:
    """What is begun is finished, whoever waits for it. The answer is the action as it is then."""
    return Operation(
        f"approvals.{verb}",
        summary,
        arguments,
        ApprovalShown,
        naming_the_disk(run),
        cancellable=False,
    )
