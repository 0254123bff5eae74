"""The shell tool: a command in the workspace, its output, and nothing left of it after."""

import os
import shutil
import signal
from importlib import resources

from gnomon.agent.outcome import Outcome
from gnomon.agent.places import Places
from gnomon.agent.processes import Programs
from gnomon.agent.tool_specs import Shell

OUTPUT_LIMIT = 28_000
"""Bytes kept of the output: its start and its end."""


async def shell(places: Places, programs: Programs, asked: Shell) -> Outcome:
    """Errors: `EXIT_NONZERO` (the code stands in the text), `TIMEOUT`."""
    program = shutil.which("bash") or shutil.which("sh") or "/bin/sh"
    if "\0" in asked.command:
        return Outcome(text="A command cannot hold a NUL.", error="INVALID_ARGUMENTS")
    code, output = await programs.run(
        [program, "-c", asked.command],
        cwd=places.workspace,
        environment=environment(places),
        seconds=asked.timeout_seconds,
        output_limit=OUTPUT_LIMIT,
    )
    output = output.rstrip("\n")
    match code:
        case 0:
            return Outcome(text=output or "[no output]")
        case None:
            mark = f"[ended: it took longer than {asked.timeout_seconds:g} s]"
            return Outcome(text=_join(output, mark), error="TIMEOUT")
        case _:
            return Outcome(text=_join(output, f"[exit {_exit(code)}]"), error="EXIT_NONZERO")


def environment(places: Places) -> dict[str, str]:
    """What a command sees: nothing of the host's environment but where programs are."""
    return {
        "PATH": os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin"),
        "HOME": str(places.workspace),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_SYSTEM": str(resources.files("gnomon.data").joinpath("git", "gitconfig")),
    }


def _join(output: str, mark: str) -> str:
    return f"{output}\n{mark}" if output else mark


def _exit(code: int) -> str:
    if code >= 0:
        return str(code)
    try:
        return f"{128 - code}, {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal has no name here
        return str(128 - code)
