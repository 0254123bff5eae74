"""Asking a job of the referee for its answer, and not for ever."""

import asyncio

from gnomon.domain.errors import PipeError
from gnomon.domain.json_value import Fields, Json
from gnomon.domain.ports import Pipe

WORK_SECONDS = 120.0
"""Of one answer: some hundred lines, read and computed. One that takes longer hangs."""


async def work(peer: Pipe, args: Fields, seconds: float = WORK_SECONDS) -> Json:
    """What the job answers to `work`. Raises what it raised; PipeError when it is late."""
    try:
        async with asyncio.timeout(seconds):
            return await peer.call("work", args)
    except TimeoutError:
        raise PipeError(
            f"The job gave no answer within {seconds:.0f} s.",
            next_step="It was ended, and is run again later.",
            reason="timeout",
        ) from None
