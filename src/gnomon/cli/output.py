"""The one way out to the terminal: cleaned, coloured only where that is wanted, or JSON."""

import io
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

import msgspec

from gnomon.cli.line import Line, Style
from gnomon.cli.terminal_text import clean
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


@dataclass(frozen=True)
class Output:
    """Where words go. `colour` is true on a terminal without NO_COLOR."""

    out: TextIO
    err: TextIO
    colour: bool = False
    interactive: bool = False
    """Both input and output are a terminal: prompts, progress and streaming make sense."""

    def lines(self, lines: Iterable[Line]) -> None:
        for line in lines:
            print(self._styled(line), file=self.out)

    def note(self, text: str, style: Style = "faint") -> None:
        """For people, beside the result: to the error stream."""
        print(self._styled(Line(text, style)), file=self.err, flush=True)

    def stream(self, text: str) -> None:
        """A part of a text that is still coming."""
        self.out.write(clean(text, whole=False))
        self.out.flush()

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

    def _styled(self, line: Line) -> str:
        text = clean(line.text)
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
