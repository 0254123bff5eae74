"""Syncs in threads: heard one by one, failures too, and no thread outlives the last ledger."""

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path

from gnomon.ledger.flusher import MAX_THREADS, Flusher, borrow, give_back
from tests.ledger_kit import open_ticks, tick


def sync_threads() -> int:
    return sum(thread.name == "ledger-sync" for thread in threading.enumerate())


def ran(flusher: Flusher, job: Callable[[], None]) -> "asyncio.Future[BaseException | None]":
    future: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
    flusher.run(job, future.set_result)
    return future


async def test_jobs_run_off_the_loop_and_at_most_four_at_once() -> None:
    flusher = borrow(asyncio.get_running_loop())
    gate, inside = threading.Event(), threading.Semaphore(0)

    def job() -> None:
        assert threading.current_thread() is not threading.main_thread()
        inside.release()
        assert gate.wait(10)

    running = [ran(flusher, job) for _ in range(10)]
    for _ in range(MAX_THREADS):
        assert await asyncio.to_thread(inside.acquire, timeout=10)
    assert not inside.acquire(blocking=False)
    assert sync_threads() == MAX_THREADS
    gate.set()
    assert await asyncio.wait_for(asyncio.gather(*running), 10) == [None] * 10
    give_back(flusher)
    assert sync_threads() == 0


async def test_a_failing_job_is_heard_and_the_next_runs() -> None:
    flusher = borrow(asyncio.get_running_loop())

    def fail() -> None:
        raise OSError(5, "no")

    assert isinstance(await ran(flusher, fail), OSError)
    assert await ran(flusher, lambda: None) is None
    give_back(flusher)


async def test_ledgers_share_the_threads_and_the_last_one_ends_them(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    one, two = open_ticks(tmp_path / "one.jsonl"), open_ticks(tmp_path / "two.jsonl")
    assert sync_threads() == 0
    await one.append(tick(1))
    await two.append(tick(1))
    assert 1 <= sync_threads() <= 2
    await one.close()
    assert sync_threads() >= 1
    await two.append(tick(2))
    await two.close()
    assert sync_threads() == 0
    assert len(os.listdir("/proc/self/fd")) == before
