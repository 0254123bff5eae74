"""`import` and `report`: what your other agents left, and what it shows. No model is used."""

from pathlib import Path
from typing import Annotated

import typer

from gnomon.cli import asks
from gnomon.cli.durations import is_duration, parse_duration
from gnomon.cli.exit_codes import FAULT
from gnomon.cli.options import AgentOption, HomeOption, JsonOption, invocation
from gnomon.cli.progress import Progress
from gnomon.cli.render_history import (
    import_lines,
    report_lines,
    shareable,
    shareable_lines,
    unreadable,
)
from gnomon.clock import SystemClock
from gnomon.domain.errors import UsageError
from gnomon.domain.instants import SECOND, Millis, iso, parse_iso
from gnomon.domain.json_value import Fields

SOURCES = ("claude-code", "codex")


def register(app: typer.Typer) -> None:
    """Add these verbs."""
    app.command("import")(import_)
    app.command("report")(report)


def import_(
    ctx: typer.Context,
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Transcripts, or folders of them.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--from", metavar="AGENT", help="claude-code or codex.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be read; keep nothing.")
    ] = False,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read other agents' transcripts. Nothing leaves this machine; doing it twice adds nothing.

    Exit code 1 when something could not be opened; bad lines are counted and do not matter.

    Examples: `gnomon import --from claude-code` · `gnomon import ~/logs session.jsonl`
    """
    asked = invocation(ctx, home, agent, as_json)
    arguments = import_arguments(paths or [], source, dry_run=dry_run)
    with Progress(asked.output, "Reading") as progress:
        rows = asked.ask(asks.HISTORY_IMPORT, arguments, progress.part)
    asked.show(rows, import_lines(rows, dry_run=dry_run))
    if unreadable(rows):
        raise typer.Exit(FAULT)


def import_arguments(paths: list[Path], source: str | None, *, dry_run: bool) -> Fields:
    """The operation's arguments. Raises UsageError."""
    if bool(paths) == (source is not None):
        raise UsageError(
            "Name what to read: either paths or --from.",
            next_step="For example: gnomon import --from claude-code",
        )
    if source is not None and source not in SOURCES:
        raise UsageError(
            f"There is no agent {source!r} to import from.",
            next_step=f"There are {' and '.join(SOURCES)}; or name a path.",
        )
    places = [path.expanduser().absolute() for path in paths]
    missing = next((path for path in places if not path.exists()), None)
    if missing is not None:
        raise UsageError(
            f"There is no file or folder {missing}.",
            next_step="Name one that is there, or where your agent keeps its own: "
            "`gnomon import --from claude-code`.",
        )
    return {
        "paths": [str(path) for path in places],
        "sources": [source] if source else [],
        "dry_run": dry_run,
    }


def report(
    ctx: typer.Context,
    since: Annotated[
        str | None, typer.Option(metavar="WHEN", help="A date (2026-05-24) or an age (7d).")
    ] = None,
    project: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only projects whose path has this.")
    ] = None,
    share: Annotated[bool, typer.Option("--share", help="Counts alone: no text, no path.")] = False,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """What you keep correcting, what keeps failing, what repeats, loose ends, cost.

    Examples: `gnomon report` · `gnomon report --since 7d --project shop` ·
    `gnomon report --share --json`
    """
    asked = invocation(ctx, home, agent, as_json)
    arguments = {"since": since_instant(since, SystemClock().wall()), "project": project}
    found = asked.ask(
        asks.HISTORY_REPORT, {name: text for name, text in arguments.items() if text is not None}
    )
    if share:
        counts = shareable(found)
        asked.show(counts, shareable_lines(counts))
    else:
        asked.show(found, report_lines(found))


def since_instant(since: str | None, now: Millis) -> str | None:
    """An age becomes the instant it means now; a date stays as it is. Raises UsageError for what
    is neither.
    """
    if since is None:
        return None
    if not is_duration(since):
        try:
            parse_iso(since if "T" in since else f"{since}T00:00:00Z")
        except (ValueError, OverflowError) as error:
            raise UsageError(
                f"{since!r} is no date and no age.",
                next_step="Write a date (2026-05-24) or an age (7d).",
            ) from error
        return since
    return iso(Millis(now - parse_duration(since) * SECOND))
