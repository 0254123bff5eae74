"""The one way out to the terminal: cleaned, coloured only where that is wanted, or JSON."""

import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

import msgspec

from gnomon.cli.line import Line, Style
from gnomon.cli.terminal_text import clean
from gnomon.cli.wrapping import Flow, wrapped
from gnomon.domain.commands import completed
from gnomon.domain.errors import GnomonError

CODES: dict[Style, str] = {
    "plain": "",
    "heading": "\x1b[1m",
    "good": "\x1b[32m",
    "bad": "\x1b[31m",
    "warn": "\x1b[33m",
    "faint": "\x1b[2m",
}
RESET = "\x1b[0m"
LEAST_WIDTH = 30
"""Columns. In a narrower terminal rows of our own would hide more than they show."""


def terminal_width(stream: TextIO) -> int | None:
    """Columns of the terminal that a stream goes to; null for a file, a pipe, a narrow one."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return None
    return columns if columns >= LEAST_WIDTH else None


@dataclass(frozen=True)
class Output:
    """Where words go. `colour` is true on a terminal without NO_COLOR."""

    out: TextIO
    err: TextIO
    colour: bool = False
    interactive: bool = False
    """Both input and output are a terminal: prompts, progress and streaming make sense."""
    options: str = ""
    """What commands that are named to people need to mean the same home: ` --home DIR`."""
    width_of: Callable[[TextIO], int | None] = terminal_width

    def lines(self, lines: Iterable[Line]) -> None:
        for line in lines:
            print(self._styled(line, self.out), file=self.out)

    def note(self, text: str, style: Style = "faint") -> None:
        """For people, beside the result: to the error stream."""
        print(self._styled(Line(text, style), self.err), file=self.err, flush=True)

    def flow(self) -> Flow:
        """For a text that will be streamed."""
        return Flow(self.width_of(self.out))

    def stream(self, text: str, flow: Flow) -> None:
        """A part of a text that is still coming."""
        self.out.write(flow.take(completed(clean(text, whole=False), self.options)))
        self.out.flush()

    def end_stream(self, flow: Flow) -> None:
        """It is whole, and ends its line."""
        print(flow.end(), file=self.out, flush=True)

    def json(self, value: Any) -> None:
        """ASCII alone, so that nothing in it can reach the terminal raw."""
        self.out.write(json.dumps(msgspec.to_builtins(value), ensure_ascii=True) + "\n")
        self.out.flush()

    def error(self, error: GnomonError, *, as_json: bool) -> None:
        """One sentence and the next step; with `as_json` an object of the same."""
        if as_json:
            facts = {
                "code": error.code,
                "message": error.message,
                "next_step": error.next_step,
                "facts": msgspec.to_builtins(error.facts),
            }
            print(json.dumps({"error": facts}), file=self.err)
        else:
            self.note(str(error), "bad")

    def _styled(self, line: Line, stream: TextIO) -> str:
        text = clean(line.text)
        if line.words == "ours":
            text = completed(text, self.options)
        width = self.width_of(stream)
        if width is not None and line.words != "exact":
            text = wrapped(text, width)
        if not self.colour or line.style == "plain" or not text:
            return text
        return f"{CODES[line.style]}{text}{RESET}"


def of_this_process(environ: Mapping[str, str] = os.environ) -> Output:
    """What the process was given. Colour follows https://no-color.org and `TERM=dumb`."""
    # What is piped in need not be text all through, nor must the terminal know every sign.
    for stream, errors in (
        (sys.stdin, "replace"),
        (sys.stdout, "backslashreplace"),
        (sys.stderr, "backslashreplace"),
    ):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)
    terminal = sys.stdout.isatty()
    plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
    return Output(
        out=sys.stdout,
        err=sys.stderr,
        colour=terminal and not plain,
        interactive=terminal and sys.stdin.isatty(),
    )
