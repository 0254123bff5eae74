"""`changes`: what it changed about itself, and how to undo it."""

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
from gnomon.cli.render_changes import change_lines, changes_lines, diff_lines

ChangeArgument = Annotated[str, typer.Argument(metavar="ID", help="As `changes list` names it.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        help="What it changed about itself: read, compare, undo.", no_args_is_help=True
    )
    group.callback()(note_options_of_group)
    group.command("list")(list_)
    group.command("show")(show)
    group.command("diff")(diff)
    group.command("revert")(revert)
    app.add_typer(group, name="changes")


def note_options_of_group(
    ctx: typer.Context, home: HomeOption = None, agent: AgentOption = None
) -> None:
    """Note what stands before the verb."""
    note_options(ctx, home, agent)


def list_(
    ctx: typer.Context,
    is_open: Annotated[
        bool, typer.Option("--open", help="Only those that are waiting or being tested.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many of the newest.")] = 50,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the changes, newest first, each with its verdict.

    Example: `gnomon changes list --open`
    """
    asked = invocation(ctx, home, agent, as_json)
    found = asked.ask(asks.CHANGES_LIST, {"open": is_open, "limit": limit})
    asked.show(found, changes_lines(found))


def show(
    ctx: typer.Context,
    change_id: ChangeArgument,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one change: why, what, how it was judged, and every step with its ledger line.

    Example: `gnomon changes show ch-000392`
    """
    asked = invocation(ctx, home, agent, as_json)
    found = asked.ask(asks.CHANGES_SHOW, {"change_id": change_id})
    asked.show(found, change_lines(found))


def diff(
    ctx: typer.Context,
    change_id: ChangeArgument,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what one change did to its file, as a unified diff.

    Example: `gnomon changes diff ch-000392`
    """
    asked = invocation(ctx, home, agent, as_json)
    found = asked.ask(asks.CHANGES_DIFF, {"change_id": change_id})
    asked.show(found, diff_lines(found.diff))


def revert(
    ctx: typer.Context,
    change_id: ChangeArgument,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Undo one change: its file reads again, to the byte, as it did before.

    Nothing is overwritten that you, or a later change, wrote since.

    Example: `gnomon changes revert ch-000392`
    """
    asked = invocation(ctx, home, agent, as_json)
    done = asked.ask(asks.CHANGES_REVERT, {"change_id": change_id})
    asked.show(done, [Line(done.detail)])
