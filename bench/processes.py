"""What processes cost, by the kernel's own accounts (Linux): CPU, wake-ups, memory."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
READY_SECONDS = 30.0


@dataclass(frozen=True)
class Cost:
    """Since a process began: nanoseconds of CPU, voluntary context switches (each the end of
    a wake-up); `pss` is now, in bytes, shared pages divided among those who share them.
    """

    cpu_ns: int
    wake_ups: int
    pss: int


def tree(root: int) -> list[int]:
    """A process and all its descendants."""
    parents: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdecimal():
            parents.setdefault(_parent(entry), []).append(int(entry.name))
    found = [root]
    for pid in found:
        found += parents.get(pid, [])
    return found


def _parent(entry: Path) -> int:
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return -1


def cost(root: int) -> Cost:
    """The sum over a process tree. A process that ends meanwhile counts as far as it is seen."""
    cpu = wake_ups = pss = 0
    for pid in tree(root):
        try:
            for task in (PROC / str(pid) / "task").iterdir():
                cpu += int((task / "schedstat").read_text().split()[0])
                wake_ups += _field(task / "status", "voluntary_ctxt_switches:")
            pss += _field(PROC / str(pid) / "smaps_rollup", "Pss:") * 1024
        except OSError:
            continue
    return Cost(cpu, wake_ups, pss)


def _field(path: Path, name: str) -> int:
    for line in path.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0


@contextmanager
def running(
    command: list[str], environ: Mapping[str, str] | None = None
) -> Generator[tuple[int, Mapping[str, object], float]]:
    """Start a program that prints one JSON line when it is ready: its pid, that line, and
    the seconds until it came. Ended by SIGTERM.
    """
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, **(environ or {})},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        seconds = time.monotonic() - began
        if not line:
            raise RuntimeError(f"{command} ended with {process.wait()} before it was ready")
        yield process.pid, json.loads(line), seconds
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(READY_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def daemon(home: Path) -> list[str]:
    """The command that runs Gnomon in the foreground over a home."""
    gnomon = str(Path(sys.executable).with_name("gnomon"))
    flags = ["--foreground", "--port", "0", "--no-open", "--json"]
    return [gnomon, "up", "--home", str(home), *flags]


BARE_SERVER = """
import asyncio

async def main():
    await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    print("{}", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def bare_server() -> list[str]:
    """The floor: Python, an event loop, one listening socket."""
    return [sys.executable, "-P", "-c", BARE_SERVER]
