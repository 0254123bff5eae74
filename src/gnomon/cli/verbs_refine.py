"""`refine`: may it propose edits to its own instructions? Your word, and what is missing."""

import typer

from gnomon.cli import asks
from gnomon.cli.options import (
    AgentOption,
    HomeOption,
    JsonOption,
    invocation,
    note_options,
)
from gnomon.cli.render_refine import disabled_lines, enabled_lines, readiness_lines


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Let it propose edits to its own instructions.", no_args_is_help=True)
    group.callback()(note_options_of_group)
    group.command("status")(status)
    group.command("enable")(enable)
    group.command("disable")(disable)
    app.add_typer(group, name="refine")


def note_options_of_group(
    ctx: typer.Context, home: HomeOption = None, agent: AgentOption = None
) -> None:
    """Note what stands before the verb."""
    note_options(ctx, home, agent)


def status(
    ctx: typer.Context,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether the refiner may run, and what is missing.

    It waits for seven days of measured hours, for a share of used items between 20% and 95%, for
    a machine that is mostly on, and for your word. Then it proposes one small edit every 100
    ticks or 4 hours while you are away; each is tested for hours, and kept only if it helped.

    Example: `gnomon refine status`
    """
    asked = invocation(ctx, home, agent, as_json)
    found = asked.ask(asks.REFINE_STATUS)
    asked.show(found, readiness_lines(found))


def enable(
    ctx: typer.Context,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say that the number fits what you see, so that it may be improved upon.

    Look at it first, with `gnomon fitness`: if it says that you use what it brings, and you do
    not, then nothing good comes of chasing it. Your word is asked for once. What it changes,
    `gnomon changes` shows and undoes; `gnomon refine disable` stops it.

    Example: `gnomon refine enable`
    """
    asked = invocation(ctx, home, agent, as_json)
    found = asked.ask(asks.REFINE_ENABLE)
    asked.show(found, enabled_lines(found))


def disable(
    ctx: typer.Context,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take back that the number fits: it proposes no further edit.

    What is being tested is judged all the same; `gnomon changes revert` undoes it.

    Example: `gnomon refine disable`
    """
    asked = invocation(ctx, home, agent, as_json)
    found = asked.ask(asks.REFINE_DISABLE)
    asked.show(found, disabled_lines(found))
