"""A ledger's lines as anyone may read them: by number, a bounded page at a time."""

from itertools import islice

import msgspec

from gnomon.daemon import arguments as args
from gnomon.daemon.store.stores import Stores
from gnomon.domain.canonical import plain
from gnomon.domain.errors import UsageError
from gnomon.domain.instants import iso
from gnomon.domain.json_value import Fields
from gnomon.domain.ledgers import Line
from gnomon.domain.ports import Ledger
from gnomon.domain.views_referee import LedgerPage
from gnomon.gateway.answer import NotFoundError
from gnomon.gateway.operation import Nothing, Operation, Progress

PAGE_BYTES = 1 << 20
"""A page ends after the line that takes it over this, so that one of long lines stays small."""
FAMILIES = ("session", "run")


def ledger_pages(stores: Stores) -> tuple[Operation, ...]:
    """The row of the table that reads every ledger."""

    async def read(asked: args.LedgerRead, _: Progress) -> LedgerPage:
        return page(_ledger(stores, asked), asked.after, asked.limit)

    async def names(_: Nothing, __: Progress) -> list[str]:
        return [*sorted(stores.files), *FAMILIES]

    return (
        Operation(
            "ledger.read", "Lines of a ledger", args.LedgerRead, LedgerPage, read, reads=True
        ),
        Operation("ledger.names", "Which ledgers there are", Nothing, list[str], names, reads=True),
    )


def page(ledger: Ledger, after: int, limit: int, most_bytes: int = PAGE_BYTES) -> LedgerPage:
    """Lines with `seq` above `after`, at most `limit` of them or about `most_bytes`."""
    head = ledger.head
    lines: list[Fields] = []
    size = 0
    if not head.seq and ledger.name.partition("/")[0] in FAMILIES:
        raise NotFoundError(f"There is no {ledger.name}.")
    if head.seq > after:
        for line in islice(ledger.read(after_seq=after, until=head), limit):
            lines.append(_shown(line))
            size += len(msgspec.json.encode(lines[-1]))
            if size > most_bytes:
                break
    last = after + len(lines)
    return LedgerPage(
        name=ledger.name,
        lines=tuple(lines),
        head=head.seq,
        next_after=last if last < head.seq else None,
    )


def _ledger(stores: Stores, asked: args.LedgerRead) -> Ledger:
    if (asked.name in FAMILIES) != (asked.id is not None):
        raise UsageError(
            f"{asked.name} is one ledger for each id."
            if asked.name in FAMILIES
            else f"{asked.name} has no ids.",
            next_step="`session` and `run` take an `id`; the others take none.",
        )
    return stores.ledger(asked.name, asked.id)


def _shown(line: Line) -> Fields:
    """The line's own fields, and its hash, which the next one's `prev` repeats."""
    envelope: Fields = {
        "seq": line.seq,
        "at": iso(line.at),
        "schema": line.schema,
        "prev": line.prev,
        "sha256": line.sha256,
    }
    fields = plain(line.body)
    assert isinstance(fields, dict)
    return {**envelope, **fields}
