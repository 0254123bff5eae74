"""What waits to be written, and the bytes it becomes: numbered, dated and chained. No I/O."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from gnomon.domain.errors import RecordError
from gnomon.domain.instants import Millis
from gnomon.domain.ledgers import Ack, Head
from gnomon.ledger.codec import line_hash, seal

MAX_BATCH = 256 * 1024
"""Bytes of one write, unless a single line is longer."""


@dataclass(eq=False)
class Waiting:
    """An append that was asked for and not yet acknowledged."""

    fields: dict[str, object]
    durable: bool
    answer: asyncio.Future[Ack]
    ack: Ack | None = None
    """Set when it is stamped."""


@dataclass(frozen=True)
class Batch:
    """Lines for one write, and where the ledger ends once they are written."""

    items: list[Waiting]
    data: bytes
    head: Head


def stamp(waiting: list[Waiting], head: Head, at: Millis) -> Batch:
    """Take what waits from the front, up to MAX_BATCH, and make its bytes after `head`.

    One that was cancelled leaves no line; one that is too long hears so, alone.
    """
    items: list[Waiting] = []
    parts: list[bytes] = []
    size, taken = 0, 0
    seq, prev = head.seq, head.sha256
    for item in waiting:
        if size >= MAX_BATCH:
            break
        taken += 1
        if item.answer.done():
            continue
        try:
            raw = seal(item.fields, seq + 1, at, prev)
        except RecordError as error:
            item.answer.set_exception(error)
            continue
        seq, prev = seq + 1, line_hash(raw)
        item.ack = Ack(seq=seq, at=at, sha256=prev)
        items.append(item)
        parts += (raw, b"\n")
        size += len(raw) + 1
    del waiting[:taken]
    after = Head(seq=seq, sha256=prev, offset=head.offset + size, segment=head.segment)
    return Batch(items, b"".join(parts), after)


def acknowledge(items: Iterable[Waiting]) -> None:
    """Answer each with its ack, but those who no longer wait."""
    for item in items:
        if item.ack is not None and not item.answer.done():
            item.answer.set_result(item.ack)


def refuse(items: Iterable[Waiting], error: BaseException) -> None:
    """Answer each with an error, but those who no longer wait."""
    for item in items:
        if not item.answer.done():
            item.answer.set_exception(error)


def release(futures: list[asyncio.Future[None]], error: BaseException | None = None) -> None:
    """Let go all who wait for a state rather than an ack, and forget them."""
    for future in futures:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
    futures.clear()
