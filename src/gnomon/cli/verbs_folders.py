"""`folders`: what the agent may read besides its workspace."""

from pathlib import Path
from typing import Annotated

import typer

from gnomon.cli import asks
from gnomon.cli.line import Line
from gnomon.cli.options import (
    AgentOption,
    HomeOption,
    JsonOption,
    invocation,
    note_options,
)
from gnomon.cli.render import folder_lines


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Folders that the agent's tools may reach.", no_args_is_help=True)
    group.callback()(note_options_of_group)
    group.command("add")(add)
    group.command("list")(list_)
    group.command("remove")(remove)
    app.add_typer(group, name="folders")


def note_options_of_group(
    ctx: typer.Context, home: HomeOption = None, agent: AgentOption = None
) -> None:
    """Note what stands before the verb."""
    note_options(ctx, home, agent)


def add(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(help="The folder to grant.")],
    write: Annotated[bool, typer.Option("--write", help="Grant writing too.")] = False,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let the agent's tools read a folder, and with `--write` change it.

    Examples: `gnomon folders add ~/notes` · `gnomon folders add ~/project --write`
    """
    asked = invocation(ctx, home, agent, as_json)
    where = str(path.expanduser().absolute())
    done = asked.ask(asks.FOLDERS_ADD, {"path": where, "writable": write})
    asked.show(done, [Line(done.detail)])


def list_(
    ctx: typer.Context,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the granted folders.

    Example: `gnomon folders list`
    """
    asked = invocation(ctx, home, agent, as_json)
    found = asked.ask(asks.FOLDERS_LIST)
    asked.show(found, folder_lines(found))


def remove(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(help="The folder to take back.")],
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a folder back. Nothing in it is touched.

    Example: `gnomon folders remove ~/notes`
    """
    asked = invocation(ctx, home, agent, as_json)
    done = asked.ask(asks.FOLDERS_REMOVE, {"path": str(path.expanduser().absolute())})
    asked.show(done, [Line(done.detail)])
