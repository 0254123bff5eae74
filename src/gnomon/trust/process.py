"""A process that this one started: its end, and its killing, by descriptor and never by a
number that another process could have meanwhile.
"""

import asyncio
import contextlib
import os
import signal
import subprocess

from gnomon.domain.errors import JailError


class Process:
    """Waits without a thread and without a timer. Needs a running event loop.

    `started` is kept only so that its own bookkeeping hears of the end. Raises JailError for
    a number that is no child of this process.
    """

    def __init__(self, pid: int, started: "subprocess.Popen[bytes] | None" = None) -> None:
        self.pid = pid
        self._started = started
        self._code: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        try:
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            self._descriptor = os.pidfd_open(pid)
        except OSError as error:
            raise JailError(f"Process {pid} is not a child of this one.", pid=pid) from error
        asyncio.get_running_loop().add_reader(self._descriptor, self._ended)

    def _ended(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if self._started is not None:
            self._started.returncode = code
        self._code.set_result(code)

    async def wait(self) -> int:
        """The exit code; negative for a signal."""
        return await asyncio.shield(self._code)

    @property
    def has_ended(self) -> bool:
        return self._code.done()

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Signal it, unless it has ended."""
        if not self.has_ended:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, number)
