"""The search tool: starts `search_child`, within a time, and shows what it found."""

import sys
from pathlib import Path

import msgspec

from gnomon.agent import search_child
from gnomon.agent.outcome import Outcome, ToolFaultError
from gnomon.agent.places import Places
from gnomon.agent.processes import Programs
from gnomon.agent.shell_tool import environment
from gnomon.agent.tool_specs import Search

SECONDS = 20.0
MATCHES = 200
OUTPUT_LIMIT = 400_000
"""Bytes: more than MATCHES lines can take."""
SHOWN_LIMIT = 28_000


class _Found(msgspec.Struct, frozen=True):
    matches: tuple[str, ...]
    more: bool
    error: str | None


async def search(places: Places, programs: Programs, asked: Search) -> Outcome:
    """Errors: `INVALID_PATTERN`, `TIMEOUT` (a pattern can be endless), those of a path."""
    root = places.resolve(asked.path)
    if not root.exists():
        raise ToolFaultError("FILE_NOT_FOUND", f"There is no {asked.path}.")
    question = {
        "pattern": asked.pattern,
        "root": str(root),
        "files": asked.files,
        "limit": MATCHES,
    }
    code, output = await programs.run(
        [sys.executable, "-I", "-S", search_child.__file__],
        cwd=places.workspace,
        environment=environment(places),
        seconds=SECONDS,
        output_limit=OUTPUT_LIMIT,
        stdin=msgspec.json.encode(question),
    )
    if code is None:
        raise ToolFaultError("TIMEOUT", f"The search took longer than {SECONDS:g} s.")
    if code != 0:
        raise ToolFaultError("IO_ERROR", f"The search ended with {code}: {output[-500:]}")
    found = msgspec.json.decode(output, type=_Found)
    if found.error is not None:
        raise ToolFaultError("INVALID_PATTERN", f"The pattern is not one: {found.error}.")
    return Outcome(text=_shown(places, found))


def _shown(places: Places, found: _Found) -> str:
    if not found.matches:
        return "[no line matches]"
    rows: list[str] = []
    characters = 0
    for match in found.matches:
        path, _, rest = match.partition(":")
        row = f"{places.shown(Path(path))}:{rest}"
        characters += len(row) + 1
        if characters > SHOWN_LIMIT:
            break
        rows.append(row)
    if found.more or len(rows) < len(found.matches):
        rows.append("[there are more; narrow the pattern, the path or the files]")
    return "\n".join(rows)
