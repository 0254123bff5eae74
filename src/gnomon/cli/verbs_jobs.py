"""`jobs`: what the gateway's beat does by itself, and doing it by hand."""

from typing import Annotated

import typer

from gnomon.cli import asks
from gnomon.cli.on_a_copy import opened
from gnomon.cli.options import (
    AgentOption,
    HomeOption,
    JsonOption,
    invocation,
    note_options,
)
from gnomon.cli.render_jobs import done_lines, job_lines
from gnomon.domain.json_value import Json


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="What it does by itself, and doing it now.", no_args_is_help=True)
    group.callback()(note_options_of_group)
    group.command("list")(list_)
    group.command("run")(run)
    app.add_typer(group, name="jobs")


def note_options_of_group(
    ctx: typer.Context, home: HomeOption = None, agent: AgentOption = None
) -> None:
    """Note what stands before the verb."""
    note_options(ctx, home, agent)


def list_(
    ctx: typer.Context,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the jobs, and whether each has something to do.

    Example: `gnomon jobs list`
    """
    asked = invocation(ctx, home, agent, as_json)
    found = asked.ask(asks.JOBS_LIST)
    asked.show(found, job_lines(found))


def run(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `jobs list` names it.")],
    now: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Take it to be then: a simulated home or --copy only."),
    ] = None,
    copy: Annotated[
        bool, typer.Option("--copy", help="Work on a copy of the home; leave it as it is.")
    ] = False,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run one job now, and say what it did, or why it did nothing.

    It does what the gateway would do by itself, by the same rules, and no more.

    Examples: `gnomon jobs run judge` ·
    `gnomon jobs run judge --now 2026-05-31T18:00:00Z --copy`
    """
    asked = invocation(ctx, home, agent, as_json)
    then: dict[str, Json] = {"now": now} if now is not None else {}
    with opened(asked, copy=copy) as connection:
        done = connection.call(asks.JOBS_RUN, then | {"name": name})
    asked.show(done, done_lines(done))
