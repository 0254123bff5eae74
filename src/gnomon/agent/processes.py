"""Starting a program for a tool so that nothing of it is left when the call ends.

A program gets a session and process group of its own, the group is killed at the end, and
what left the group (a daemon of its own making) is found among the host's own children: the
host is their reaper. Output is read as it comes and kept at both ends, in bounded memory.
"""

import asyncio
import contextlib
import ctypes
import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
"""`<linux/prctl.h>`."""
CHUNK = 65_536
DRAIN_SECONDS = 0.25
"""How long output may still come after the program itself has ended: a child in the
background that keeps the pipe open does not hold up the call."""
STRAY_ROUNDS = 50
"""Killing strays is repeated while they spawn others, this often at most."""


class Kept:
    """The first and the last bytes of a stream, and how many were between."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit // 2
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail = bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> None:
        room = self._head_limit - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        # Twice the limit before cutting: moving bytes stays cheap for a stream of gigabytes.
        if len(self._tail) > 2 * self._tail_limit:
            self._cut()

    def _cut(self) -> None:
        extra = max(0, len(self._tail) - self._tail_limit)
        del self._tail[:extra]
        self.dropped += extra

    def text(self) -> str:
        self._cut()
        if not self.dropped:
            return (self._head + self._tail).decode("utf-8", "replace")
        head, tail = (part.decode("utf-8", "replace") for part in (self._head, self._tail))
        return f"{head}\n[{self.dropped} bytes left out]\n{tail}"


class Programs:
    """All that one process has started. `reaper`: this process may kill any child that is not
    under way; true in a tool host, which has no others.
    """

    def __init__(self, *, reaper: bool = False) -> None:
        self._under_way = 0
        self._reaper = reaper and _become_reaper()

    async def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        seconds: float,
        output_limit: int,
        stdin: bytes = b"",
    ) -> tuple[int | None, str]:
        """Run a program to its end. Returns its exit code (null when its time was over,
        negative for a signal) and its output, errors among it. Cancelling ends it first.
        """
        kept = Kept(output_limit)
        self._under_way += 1
        try:
            async with _started(command, cwd, environment, stdin, kept) as (process, ended):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await process.wait()
                    await asyncio.wait({ended}, timeout=DRAIN_SECONDS)
                    return process.returncode, kept.text()
                return None, kept.text()
        finally:
            self._under_way -= 1
            self.end_strays()

    def end_strays(self) -> None:
        """Kill what is left once no call is under way: then every child is a stray."""
        for _ in range(STRAY_ROUNDS):
            if not self._reaper or self._under_way or not _kill_children():
                return


def _kill_children() -> bool:
    """Kill our children, those that became ours included. False when there are none."""
    try:
        children = _children()
    except OSError:
        return _kill_all_in_reach()
    for pid in children:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
    return bool(children)


def _kill_all_in_reach() -> bool:
    """Without a /proc (jail level `partial`) children cannot be listed. But there Landlock lets
    this process signal nobody outside its own confinement, so that a signal to all reaches
    just what it started. Whether that holds is tried on the parent first; if it does not,
    nothing is signalled.
    """
    try:
        os.kill(os.getppid(), 0)
    except PermissionError:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(-1, signal.SIGKILL)
    try:
        return os.waitpid(-1, os.WNOHANG) != (0, 0)
    except ChildProcessError:
        return False


@contextlib.asynccontextmanager
async def _started(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str], stdin: bytes, kept: Kept
) -> AsyncGenerator[tuple[asyncio.subprocess.Process, "asyncio.Future[None]"]]:
    """A program whose output flows into `kept`; its whole group is killed on the way out."""
    reading, writing = os.pipe()
    source, sink = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=cwd,
            env=dict(environment),
            stdin=source,
            stdout=writing,
            stderr=writing,
            start_new_session=True,
        )
    except BaseException:
        os.close(reading)
        os.close(sink)
        raise
    finally:
        os.close(writing)
        os.close(source)
    try:
        _give(sink, stdin)
        yield process, _collect(reading, kept)
    finally:
        asyncio.get_running_loop().remove_reader(reading)
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(process.wait())


def _give(sink: int, data: bytes) -> None:
    """Hand over what fits in a pipe (64 KiB) and close it. No program here reads more."""
    os.set_blocking(sink, False)
    with contextlib.suppress(BrokenPipeError, BlockingIOError):
        os.write(sink, data)
    os.close(sink)


def _collect(reading: int, kept: Kept) -> "asyncio.Future[None]":
    """Read as output comes. The future is done at its end."""
    os.set_blocking(reading, False)
    loop = asyncio.get_running_loop()
    ended = loop.create_future()

    def readable() -> None:
        with contextlib.suppress(BlockingIOError):
            data = os.read(reading, CHUNK)
            if data:
                kept.add(data)
                return
            loop.remove_reader(reading)
            if not ended.done():
                ended.set_result(None)

    loop.add_reader(reading, readable)
    return ended


def _become_reaper() -> bool:
    """Let orphans of our programs become our children, so that they can be found (Linux)."""
    libc = ctypes.CDLL(None, use_errno=True)
    return hasattr(libc, "prctl") and libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def _children() -> list[int]:
    """Our direct children, from /proc. Raises OSError where there is none to be read."""
    own = str(os.getpid())
    names = [entry.name for entry in os.scandir("/proc")]
    return [int(name) for name in names if name.isdigit() and _parent(name) == own]


def _parent(pid: str) -> str | None:
    try:
        status = Path("/proc", pid, "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # it ended since it was listed
        return None
    return status.rpartition(")")[2].split()[1]
