"""The rows of the table that read changes and undo one."""

from collections.abc import Awaitable, Callable
from typing import Any

from gnomon.change.shown import change_shown, change_view
from gnomon.daemon import arguments as args
from gnomon.daemon.change.changes import Changes
from gnomon.daemon.store.disk_words import naming_the_disk
from gnomon.domain.views import Done
from gnomon.domain.views_change import ChangeDiff, ChangeShown, ChangeView
from gnomon.gateway.operation import Operation, Progress


def change_rows(changes: Changes) -> tuple[Operation, ...]:
    """`changes.list`, newest first; `show`; `diff`; `revert`, the operator's alone."""

    async def listed(asked: args.ChangesList, _: Progress) -> list[ChangeView]:
        newest = changes.state().newest_first()
        found = (life for life in newest if not asked.open or not life.has_ended)
        return [change_view(life) for _, life in zip(range(asked.limit), found, strict=False)]

    async def show(asked: args.OfChange, _: Progress) -> ChangeShown:
        life = changes.known(asked.change_id)
        return change_shown(life, changes.state(), changes.margins_of(life))

    async def diff(asked: args.OfChange, _: Progress) -> ChangeDiff:
        change = changes.known(asked.change_id).change
        return ChangeDiff(change_id=change.change_id, target=change.target, diff=change.diff)

    async def revert(asked: args.OfChange, _: Progress) -> Done:
        return Done(detail=await changes.revert(asked.change_id))

    return (
        _row(
            "changes.list",
            "What it changed about itself",
            args.ChangesList,
            list[ChangeView],
            listed,
            reads=True,
        ),
        _row(
            "changes.show", "One change and its life", args.OfChange, ChangeShown, show, reads=True
        ),
        _row("changes.diff", "What one changed", args.OfChange, ChangeDiff, diff, reads=True),
        _row("changes.revert", "Undo one", args.OfChange, Done, revert, reads=False),
    )


def _row(
    name: str,
    summary: str,
    arguments: Any,
    result: Any,
    run: Callable[[Any, Progress], Awaitable[Any]],
    *,
    reads: bool,
) -> Operation:
    """An undoing that was begun is finished, whoever waits for it."""
    return Operation(
        name, summary, arguments, result, naming_the_disk(run), reads=reads, cancellable=reads
    )
