"""A Gnomon that answers from a table: for tests of the CLI's verbs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, TypeVar, cast

from gnomon.cli.asks import Ask
from gnomon.cli.connection import Connection, OnPart
from gnomon.cli.main import run
from gnomon.cli.options import Setting
from gnomon.cli.output import Output
from gnomon.domain.json_value import Fields
from gnomon.home import Home

R = TypeVar("R")

Answer = Callable[[Fields], Any]


@dataclass
class FakeConnection:
    """`answers` maps an operation to its result, to an error to raise, or to a function of
    the arguments. `parts` come before every answer.
    """

    answers: Mapping[str, Any]
    parts: tuple[Fields, ...] = ()
    running: bool = True
    asked: list[tuple[str, Fields]] = field(default_factory=list[tuple[str, Fields]])
    closed: int = 0

    def call(self, ask: Ask[R], arguments: Fields, on_part: OnPart | None = None) -> R:
        self.asked.append((ask.name, arguments))
        for part in self.parts:
            if on_part is not None:
                on_part(part)
        answer = self.answers[ask.name]
        if callable(answer):
            answer = answer(arguments)
        if isinstance(answer, BaseException):
            raise answer
        return cast("R", answer)

    def close(self) -> None:
        self.closed += 1


@dataclass
class Ran:
    """What a run of the program left."""

    code: int
    out: str
    err: str
    home: Home | None
    agent: str | None


def run_cli(
    connection: FakeConnection,
    *arguments: str,
    environ: Mapping[str, str] | None = None,
    interactive: bool = False,
    colour: bool = False,
    width: int | None = None,
) -> Ran:
    """Run the whole program with these arguments against a fake Gnomon. `width`: as on a terminal
    of so many columns.
    """
    reached: list[tuple[Home, str]] = []

    def connect(home: Home, agent: str) -> Connection:
        reached.append((home, agent))
        return connection

    out, err = StringIO(), StringIO()
    output = Output(
        out=out, err=err, colour=colour, interactive=interactive, width_of=lambda _: width
    )
    code = run(arguments, Setting(output, connect, environ or {}))
    home, agent = reached[-1] if reached else (None, None)
    return Ran(code, out.getvalue(), err.getvalue(), home, agent)
