"""What a disk that refuses is called, wherever it is met."""

import errno
import os
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

from gnomon.domain.errors import DiskError
from gnomon.gateway.operation import Progress

OF_THE_DISK = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ENODEV, errno.EFBIG}
)
"""Errors that are the medium's, not a mistake of ours."""

Run = Callable[[Any, Progress], Awaitable[Any]]


@contextmanager
def disk_named() -> Generator[None]:
    """Turn the disk's own errors into DiskError; let every other one pass."""
    try:
        yield
    except OSError as error:
        if error.errno not in OF_THE_DISK:
            raise
        raise disk_error(error) from error


def disk_error(error: OSError) -> DiskError:
    """The sentence for people."""
    said = os.strerror(error.errno or 0).lower()
    return DiskError(
        f"The disk refused to write: {said}.",
        next_step="Free space or see to the disk; Gnomon goes on by itself.",
        errno=error.errno,
        path=None if error.filename is None else str(error.filename),
    )


def naming_the_disk(run: Run) -> Run:
    """An operation whose trouble with the disk has a name."""

    async def ran(arguments: Any, progress: Progress) -> Any:
        with disk_named():
            return await run(arguments, progress)

    return ran
