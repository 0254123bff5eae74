"""All verbs, gathered. Built when the program starts, not when this file is imported."""

from typing import Annotated

import typer

from gnomon import __version__
from gnomon.cli import (
    verbs_approvals,
    verbs_changes,
    verbs_chat,
    verbs_demo,
    verbs_fitness,
    verbs_folders,
    verbs_health,
    verbs_history,
    verbs_inbox,
    verbs_jobs,
    verbs_life,
    verbs_model,
    verbs_refine,
    verbs_simulate,
)
from gnomon.cli.options import AgentOption, HomeOption, Setting, note_options

HELP = """\
An agent that you leave running on your own machine, that improves itself, and that can
prove it.

Start with `gnomon up`, then open the address that it prints. `gnomon import --from
claude-code` reads what your other agents left; `gnomon report` says what it shows.

Exit codes: 0 done, 1 found a fault, 2 wrong usage, 3 needs you.
"""


def build() -> typer.Typer:
    """The application with every verb."""
    app = typer.Typer(
        name="gnomon",
        help=HELP,
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
    )
    app.callback()(everywhere)
    for group in (
        verbs_life,
        verbs_chat,
        verbs_history,
        verbs_inbox,
        verbs_approvals,
        verbs_fitness,
        verbs_changes,
        verbs_refine,
        verbs_jobs,
        verbs_folders,
        verbs_model,
        verbs_health,
        verbs_simulate,
        verbs_demo,
    ):
        group.register(app)
    return app


def tell_version(ctx: typer.Context, wanted: bool) -> None:
    """Answer `--version`, whatever else was asked."""
    if wanted:
        setting: Setting = ctx.obj
        setting.output.out.write(f"gnomon {__version__}\n")
        raise typer.Exit


def everywhere(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print it.", is_eager=True, callback=tell_version)
    ] = False,
    home: HomeOption = None,
    agent: AgentOption = None,
) -> None:
    """Note what stands before the verb."""
    note_options(ctx, home, agent)
