"""`doctor`, `verify`, `journal`: is all well, and what happened."""

from typing import Annotated

import typer

from gnomon.cli import asks
from gnomon.cli.exit_codes import FAULT
from gnomon.cli.line import Line
from gnomon.cli.options import AgentOption, HomeOption, JsonOption, invocation
from gnomon.cli.render import diagnosis_lines, verification_lines


def register(app: typer.Typer) -> None:
    """Add these verbs."""
    for verb in (doctor, verify, journal):
        app.command(verb.__name__)(verb)


def doctor(
    ctx: typer.Context,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the machine, the jail, the model and the home; say what to do about each fault.

    Exit code 1 when something must be mended. Example: `gnomon doctor`
    """
    asked = invocation(ctx, home, agent, as_json)
    found = asked.ask(asks.DOCTOR)
    asked.show(found, diagnosis_lines(found))
    if any(check.level == "error" for check in found.checks):
        raise typer.Exit(FAULT)


def verify(
    ctx: typer.Context,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Walk every ledger's chain and compare it with the anchors.

    Exit code 1 names the first bad line of each. Example: `gnomon verify`
    """
    asked = invocation(ctx, home, agent, as_json)
    found = asked.ask(asks.VERIFY)
    asked.show(found, verification_lines(found))
    if not found.ok:
        raise typer.Exit(FAULT)


def journal(
    ctx: typer.Context,
    lines: Annotated[int, typer.Option(min=1, max=1000, help="How many, from the end.")] = 20,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read the agent's journal: what happened, in sentences.

    Example: `gnomon journal --lines 50`
    """
    asked = invocation(ctx, home, agent, as_json)
    found = asked.ask(asks.JOURNAL, {"lines": lines})
    told = [Line(line, words="quoted") for line in found.lines]
    told = told or [Line("Nothing has happened yet.", "faint")]
    asked.show(found, told)
