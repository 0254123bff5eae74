"""`fitness`: how useful it was, by the record that it cannot edit."""

from typing import Annotated

import msgspec
import typer

from gnomon.cli import asks
from gnomon.cli.on_a_copy import opened
from gnomon.cli.options import AgentOption, HomeOption, JsonOption, invocation
from gnomon.cli.render_fitness import fitness_lines, retuned_lines
from gnomon.cli.verbs_history import since_instant
from gnomon.clock import SystemClock
from gnomon.domain.errors import UsageError
from gnomon.domain.json_value import Json


def register(app: typer.Typer) -> None:
    """Add this verb."""
    app.command("fitness")(fitness)


def fitness(  # noqa: PLR0913, PLR0917 - its options
    ctx: typer.Context,
    since: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="Windows from a date (2026-05-24) or an age (7d)."),
    ] = None,
    run_due: Annotated[
        bool, typer.Option("--run-due", help="First measure the windows that are due.")
    ] = False,
    retune: Annotated[
        bool, typer.Option("--retune", help="Ask whether the measure's rules still fit.")
    ] = False,
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
    """How much of what it brought you used, and whether it goes in circles.

    The gateway measures each hour by itself, one minute after it is over. `--retune` answers,
    after 30 days, whether the rules of the measure fit.

    Examples: `gnomon fitness` · `gnomon fitness --since 2d --json` ·
    `gnomon fitness --run-due --now 2026-05-24T18:01:00Z --copy`
    """
    asked = invocation(ctx, home, agent, as_json)
    if retune and (since or run_due or now):
        raise UsageError("--retune stands alone: it looks at the last 28 days.")
    with opened(asked, copy=copy) as connection:
        if retune:
            answers = connection.call(asks.FITNESS_RETUNE, {})
            asked.show(answers, retuned_lines(answers))
            return
        then: dict[str, Json] = {"now": now} if now is not None else {}
        written = connection.call(asks.FITNESS_RUN, then) if run_due else None
        start = since_instant(since, SystemClock().wall())
        shown = connection.call(asks.FITNESS_SHOW, then | ({"since": start} if start else {}))
    found = msgspec.structs.replace(shown, written=written)
    asked.show(found, fitness_lines(found))
