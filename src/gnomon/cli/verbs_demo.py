"""`demo`: a simulated month, looked at in the dashboard."""

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from gnomon.cli import asks
from gnomon.cli.connection import answers
from gnomon.cli.line import Line
from gnomon.cli.options import AgentOption, HomeOption, Invocation, JsonOption, invocation
from gnomon.cli.progress import Progress
from gnomon.domain.errors import HomeError, UsageError
from gnomon.home import Home
from gnomon.lock import holder

DAYS, SEED = 30, 1
DAYS_A_LINE = 5
"""Where no bar can be shown."""


def register(app: typer.Typer) -> None:
    """Add this verb."""
    app.command("demo")(demo)


def demo(
    ctx: typer.Context,
    port: Annotated[int, typer.Option(help="Port of its dashboard; 0 takes a free one.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    home: HomeOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a month with Gnomon looks like: simulated, and said so on every page.

    The month is lived once, beside your home and apart from it; that takes up to two minutes.
    Its gateway has no model and does nothing by itself. It says how to open and how to end it.

    Example: `gnomon demo`
    """
    from gnomon.cli.main import become_daemon

    asked = invocation(ctx, home, agent, as_json)
    shown = Home(beside(asked.home.root))
    if not _was_lived(asked.home, shown):
        _live(asked, shown)
    held = holder(shown.lock)
    if held is not None and answers(held.url):
        _open(asked, shown)
        return
    arguments = ["--home", str(shown.root), "--port", str(port)]
    flags = {"--no-open": no_open, "--json": as_json}
    become_daemon([*arguments, *(name for name, wanted in flags.items() if wanted)])


def beside(home: Path) -> Path:
    """Where the demo's home is: `gnomon` -> `gnomon-demo`."""
    return Home(home).demo.root


def _was_lived(home: Home, shown: Home) -> bool:
    """Whether the month stands in its place; its place is made. Raises HomeError when it cannot
    be, or is taken by something else.
    """
    from gnomon.daemon.store.create import (
        check_folder,
        check_writable,
        ensure_root,
        is_simulated,
    )

    check_folder(home)
    try:
        ensure_root(shown)
        check_writable([shown.root])
    except HomeError as error:
        raise HomeError(
            f"The demo's folder cannot be used. {error.message}",
            next_step=f"The demo lives beside your home, in {shown.root}. Make that place free and "
            "yours, or name another home with --home or GNOMON_HOME.",
            file=str(shown.root),
        ) from error
    if is_simulated(shown):
        return True
    if any(shown.root.iterdir()):
        raise HomeError(
            f"{shown.root} holds something else, and the demo would live there.",
            next_step="Move it away, or name another home with --home or GNOMON_HOME.",
            file=str(shown.root),
        )
    return False


def _live(asked: Invocation, shown: Home) -> None:
    """Live the month. Raises HomeError when it cannot be kept, UsageError when it went wrong."""
    from gnomon.simulate.world import Plan, simulate

    title = f"Living {DAYS} days in {shown.root}"
    if not asked.as_json:
        asked.output.note(f"{title} ...")
    with Progress(asked.output, "Living") as progress:

        def told(day: int) -> None:
            said = f"Day {day} of {DAYS}"
            progress.part({"text": said, "read": day, "total": DAYS})
            # A line each for the dashboard, which may have started this; some where no bar is.
            if asked.as_json or (day % DAYS_A_LINE == 0 and not asked.output.err.isatty()):
                asked.output.note(said)

        try:
            lived = simulate(Plan(days=DAYS, seed=SEED, keep=shown.root, told=told))
        except OSError as error:
            raise HomeError(
                f"The month cannot be kept in {shown.root}: {error.strerror or error}.",
                next_step="Make room, remove what is there of it, and try again.",
                file=str(shown.root),
            ) from error
    if lived.violations:
        raise UsageError(
            "The simulated month broke a rule: " + lived.violations[0],
            next_step="`gnomon simulate --days 30` says more. Please tell its authors.",
        )


def _open(asked: Invocation, shown: Home) -> None:
    """It runs already: a fresh link to it."""
    connection = asked.connect(shown, asked.agent)
    try:
        link = connection.call(asks.LOGIN_LINK, {})
    finally:
        connection.close()
    which = f"--home {shlex.quote(str(shown.root))}"
    ways = f"`gnomon open {which}` makes a fresh link, `gnomon down {which}` ends it."
    asked.show(link, [Line(link.url), Line(ways, "faint")])
    if not asked.as_json and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        import webbrowser

        webbrowser.open(link.url)
