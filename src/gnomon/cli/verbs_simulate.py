"""`simulate`: days in seconds, over the real daemon."""

import shlex
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gnomon.cli.exit_codes import FAULT
from gnomon.cli.line import Line
from gnomon.cli.options import AgentOption, HomeOption, JsonOption, invocation
from gnomon.domain.views import Simulated


class Operator(StrEnum):
    """Whom to simulate."""

    ORDINARY = "ordinary"
    ATTENTIVE = "attentive"
    BUSY = "busy"
    ABSENT = "absent"
    STOPS = "stops-the-gateway"
    DIURNAL = "diurnal"


def register(app: typer.Typer) -> None:
    """Add this verb."""
    app.command("simulate")(simulate)


def simulate(  # noqa: PLR0913, PLR0917 - each is an option
    ctx: typer.Context,
    days: Annotated[int, typer.Option(min=1, max=3_660, help="How many days to live.")] = 2,
    seed: Annotated[int, typer.Option(help="The same seed lives the same days.")] = 1,
    operator: Annotated[
        Operator, typer.Option(help="How the simulated person behaves.")
    ] = Operator.ORDINARY,
    faults: Annotated[
        bool, typer.Option("--faults", help="Let things go wrong: kills, clocks, disks, models.")
    ] = False,
    keep: Annotated[
        Path | None, typer.Option(help="Keep the home in this new folder, to look at.")
    ] = None,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Live some days in seconds: the real daemon, a scripted model and operator.

    Needs no home and no model. The invariants are checked on what it wrote; exit code 1
    when one does not hold. `--keep` leaves a home like any other.

    Examples: `gnomon simulate --days 7` · `gnomon simulate --days 30 --seed 3 --keep month` ·
    `gnomon simulate --operator stops-the-gateway --faults`
    """
    from gnomon.simulate.world import Plan, check_keep
    from gnomon.simulate.world import simulate as live

    asked = invocation(ctx, home, agent, as_json)
    check_keep(keep)
    if not as_json:
        asked.output.note(f"Living {days} days ...")
    lived = live(Plan(days=days, seed=seed, keep=keep, operator=operator.value, faults=faults))
    asked.show(lived, list(lines_of(lived)))
    if lived.violations:
        raise typer.Exit(FAULT)


def lines_of(lived: Simulated) -> Iterator[Line]:
    """What came of it, for people."""
    told = f"{lived.days} days in {lived.seconds:.1f} s ({lived.operator}, seed {lived.seed})"
    yield Line(told, "heading")
    yield Line(f"ticks        {lived.ticks}")
    yield Line(f"reflections  {lived.reflections}")
    yield Line(f"skipped      {_counts(lived.skipped)}")
    yield Line(f"turns        {lived.turns}")
    yield Line(f"surfaces     {lived.surfaces}: {_counts(lived.outcomes)}")
    yield Line(f"windows      {lived.windows}; null: {_counts(lived.null_windows)}")
    yield Line(f"restarts     {lived.restarts}")
    yield Line(f"faults       {_counts(lived.faults)}")
    for violation in lived.violations:
        yield Line(f"violated     {violation}", "bad")
    if not lived.violations:
        yield Line("Every invariant held.", "good")
    if lived.home is not None:
        yield Line(f"Look at it: gnomon --home {shlex.quote(lived.home)} status", "faint")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items())) or "none"
