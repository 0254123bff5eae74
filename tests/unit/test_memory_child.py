"""The process that is none ends as one does."""

import asyncio

import pytest

from gnomon.domain.errors import LedgerError
from gnomon.domain.json_value import Fields
from gnomon.testing.memory_child import MemoryChild
from gnomon.trust.ipc import Peer


async def fails(peer: Peer, argument: Fields) -> None:
    await peer.greeting()
    raise LedgerError("The disk is full.")


async def serves(peer: Peer, argument: Fields) -> None:
    await peer.closed()


@pytest.mark.parametrize(("entry", "code"), [(fails, 1), (serves, 0)])
async def test_one_that_fails_is_gone_and_says_so_by_its_code(entry: object, code: int) -> None:
    child = await MemoryChild.begin("resident", entry, {}, None)  # type: ignore[arg-type]
    if code == 0:
        child.peer.close()
    async with asyncio.timeout(5):
        assert await child.wait() == code
    await child.stop(0)


async def never_greets(peer: Peer, argument: Fields) -> None:
    await peer.closed()


async def test_one_whose_start_is_given_up_leaves_nothing_running() -> None:
    before = asyncio.all_tasks()
    starting = asyncio.create_task(MemoryChild.begin("resident", never_greets, {}, None))
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    for _ in range(5):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
