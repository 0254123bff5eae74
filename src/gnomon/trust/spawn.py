"""What jail this machine can give, and the start of a fresh interpreter in it."""

import os
import subprocess
from functools import cache

from gnomon.domain.views import JailLevel
from gnomon.trust import bubblewrap, kernel, landlock
from gnomon.trust.interpreter import interpreter
from gnomon.trust.plan import Builder, Plan
from gnomon.trust.process import Process
from gnomon.trust.syscall_numbers import BY_MACHINE

TRIAL_SECONDS = 15.0


def available_level() -> JailLevel:
    """The best jail that this machine has. Tried out once a process."""
    if kernel.machine() not in BY_MACHINE:
        return "none"
    version = landlock.abi()
    if version and builders():
        return "full"
    # Without its scopes nothing at `partial` would keep a program from signalling us.
    return "partial" if version >= landlock.FIRST_WITH_SCOPES else "none"


@cache
def builders() -> tuple[Builder, ...]:
    """Who can make namespaces here, best first (docs/adr/0201)."""
    found: list[Builder] = []
    if _can_unshare():
        found.append("unshare")
    if bubblewrap.works():
        found.append("bubblewrap")
    return tuple(found)


def _can_unshare() -> bool:
    """Tried in a process of its own: it cannot be undone."""
    try:
        done = subprocess.run(
            _python("from gnomon.trust.namespaces import trial; trial()"),
            env={},
            timeout=TRIAL_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _python(run: str) -> list[str]:
    """A fresh interpreter with nothing but Python's own modules, and a way to ours."""
    python = interpreter()
    code = f"import sys; sys.path.append({python.root!r}); {run}"
    return [python.program, "-I", "-S", "-B", "-X", "utf8", "-c", code]


def spawn(plan: Plan, pipe: int, variables: dict[str, str]) -> Process:
    """Start the interpreter that will confine itself as planned. Raises OSError."""
    command = [*_python("from gnomon.trust.enter import main; main()"), str(pipe)]
    files: dict[str, int] = {}
    try:
        if plan.builder == "bubblewrap":
            files = {path: _holding(text) for path, text in plan.files}
            command = [*bubblewrap.arguments(plan, files), *command]
        # Not asyncio's: its watcher keeps a thread for each child.
        started = subprocess.Popen(
            command,
            env=variables,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(pipe, *files.values()),
            start_new_session=True,
        )
    finally:
        for descriptor in files.values():
            os.close(descriptor)
    return Process(started.pid, started)


def _holding(text: str) -> int:
    """A descriptor that gives this text (a page of it at most) and then ends."""
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    return reading
