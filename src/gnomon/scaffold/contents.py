"""Which bytes on disk may come into force. Pure: folder contents in, a decision out."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from gnomon.domain.errors import ScaffoldError
from gnomon.scaffold.flags import FLAGS_FILE, decode_flags

MAX_FILE_BYTES = 64 * 1024
"""More than this no prompt needs, and no small model can read."""
MAX_FILES = 64
MAX_PATH_BYTES = 160
"""Of a path in the folder. Its versions' names are a third longer, and 255 is the most of one."""
INNER_LOOP_PROMPT = "inner-loop-prompt.md"
EXECUTIVE_PROMPT = "executive-prompt.md"
PROMPTS = (INNER_LOOP_PROMPT, EXECUTIVE_PROMPT)


@dataclass(frozen=True)
class ScaffoldProblem:
    """A file that cannot come into force, and why. `line` counts from 1; 0: the whole file."""

    file: str
    line: int
    reason: str


@dataclass(frozen=True)
class Settled:
    """What is in force after a look at the folder, and what could not come into force."""

    files: dict[str, str]
    problems: tuple[ScaffoldProblem, ...]


@dataclass(frozen=True)
class Unreadable:
    """A file that is there and could not be read: too large, a link, no permission."""

    reason: str


Found = bytes | Unreadable


def belongs(path: str) -> bool:
    """Whether a path is part of the scaffold: not hidden, not left by an editor."""
    parts = [part for part in path.split("/") if part]
    return bool(parts) and not any(part[0] in ".#" or part[-1] == "~" for part in parts)


def check_name(path: str) -> None:
    """Raises ScaffoldError unless `path` names a file inside the scaffold folder."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or "\\" in path or "\0" in path or str(pure) != path:
        fault = "is not a plain path inside the scaffold"
    elif not belongs(path):
        fault = "is hidden or an editor's leftover, which the scaffold does not hold"
    elif len(path.encode()) > MAX_PATH_BYTES:
        fault = f"is longer than {MAX_PATH_BYTES} bytes"
    else:
        return
    raise ScaffoldError(f"{path!r} {fault}.", file=path, line=0)


def accept(path: str, content: bytes) -> str | ScaffoldProblem:
    """The text of a file that may come into force, else why it may not."""
    if len(content) > MAX_FILE_BYTES:
        return ScaffoldProblem(path, 0, f"larger than {MAX_FILE_BYTES} bytes")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return ScaffoldProblem(path, line, "not UTF-8")
    if path in PROMPTS and not text.strip():
        return ScaffoldProblem(path, 1, "an empty prompt")
    if path == FLAGS_FILE:
        try:
            decode_flags(text)
        except ScaffoldError as error:
            line = error.facts["line"]
            assert isinstance(line, int)
            return ScaffoldProblem(path, line, error.message)
    return text


def settle(
    found: Mapping[str, Found], in_force: Mapping[str, str], defaults: Mapping[str, str]
) -> Settled:
    """Fail closed, file by file: what cannot be used leaves the last good content in force,
    or the packaged default where there never was a good one.
    """
    files: dict[str, str] = {}
    problems: list[ScaffoldProblem] = []
    for path in sorted(found):
        content = found[path]
        verdict = (
            ScaffoldProblem(path, 0, content.reason)
            if isinstance(content, Unreadable)
            else accept(path, content)
        )
        if isinstance(verdict, ScaffoldProblem):
            problems.append(verdict)
            last_good = in_force.get(path, defaults.get(path))
            if last_good is not None:
                files[path] = last_good
        else:
            files[path] = verdict
    return Settled(files, tuple(problems))
