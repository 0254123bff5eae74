"""A text in the operator's own words: out of a file, out of a pipe, or out of their editor."""

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gnomon.cli.output import Output
from gnomon.domain.errors import ConflictError, GnomonError, UsageError

PIPE = Path("-")
ENDING = re.compile(r"\.[A-Za-z0-9]{1,12}")


def given_text(path: Path) -> str:
    """All that a file holds, or what is piped in, to the byte. Raises UsageError."""
    try:
        data = sys.stdin.buffer.read() if path == PIPE else path.read_bytes()
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise UsageError(f"{path} cannot be read: {said}.") from error
    return _text(data, "What is piped in" if path == PIPE else str(path))


@contextmanager
def edited(text: str, like: str, environ: Mapping[str, str], output: Output) -> Generator[str]:
    """The text as the operator left it in their editor, which takes it for a file like `like`.
    It is kept, and said where, when what is done with it fails.

    Raises ConflictError when they left it as it was, UsageError for an empty one or one that is
    no UTF-8, GnomonError for an editor that failed.
    """
    ending = Path(like).suffix
    ending = ending if ENDING.fullmatch(ending) else ".txt"
    # Neither its name nor its folder is the target's: an editor may act on either.
    folder = Path(tempfile.mkdtemp(prefix="gnomon-edit-"))
    path = folder / f"text{ending}"
    path.write_bytes(text.encode())
    try:
        _open_editor(path, environ)
        mine = _text(path.read_bytes(), "What you saved")
        if mine == text:
            raise ConflictError("You left the text as it was. Nothing was approved.")
        yield mine
    except GnomonError:
        if path.is_file() and path.read_bytes() not in (b"", text.encode()):
            output.note(f"Your text is kept in {path}.")
        else:
            _remove(folder)
        raise
    _remove(folder)


def _open_editor(path: Path, environ: Mapping[str, str]) -> None:
    editor = environ.get("VISUAL") or environ.get("EDITOR") or "vi"
    try:
        ended = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode
    except (OSError, ValueError) as error:
        raise GnomonError(
            f"Your editor could not be started: {editor}.",
            next_step="Set $EDITOR, or give the text with `--file`.",
        ) from error
    if ended:
        raise GnomonError(f"Your editor ended with {ended}. Nothing was approved.")


def _text(data: bytes, what: str) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{what} is not text in UTF-8.") from error
    if not text:
        raise UsageError(
            f"{what} is empty. Nothing was approved.",
            next_step="`gnomon approvals reject ID` says no.",
        )
    return text


def _remove(folder: Path) -> None:
    """The editor may have left a copy of its own beside it."""
    shutil.rmtree(folder, ignore_errors=True)
