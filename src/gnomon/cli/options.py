"""What every verb takes, and what a verb is run with."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from gnomon.cli.asks import Ask
from gnomon.cli.connection import Connect, Connection, OnPart
from gnomon.cli.line import Line
from gnomon.cli.output import Output
from gnomon.domain.json_value import Fields
from gnomon.home import Home, default_home

R = TypeVar("R")

EVERYWHERE = "Everywhere"

HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home",
        metavar="DIR",
        help="The home to use. Default: $GNOMON_HOME, else your data folder.",
        show_default=False,
        rich_help_panel=EVERYWHERE,
    ),
]
AgentOption = Annotated[
    str | None,
    typer.Option(
        "--agent",
        metavar="NAME",
        help="Which agent of the home. Default: $GNOMON_AGENT, else main.",
        show_default=False,
        rich_help_panel=EVERYWHERE,
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print JSON, errors too.", rich_help_panel=EVERYWHERE),
]


@dataclass(frozen=True)
class Setting:
    """What the program was started with; `home` and `agent` as named before the verb."""

    output: Output
    connect: Connect
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    home: Path | None = None
    agent: str | None = None


@dataclass(frozen=True)
class Invocation:
    """One verb's run: which home, how to answer."""

    home: Home
    agent: str
    as_json: bool
    output: Output
    connect: Connect

    def open(self) -> Connection:
        return self.connect(self.home, self.agent)

    def ask(self, ask: Ask[R], arguments: Fields | None = None, on_part: OnPart | None = None) -> R:
        """One question over a connection of its own."""
        connection = self.open()
        try:
            return connection.call(ask, arguments or {}, on_part)
        finally:
            connection.close()

    def show(self, value: Any, lines: list[Line]) -> None:
        """The answer: its JSON, or its words."""
        if self.as_json:
            self.output.json(value)
        else:
            self.output.lines(lines)


def note_options(ctx: typer.Context, home: Path | None, agent: str | None) -> None:
    """Remember options that stood before the verb."""
    setting: Setting = ctx.obj
    ctx.obj = replace(setting, home=home or setting.home, agent=agent or setting.agent)


def invocation(
    ctx: typer.Context, home: Path | None, agent: str | None, as_json: bool = False
) -> Invocation:
    """Options after the verb win over those before it, those over the environment.

    Raises UsageError for what is no name of an agent.
    """
    setting: Setting = ctx.obj
    named = home or setting.home
    root = named.expanduser() if named else default_home(setting.environ)
    at = Home(root.absolute())
    wanted = agent or setting.agent or setting.environ.get("GNOMON_AGENT") or "main"
    return Invocation(
        home=at,
        agent=at.agent_named(wanted).agent,
        as_json=as_json,
        output=setting.output,
        connect=setting.connect,
    )
